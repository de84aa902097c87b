package main_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// broken are files that break a rule each, with what must be said of them.
var broken = []struct {
	path, text string
	want       []string // after the path
}{
	{"cmd/headstart/serve.go", imports("headstart/pkg/common"), []string{
		`:3: imports "headstart/pkg/common": cmd imports only what is of the house`,
	}},
	{"worker/drain.go", imports("errors", "headstart/store/sqlite"), []string{
		`:4: imports "headstart/store/sqlite": worker imports only turn, retrieval and memory: store implements what worker declares, and cmd joins them`,
	}},
	{"turn/loop.go", imports("headstart/worker"), []string{
		`:3: imports "headstart/worker": turn imports only retrieval and memory`,
	}},
	{"turn/loop_test.go", imports("headstart/worker/room"), []string{
		`:3: imports "headstart/worker/room": turn imports only retrieval and memory`,
	}},
	{"turn/stt/stt.go", imports("headstart/turn/stt/deepgram"), []string{
		`:3: imports "headstart/turn/stt/deepgram": ` + engine("turn/stt", 0).rule,
	}},
	{"turn/llm/openai/request.go", imports("headstart/turn"), []string{
		`:3: imports "headstart/turn": ` + engine("turn/llm", 0).rule,
	}},
	{"turn/tts/cartesia/voice.go", imports("headstart/turn/tts/openai"), []string{
		`:3: imports "headstart/turn/tts/openai": ` + engine("turn/tts", 0).rule,
	}},
	{"turn/vad/vad.go", imports("headstart/retrieval"), []string{
		`:3: imports "headstart/retrieval": ` + engine("turn/vad", 0).rule,
	}},
	{"retrieval/index/index.go", imports("headstart/memory"), []string{
		`:3: imports "headstart/memory": retrieval imports nothing of ours outside retrieval`,
	}},
	{"memory/recall.go", imports("headstart/turn"), []string{
		`:3: imports "headstart/turn": memory imports only retrieval`,
	}},
	{"store/postgres/open.go", imports("headstart/cmd/headstart"), []string{
		`:3: imports "headstart/cmd/headstart": store imports only worker, turn, retrieval and memory`,
	}},
	{"worker/api/room.go", imports("github.com/livekit/protocol/auth"), []string{
		`:3: imports "github.com/livekit/protocol/auth": LiveKit appears only in worker/room, worker/dispatch and worker/caller`,
	}},
	{"worker/rooms/room.go", imports("github.com/pion/webrtc/v4"), []string{
		`:3: imports "github.com/pion/webrtc/v4": pion appears only in worker/room, worker/dispatch and worker/caller`,
	}},
	{"turn/tts/openai/frames_test.go", imports("github.com/thesyncim/gopus"), []string{
		`:3: imports "github.com/thesyncim/gopus": Opus appears only in worker/room, worker/dispatch and worker/caller`,
	}},
	{"worker/api/list.go", imports("database/sql", "github.com/jackc/pgx/v5/pgxpool"), []string{
		`:3: imports "database/sql": PostgreSQL and database/sql appear only under store`,
		`:4: imports "github.com/jackc/pgx/v5/pgxpool": PostgreSQL and database/sql appear only under store`,
	}},
	{"cmd/headstart/open.go", "package p\n\nimport _ \"modernc.org/sqlite\"\n", []string{
		`:3: imports "modernc.org/sqlite": SQLite appears only under store`,
	}},
	{"memory/extract.go", imports("github.com/openai/openai-go/v3"), []string{
		`:3: imports "github.com/openai/openai-go/v3": model APIs appear only in turn/{stt,llm,tts}, retrieval/embed and retrieval/rerank`,
	}},
	{"worker/api/socket.go", imports("github.com/coder/websocket"), []string{
		`:3: imports "github.com/coder/websocket": websockets appear only in worker/dispatch, worker/app and where model APIs do`,
	}},
	{"retrieval/golden.go", imports("testing"), []string{
		`:3: imports "testing": what tests are made with appears only in tests and …test packages`,
	}},
	{"worker/worker.go", imports("headstart/turn/turntest"), []string{
		`:3: imports "headstart/turn/turntest": ` + ruleTests,
	}},
	{"cmd/other/main.go", imports("headstart/turn/turntest"), []string{
		`:3: imports "headstart/turn/turntest": ` + ruleTests,
	}},
	{"pkg/util/util.go", imports("errors"), []string{`:1: is in pkg/util: ` + ruleTop}},
	{"tool.go", imports("errors"), []string{`:1: is in .: ` + ruleTop}},
	{"worker/config.go", calls("os", `os.Getenv("A")`, `os.LookupEnv("B")`, `os.Environ()`), []string{
		":6: names os.Getenv: " + ruleEnvironment,
		":7: names os.LookupEnv: " + ruleEnvironment,
		":8: names os.Environ: " + ruleEnvironment,
	}},
	{"turn/stt/deepgram/deepgramtest/server.go", calls("os", `os.Getenv("A")`), []string{
		":6: names os.Getenv: " + ruleEnvironment,
	}},
	{"store/sqlite/open.go", "package p\n\nimport sys \"os\"\n\nvar env, quit = sys.Getenv, sys.Exit\n", []string{
		":5: names os.Getenv: " + ruleEnvironment,
		":5: names os.Exit: " + ruleExit,
	}},
	{"store/sqlite/dot.go", "package p\n\nimport . \"os\"\n\nvar _ = Args\n", []string{
		`:3: imports "os": ` + ruleDot,
	}},
	{"worker/child_linux.go", calls("syscall", `syscall.Getenv("A")`, `syscall.Exit(1)`), []string{
		":6: names syscall.Getenv: " + ruleEnvironment,
		":7: names syscall.Exit: " + ruleExit,
	}},
	{"memory/log.go", calls("log", `log.Fatalf("x")`, `log.Print("x")`), []string{":6: names log.Fatalf: " + ruleExit}},
	{"turn/run.go", calls("context", "context.Background()", "context.TODO()", "context.WithoutCancel(nil)"), []string{
		":6: names context.Background: " + ruleContext,
		":7: names context.TODO: " + ruleContext,
	}},
	{"turn/run_plan9.go", "//go:build plan9\n\n" + calls("context", "context.TODO()"), []string{
		":8: names context.TODO: " + ruleContext,
	}},
}

