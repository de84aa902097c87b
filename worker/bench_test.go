package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/zap"

	"headstart/retrieval"
	"headstart/retrieval/analyse"
	"headstart/retrieval/embed"
	"headstart/turn"
	"headstart/turn/llm/extractive"
	"headstart/turn/stt/replay"
	"headstart/turn/tts/builtin"
	"headstart/turn/vad"
	"headstart/worker"
	"headstart/worker/caller"
	"headstart/worker/calllog"
	"headstart/worker/devserver"
	"headstart/worker/devserver/devservertest"
	"headstart/worker/dispatch"
)

const (
	callsDir     = "../testdata/calls"
	knowledgeDir = "../testdata/knowledge/clinica-norte"
	greeting     = "Clínica Norte, buenos días."
)

// patience bounds every wait for something that is to happen at last.
const patience = time.Minute

// bench is a worker that serves the sample clinic on a real LiveKit server.
type bench struct {
	t      *testing.T
	server *devserver.Server
	name   string // of explicit dispatch
	worker *worker.Worker
	db     records
	book   *calllog.Book
	drain  context.CancelFunc // as the first SIGTERM does
	stop   context.CancelFunc // as the second one does
	served chan error
}

// newBench starts a worker; an empty name is dispatched to every new room.
func newBench(t *testing.T, name string, change func(*worker.Config, *worker.Served)) *bench {
	t.Helper()
	return newDrainingBench(t, name, time.Minute, change)
}

// newDrainingBench is newBench with a drain timeout of its own.
func newDrainingBench(t *testing.T, name string, drainFor time.Duration, change func(*worker.Config, *worker.Served)) *bench {
	t.Helper()
	return newBenchOn(t, nil, name, drainFor, change)
}

// newBenchOn is newDrainingBench with a store of the test's choice, which it
// closes; nil is SQLite.
func newBenchOn(t *testing.T, db records, name string, drainFor time.Duration, change func(*worker.Config, *worker.Served)) *bench {
	t.Helper()
	b := &bench{t: t, server: devservertest.Start(t), name: name, db: db, served: make(chan error, 1)}
	b.openLogs()
	served := b.clinic()
	cfg := worker.Config{URL: b.server.URL, APIKey: b.server.APIKey, APISecret: b.server.APISecret, MaxCalls: 8, Region: "ES", Facts: b.db}
	if change != nil {
		change(&cfg, &served)
	}
	var err error
	if b.worker, err = worker.New(cfg, []worker.Served{served}, b.book, zap.NewNop()); err != nil {
		t.Fatalf("new worker: %v", err)
	}
	client, err := dispatch.New(dispatch.Config{URL: cfg.URL, APIKey: cfg.APIKey, APISecret: cfg.APISecret, AgentName: name}, b.worker, zap.NewNop())
	if err != nil {
		t.Fatalf("new dispatch client: %v", err)
	}
	accept, drain := context.WithCancel(t.Context())
	now, stop := context.WithCancel(t.Context())
	b.drain, b.stop = drain, stop
	go func() { b.served <- b.worker.Serve(accept, now, client, drainFor) }()
	t.Cleanup(func() {
		drain()
		stop()
		if err := <-b.served; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("serve: %v", err)
		}
	})
	b.eventually("the worker registers", client.Registered)
	return b
}

// in is the bench as a part of its test sees it.
func (b *bench) in(t *testing.T) *bench {
	part := *b
	part.t = t
	return &part
}

// openLogs opens the logs on the bench's store, which is SQLite unless the test chose.
func (b *bench) openLogs() {
	b.t.Helper()
	if b.db == nil {
		b.db = openSQLite(b.t)
	}
	var err error
	if b.book, err = calllog.Open(calllog.Config{Dir: filepath.Join(b.t.TempDir(), "spool")}, b.db, zap.NewNop()); err != nil {
		b.t.Fatalf("open logs: %v", err)
	}
	shipping, stop := context.WithCancel(context.WithoutCancel(b.t.Context()))
	shipped := make(chan error, 1)
	go func() { shipped <- b.book.Run(shipping) }()
	b.t.Cleanup(func() {
		stop()
		if err := errors.Join(<-shipped, b.book.Close(), b.db.Close()); err != nil {
			b.t.Errorf("close logs: %v", err)
		}
	})
}

