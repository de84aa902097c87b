package worker_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"headstart/memory"
	"headstart/turn"
	"headstart/worker"
	"headstart/worker/calllog"
	"headstart/worker/calllog/calllogtest"
)

// shelf holds the facts of a test.
type shelf struct {
	held  map[string][]memory.Held // by contact
	delay time.Duration
	err   error
}

func (s shelf) Current(ctx context.Context, _, contact string) ([]memory.Held, error) {
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-time.After(s.delay):
		return s.held[contact], s.err
	}
}

func (s shelf) History(ctx context.Context, org, contact string) ([]memory.Held, error) {
	return s.Current(ctx, org, contact)
}

func (s shelf) Count(context.Context, string) (int, error) {
	n := 0
	for _, facts := range s.held {
		n += len(facts)
	}
	return n, s.err
}

// learner is a script of what calls teach.
type learner func(ctx context.Context, l memory.Lesson) (memory.Learned, error)

func (f learner) Learn(ctx context.Context, l memory.Lesson) (memory.Learned, error) {
	return f(ctx, l)
}

// teaches is a learner of one fact: that the caller said their last words.
func teaches(_ context.Context, l memory.Lesson) (memory.Learned, error) {
	if l.Empty() {
		return memory.Learned{Writing: memory.Writing{Org: l.Org, Contact: l.Contact, Call: l.Call, At: l.At}}, nil
	}
	last := l.Turns[len(l.Turns)-1]
	fact := memory.Held{
		Fact: memory.Fact{ID: memory.FactID(l.Org, l.Contact, l.Call, 0), Text: last.Text, Category: l.Policy.Remember[0], Source: l.Call, Since: l.At},
		Org:  l.Org, Contact: l.Contact, Turn: last.Turn, Vector: []float32{1},
	}
	return memory.Learned{
		Writing: memory.Writing{Org: l.Org, Contact: l.Contact, Call: l.Call, At: l.At, Changes: []memory.Change{{Op: memory.Add, Fact: fact}}},
		Refused: []memory.Refusal{{Op: memory.Add, Text: "x", Reason: memory.BecauseForget}},
	}, nil
}

// stage is a worker that reaches no room, and its logs.
type stage struct {
	t      *testing.T
	store  *calllogtest.Store
	book   *calllog.Book
	worker *worker.Worker
}

func newStage(t *testing.T, dir string, store *calllogtest.Store, change func(*worker.Config, *worker.Served)) *stage {
	t.Helper()
	served := worker.Served{
		Agent:   worker.Agent{Name: "clinica", Language: "es-ES", Memory: &memory.Policy{Remember: []string{"alergias"}}},
		Learner: learner(teaches),
	}
	cfg := worker.Config{URL: "ws://nowhere", APIKey: "k", APISecret: "s", Facts: shelf{}}
	if change != nil {
		change(&cfg, &served)
	}
	book, err := calllog.Open(calllog.Config{Dir: dir, Remembers: func(string) bool { return served.Agent.Remembers() }}, store, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	w, err := worker.New(cfg, []worker.Served{served}, book, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	return &stage{t: t, store: store, book: book, worker: w}
}

// shipAll brings the logs to the store and closes them.
func (s *stage) shipAll() {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	cancel()
	if err := errors.Join(s.book.Run(ctx), s.book.Close()); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) stored(log string) []turn.Entry {
	s.t.Helper()
	page, err := s.store.Entries(s.t.Context(), "default", log, 0, 1000)
	if err != nil {
		s.t.Fatal(err)
	}
	return page.Entries
}

func kinds(entries []turn.Entry) string {
	var list []string
	for _, e := range entries {
		list = append(list, e.Type)
	}
	return strings.Join(list, " ")
}

var ana = turn.CallStarted{Contact: &memory.Contact{ID: "+34600123456"}}

// talked is a call that teaches something.
var talked = []turn.Event{
	ana,
	turn.TurnAgent{SpeechID: "speech-1", Text: "Buenos días.", Kind: turn.KindGreeting},
	turn.TurnUser{SpeechID: "speech-2", Text: "soy", Medium: "voice"},
	turn.TurnUser{SpeechID: "speech-3", Supersedes: "speech-2", Text: "soy alérgica a la penicilina", Medium: "voice"},
	turn.TurnAgent{SpeechID: "speech-3"}, // not heard
	turn.TurnUser{SpeechID: "speech-4", Text: "123", Medium: "dtmf"},
}