// whole are files that break none.
var whole = fstest.MapFS{
	"cmd/headstart/main.go":    goFile(calls("os", `os.Getenv("A")`, "os.Exit(1)")),
	"cmd/headstart/context.go": goFile(calls("context", "context.Background()")),
	"cmd/headstart/fakes.go":   goFile(imports("headstart/store/sqlite", "headstart/turn/llm/openai/openaitest", "headstart/worker/room")),
	"worker/worker.go":         goFile(imports("headstart/memory", "headstart/retrieval/index", "headstart/turn", "headstart/worker/room")),
	"worker/worker_test.go":    goFile(imports("github.com/livekit/server-sdk-go/v2", "headstart/store/sqlite", "headstart/worker/workertest", "testing")),
	"worker/room/ears.go":      goFile(imports("github.com/livekit/server-sdk-go/v2", "github.com/pion/webrtc/v4", "github.com/thesyncim/gopus")),
	"worker/dispatch/link.go":  goFile(imports("github.com/coder/websocket", "github.com/livekit/protocol/auth")),
	"worker/app/socket.go":     goFile(imports("github.com/coder/websocket")),
	"worker/caller/voice.go":   goFile(imports("github.com/thesyncim/gopus")),
	"worker/devserver/devservertest/start.go": goFile("package p\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\n" +
		"func f(t testing.TB) string { return os.Getenv(\"CI\") }\n"),
	"worker/run.go":                            goFile(calls("os", "os.Open(\"x\")")),
	"turn/loop.go":                             goFile(imports("headstart/memory", "headstart/retrieval", "headstart/turn/vad")),
	"turn/turntest/ear.go":                     goFile(imports("headstart/turn", "headstart/turn/stt/deepgram/deepgramtest")),
	"turn/turntest/run.go":                     goFile(calls("context", "context.Background()")),
	"turn/llm/openai/openai.go":                goFile(imports("github.com/openai/openai-go/v3", "headstart/turn/llm", "headstart/turn/stt")),
	"turn/llm/openai/openai_test.go":           goFile(imports("github.com/google/go-cmp/cmp", "headstart/turn/llm/openai", "headstart/turn/turntest")),
	"turn/stt/deepgram/deepgramtest/server.go": goFile(imports("github.com/coder/websocket", "headstart/turn/stt/deepgram")),
	"retrieval/index/index.go":                 goFile(imports("headstart/retrieval/analyse")),
	"retrieval/embed/embed.go":                 goFile(imports("github.com/openai/openai-go/v3")),
	"memory/recall.go":                         goFile(imports("headstart/retrieval")),
	"store/sqlite/open.go":                     goFile(imports("database/sql", "headstart/turn", "headstart/worker", "modernc.org/sqlite")),
	"store/postgres/open.go":                   goFile(imports("github.com/jackc/pgx/v5")),
	"turn/vad/vad.go":                          goFile(imports("headstart/turn/vad/weights")),
	"turn/main_test.go":                        goFile(calls("os", `os.Getenv("CI")`, "os.Exit(1)")),
	// What the go command does not walk, or is another module.
	"testdata/pkg/x.go":                  goFile(imports("headstart/store/sqlite")),
	"worker/api/web/node_modules/x/x.go": goFile("not Go at all"),
	".cache/x.go":                        goFile("not Go at all"),
	"worker/_old/x.go":                   goFile("not Go at all"),
	"worker/nested/go.mod":               goFile("module nested\n"),
	"worker/nested/x.go":                 goFile(imports("github.com/livekit/protocol/auth")),
	"worker/README.md":                   goFile("not Go at all"),
}