// clinic is the sample agent: every part of it is what the demo uses.
func (b *bench) clinic() worker.Served {
	embedder := embed.Hashing(256)
	segment, bad, err := retrieval.LoadFolder(b.t.Context(), knowledgeDir, "clinica-norte", "es", embedder, nil)
	if err != nil || len(bad) > 0 {
		b.t.Fatalf("load base: %v, left out: %v", err, bad)
	}
	library := &retrieval.Library{}
	library.Put("default", segment)
	ears, err := replay.New(replay.Config{Dir: callsDir, Language: "es"}, zap.NewNop())
	if err != nil {
		b.t.Fatalf("new recogniser: %v", err)
	}
	analyser := analyse.New("es")
	model, err := extractive.New(extractive.Config{
		Language: "es", Content: analyser.Content, Number: func(text string) bool { return !analyser.Worth(text) },
	})
	if err != nil {
		b.t.Fatalf("new model: %v", err)
	}
	s := worker.Served{
		Agent: worker.Agent{
			Name: "clinica-norte", Language: "es-ES", Greeting: worker.GreetingConfig{Say: greeting},
			Docs: worker.Docs{{Base: "clinica-norte"}},
		},
		Recogniser: ears, Voice: builtin.New(builtin.Config{Language: "es"}),
		Model:    model,
		Detector: func() turn.Detector { return vad.New(vad.NewEnergy(), vad.Config{}) },
		Searcher: retrieval.NewSearcher(library, embedder), Analyser: analyser,
		LookupBudget: patience, // a busy machine may take its time; budgets are held to in virtual time
	}
	if err := s.Prepare(b.t.Context(), s.Voice, zap.NewNop()); err != nil {
		b.t.Fatalf("prepare agent: %v", err)
	}
	return s
}

// dial calls the worker, and hangs up at the end of the test at the latest.
func (b *bench) dial(room string, change func(*caller.Config)) *caller.Caller {
	b.t.Helper()
	cfg := caller.Config{
		URL: b.server.URL, APIKey: b.server.APIKey, APISecret: b.server.APISecret, Room: b.t.Name() + "-" + room,
		AgentName: b.name, Log: zap.NewNop(),
	}
	if change != nil {
		change(&cfg)
	}
	c, err := caller.Dial(b.t.Context(), cfg)
	if err != nil {
		b.t.Fatalf("dial: %v", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Run(context.WithoutCancel(b.t.Context())) }()
	b.t.Cleanup(func() {
		if err := errors.Join(c.Hangup(), <-ended); err != nil {
			b.t.Errorf("caller: %v", err)
		}
	})
	return c
}

func phone(cfg *caller.Config) {
	cfg.Kind, cfg.Number, cfg.Trunk = caller.Phone, "+34600123456", "+34910000001"
}

// log waits until the log of the room's call is sealed, and returns it.
func (b *bench) log(room string) []turn.Entry {
	b.t.Helper()
	var entries []turn.Entry
	b.eventually("the log is sealed", func() bool {
		calls, err := b.db.Calls(b.t.Context(), "default", 100)
		if err != nil {
			b.t.Fatalf("list calls: %v", err)
		}
		for _, c := range calls {
			page, err := b.book.Read(b.t.Context(), c.ID, 0, 10000)
			if err != nil {
				b.t.Fatalf("read log: %v", err)
			}
			if c.Sealed && len(page.Entries) > 0 && first[turn.CallStarted](page.Entries).Room == b.t.Name()+"-"+room {
				entries = page.Entries
				return true
			}
		}
		return false
	})
	return entries
}

// eventually looks each 20 ms until something of the real world is so, for as
// long as a busy machine may take.
func (b *bench) eventually(what string, so func() bool) {
	b.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !so() {
		select {
		case <-tick.C:
		case <-deadline:
			b.t.Fatalf("waited %v until %s", patience, what)
		}
	}
}

// all returns the payloads of one type.
func all[E turn.Event](entries []turn.Entry) []E {
	var list []E
	for _, e := range entries {
		var ev E
		if e.Type == ev.EventType() && json.Unmarshal(e.Data, &ev) == nil {
			list = append(list, ev)
		}
	}
	return list
}

// first returns the first payload of one type, or its zero value.
func first[E turn.Event](entries []turn.Entry) E {
	var none E
	for _, ev := range all[E](entries) {
		return ev
	}
	return none
}

// recording reads one turn of a recorded call.
func recording(t *testing.T, name string) []int16 {
	t.Helper()
	file, err := os.ReadFile(filepath.Join(callsDir, name))
	if err != nil {
		t.Fatal(err)
	}
	pcm, err := replay.ReadWAV(file)
	if err != nil {
		t.Fatal(err)
	}
	return pcm
}
