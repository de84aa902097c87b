package main_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestHouse holds every Go file of the tree to the rules below. It parses the
// files itself and does not ask `go list`: the test cache knows which files a
// test opened, and nothing of what a child process read.
//
// Test code is a _test.go file, or a file of a …test package that imports
// testing. Fakes are the other files of …test packages: `headstart fakes`
// serves them, so they are held like the product except where a rule says so.
// What tests and fakes may do beyond the product stands in the tables, under
// tests and from.
func TestHouse(t *testing.T) {
	t.Parallel()
	got, err := check(os.DirFS(root(t)))
	if err != nil {
		t.Fatalf("walk the tree: %v", err)
	}
	// A walk that began in the wrong folder would find nothing wrong.
	for _, want := range []string{"cmd/headstart/imports_test.go", "turn/ports.go", "retrieval/retrieval.go", "memory/memory.go"} {
		if !slices.Contains(got.files, want) {
			t.Fatalf("walked past %s: saw %d files", want, len(got.files))
		}
	}
	if len(got.broken) > 0 {
		t.Fatalf("%d rules of the house broken:\n%s", len(got.broken), strings.Join(got.broken, "\n"))
	}
}

// root is the folder of go.mod, above the package's own.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatalf("find root: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		t.Fatalf("find root: %v", err)
	}
	return dir
}

// layer says what the packages under one folder may import of ours. The
// longest folder that holds a package decides.
type layer struct {
	of    string
	trees []string // these folders, and all below
	exact []string // these packages alone
	own   int      // and whatever has this many folders in common with the package: an engine and its parts
	tests []string // trees that tests and fakes may import as well
	rule  string
}

// values are the packages whose types an engine speaks.
var values = []string{"turn/stt", "turn/llm", "turn/tts", "turn/vad"}

// below are what engines of every kind stand on, and know nothing of turns either:
// crews keep a panic within its call, providers are late or break.
var below = []string{"turn/crew", "turn/provider"}

var layers = []layer{
	{
		of:    "cmd",
		trees: []string{"cmd", "worker", "turn", "retrieval", "memory", "store", "testdata"}, // what a demo embeds
		rule:  "cmd imports only what is of the house",
	},
	{
		of:    "worker",
		trees: []string{"worker", "turn", "retrieval", "memory"},
		tests: []string{"store"}, // a whole call, down to the rows that it leaves
		rule:  "worker imports only turn, retrieval and memory: store implements what worker declares, and cmd joins them",
	},
	{
		of:    "turn",
		trees: []string{"turn", "retrieval", "memory"},
		rule:  "turn imports only retrieval and memory",
	},
	engine("turn/stt", 3, "turn/stt/line"), engine("turn/llm", 3), engine("turn/tts", 3), engine("turn/vad", 2),
	{
		of:    "retrieval",
		trees: []string{"retrieval"},
		tests: []string{"worker/child"}, // to run a real encoder; it knows nothing of ours
		rule:  "retrieval imports nothing of ours outside retrieval",
	},
	{
		of:    "memory",
		trees: []string{"memory", "retrieval"},
		rule:  "memory imports only retrieval",
	},
	{
		of:    "store",
		trees: []string{"store", "worker", "turn", "retrieval", "memory"},
		rule:  "store imports only worker, turn, retrieval and memory",
	},
}

// engine holds for the adapters in a folder; shared are what several of them
// stand on.
func engine(folder string, own int, shared ...string) layer {
	return layer{
		of:    folder,
		exact: slices.Concat(shared, below, values),
		own:   own,
		tests: []string{"turn"}, // scripts of turntest
		rule:  "engines under " + folder + " import only the value packages turn/{stt,llm,tts,vad}, turn/{crew,provider} and their own folder: they know nothing of turns",
	}
}

// reserved says where packages of others may appear.
type reserved struct {
	prefixes []string // import paths, and all below
	word     string   // or any import path that holds it
	in       []string // folders, and all below
	tests    []string // folders whose tests and fakes may import them as well
	rule     string
}

var (
	everywhere = []string{"cmd", "worker", "turn", "retrieval", "memory", "store"}
	rooms      = []string{"worker/room", "worker/dispatch", "worker/caller"}
	models     = []string{"turn/stt", "turn/llm", "turn/tts", "retrieval/embed", "retrieval/rerank"}
)

var libraries = []reserved{
	{
		prefixes: []string{"github.com/livekit"},
		in:       rooms,
		tests:    []string{"worker", "cmd"}, // to stand in a real room
		rule:     "LiveKit appears only in worker/room, worker/dispatch and worker/caller",
	},
	{
		prefixes: []string{"github.com/pion"},
		in:       rooms,
		tests:    []string{"worker", "cmd"},
		rule:     "pion appears only in worker/room, worker/dispatch and worker/caller",
	},
	{
		word:  "opus", // gopus, libopus, opus.v2: every binding has it in its name
		in:    rooms,
		tests: []string{"worker", "cmd"},
		rule:  "Opus appears only in worker/room, worker/dispatch and worker/caller",
	},
	{
		prefixes: []string{"database/sql", "github.com/jackc", "github.com/lib/pq", "github.com/pgvector"},
		in:       []string{"store"},
		rule:     "PostgreSQL and database/sql appear only under store",
	},
	{
		word: "sqlite",
		in:   []string{"store"},
		rule: "SQLite appears only under store",
	},
	{
		prefixes: []string{"github.com/openai", "github.com/sashabaranov", "github.com/anthropics", "google.golang.org/genai"},
		in:       models,
		rule:     "model APIs appear only in turn/{stt,llm,tts}, retrieval/embed and retrieval/rerank",
	},
	{
		word: "websocket",
		in:   append([]string{"worker/dispatch", "worker/app"}, models...),
		rule: "websockets appear only in worker/dispatch, worker/app and where model APIs do",
	},
	{
		prefixes: []string{"testing", "net/http/httptest", "github.com/google/go-cmp", "go.uber.org/goleak"},
		tests:    everywhere,
		rule:     "what tests are made with appears only in tests and …test packages",
	},
}

// function says where functions of the standard library may be named, called
// or not.
type function struct {
	pkg   string
	names []string
	from  kind // outside cmd: in files of this kind and those after it
	rule  string
}

const (
	ruleEnvironment = "the environment is read only in cmd: pass what was read in a Config"
	ruleExit        = "only cmd ends the process: return an error"
	ruleContext     = "context.Background and TODO appear only in cmd and in tests: take the caller's"
)

var functions = []function{
	{"os", []string{"Getenv", "LookupEnv", "Environ", "ExpandEnv", "Setenv", "Unsetenv", "Clearenv"}, test, ruleEnvironment},
	{"syscall", []string{"Getenv", "Environ", "Setenv", "Unsetenv", "Clearenv"}, test, ruleEnvironment},
	{"os", []string{"Exit"}, test, ruleExit},
	{"syscall", []string{"Exit"}, test, ruleExit},
	{"log", []string{"Fatal", "Fatalf", "Fatalln"}, test, ruleExit},
	{"context", []string{"Background", "TODO"}, fake, ruleContext},
}

const (
	ruleTests = "…test packages are imported only by tests, by each other, and by cmd/headstart, which serves the fakes"
	ruleDot   = "a dot import hides which package a name is from"
	ruleTop   = "Go code stands only under cmd, worker, turn, retrieval, memory and store"
)