func TestCheckTellsWhatIsBroken(t *testing.T) {
	t.Parallel()
	for _, c := range broken {
		t.Run(strings.ReplaceAll(c.path, "/", "_"), func(t *testing.T) {
			t.Parallel()
			got, err := check(fstest.MapFS{c.path: goFile(c.text)})
			if err != nil {
				t.Fatalf("check: %v", err)
			}
			var want []string
			for _, w := range c.want {
				want = append(want, c.path+w)
			}
			if diff := cmp.Diff(want, got.broken); diff != "" {
				t.Fatalf("said of %s (-want +got):\n%s", c.path, diff)
			}
		})
	}
}

func TestCheckPassesWhatIsWhole(t *testing.T) {
	t.Parallel()
	got, err := check(whole)
	if err != nil {
		t.Fatalf("check: %v", err)
	}
	if diff := cmp.Diff([]string(nil), got.broken); diff != "" {
		t.Fatalf("said (-want +got):\n%s", diff)
	}
	const outside = 7 // the last seven files
	if want := len(whole) - outside; len(got.files) != want {
		t.Fatalf("judged %d files, want %d: %v", len(got.files), want, got.files)
	}
}

// TestEveryRuleIsBrokenOnce finds a rule that the cases above never reach.
func TestEveryRuleIsBrokenOnce(t *testing.T) {
	t.Parallel()
	rules := []string{ruleTests, ruleDot, ruleTop}
	for _, l := range layers {
		rules = append(rules, l.rule)
	}
	for _, l := range libraries {
		rules = append(rules, l.rule)
	}
	for _, f := range functions {
		rules = append(rules, f.rule)
	}
	for _, rule := range rules {
		says := func(w string) bool { return strings.HasSuffix(w, ": "+rule) }
		reached := false
		for _, c := range broken {
			reached = reached || slices.ContainsFunc(c.want, says)
		}
		if !reached {
			t.Errorf("no case breaks the rule %q", rule)
		}
	}
}

func TestCheckRefusesWhatIsNotGo(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"not Go at all", "package p\n\nimport \"os\"\n\nfunc {"} {
		if _, err := check(fstest.MapFS{"turn/x.go": goFile(text)}); err == nil {
			t.Fatalf("%q was taken for Go", text)
		}
	}
}

func goFile(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

// imports is a file with these imports, from line 3 on.
func imports(paths ...string) string {
	return "package p\n\nimport \"" + strings.Join(paths, "\"\nimport \"") + "\"\n"
}

// calls is a file that calls these in a function, from line 6 on.
func calls(pkg string, lines ...string) string {
	return "package p\n\nimport \"" + pkg + "\"\n\nfunc f() {\n\t" + strings.Join(lines, "\n\t") + "\n}\n"
}
