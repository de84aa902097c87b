package worker_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"headstart/memory"
	"headstart/retrieval"
	"headstart/retrieval/embed"
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

func TestWhatACallTaughtIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var lesson memory.Lesson
		s := newStage(t, t.TempDir(), &calllogtest.Store{}, func(_ *worker.Config, served *worker.Served) {
			served.Learner = learner(func(ctx context.Context, l memory.Lesson) (memory.Learned, error) {
				lesson = l
				time.Sleep(1500 * time.Millisecond)
				return teaches(ctx, l)
			})
		})
		if err := worker.FinishCall(t.Context(), s.worker, "call-1", func() {}, talked...); err != nil {
			t.Fatal(err)
		}
		s.shipAll()
		want := []memory.Said{{Turn: "speech-1", Agent: true, Text: "Buenos días."}, {Turn: "speech-3", Text: "soy alérgica a la penicilina"}}
		if diff := cmp.Diff(want, lesson.Turns); diff != "" || lesson.Contact != "+34600123456" || lesson.Call != "call-1" {
			t.Fatalf("lesson %+v\n%s", lesson, diff)
		}
		entries := s.stored("call-1")
		if end := kinds(entries[len(entries)-3:]); end != "call.ended memory.ops call.summary" {
			t.Fatalf("the log ends with %s", end)
		}
		ops := first[turn.MemoryOps](entries)
		if ops.Op != "remember" || ops.Contact != "+34600123456" || len(ops.Facts) != 1 || ops.TookMS != 1500 || len(ops.Refused) != 1 {
			t.Fatalf("entry %+v", ops)
		}
		w, found := s.store.Taught("default", "call-1")
		if !found || w.Contact != "+34600123456" || w.Changes[0].Fact.Text != "soy alérgica a la penicilina" || len(w.Changes[0].Fact.Vector) != 1 {
			t.Fatalf("writing %+v, %v", w, found)
		}
	})
}

// What goes wrong costs the memory of the call, eight seconds, and nothing else;
// the place of the call was given back before.
func TestACallIsSealedWhateverRemembering(t *testing.T) {
	t.Parallel()
	stall := func(ctx context.Context, _ memory.Lesson) (memory.Learned, error) {
		<-ctx.Done()
		return memory.Learned{}, context.Cause(ctx)
	}
	for _, c := range []struct {
		name   string
		change func(*worker.Config, *worker.Served)
		takes  time.Duration
		says   string // in the failure; empty for none
	}{
		{"the model stalls", func(_ *worker.Config, s *worker.Served) { s.Learner = learner(stall) }, 8 * time.Second, "not remembered within 8s"},
		{"the model stalls and heeds nothing", func(_ *worker.Config, s *worker.Served) {
			s.Learner = learner(func(context.Context, memory.Lesson) (memory.Learned, error) {
				time.Sleep(time.Minute)
				return memory.Learned{}, nil
			})
		}, 8*time.Second + 100*time.Millisecond, "not remembered within 8s"},
		{"a budget of its own", func(cfg *worker.Config, s *worker.Served) {
			cfg.RememberBudget, s.Learner = 3*time.Second, learner(stall)
		}, 3 * time.Second, "not remembered within 3s"},
		{"the model breaks", func(_ *worker.Config, s *worker.Served) {
			s.Learner = learner(func(context.Context, memory.Lesson) (memory.Learned, error) {
				return memory.Learned{}, errors.New("no answer")
			})
		}, 0, "no answer"},
		{"it panics", func(_ *worker.Config, s *worker.Served) {
			s.Learner = learner(func(context.Context, memory.Lesson) (memory.Learned, error) { panic("oh") })
		}, 0, "panic: oh"},
		{"the store is away", func(cfg *worker.Config, _ *worker.Served) { cfg.Facts = shelf{err: errors.New("away")} }, 0, "away"},
		{"the store stalls", func(cfg *worker.Config, _ *worker.Served) { cfg.Facts = shelf{delay: time.Hour} }, 8 * time.Second, "not remembered within 8s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, t.TempDir(), &calllogtest.Store{}, c.change)
				began, released := time.Now(), time.Time{}
				ctx, cancel := context.WithCancelCause(t.Context())
				cancel(errors.New("drained")) // it survives that
				if err := worker.FinishCall(ctx, s.worker, "call-1", func() { released = time.Now() }, talked...); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took != c.takes || !released.Equal(began) {
					t.Fatalf("sealed after %v, place given back after %v; want %v and at once", took, released.Sub(began), c.takes)
				}
				s.shipAll()
				entries := s.stored("call-1")
				if end := kinds(entries[len(entries)-3:]); end != "call.ended error call.summary" {
					t.Fatalf("the log ends with %s", end)
				}
				f := first[turn.Failure](entries)
				if f.Code != "remember_failed" || !f.Recoverable || !strings.Contains(f.Message, c.says) {
					t.Fatalf("failure %+v, want %q in it", f, c.says)
				}
				if got := first[turn.CallSummary](entries).Errors; got != 1 {
					t.Fatalf("%d errors in the summary", got)
				}
				if _, found := s.store.Taught("default", "call-1"); found {
					t.Fatalf("something was written")
				}
				time.Sleep(2 * time.Minute) // who heeds nothing ends at last
			})
		})
	}
}

// Nobody, no words and no policy ask no model and say nothing.
func TestNotRemembered(t *testing.T) {
	t.Parallel()
	forgetful := func(_ *worker.Config, s *worker.Served) { s.Agent.Memory = nil }
	for _, c := range []struct {
		name   string
		change func(*worker.Config, *worker.Served)
		events []turn.Event
	}{
		{"nobody", nil, append([]turn.Event{turn.CallStarted{}}, talked[1:]...)},
		{"no word", nil, talked[:2]},
		{"keys alone", nil, []turn.Event{talked[0], talked[5]}},
		{"no policy", forgetful, talked},
		{"a policy that keeps nothing", func(_ *worker.Config, s *worker.Served) { s.Agent.Memory = &memory.Policy{Forget: []string{"todo"}} }, talked},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, t.TempDir(), &calllogtest.Store{}, func(cfg *worker.Config, served *worker.Served) {
				served.Learner = learner(func(context.Context, memory.Lesson) (memory.Learned, error) {
					t.Error("a model was asked")
					return memory.Learned{}, nil
				})
				if c.change != nil {
					c.change(cfg, served)
				}
			})
			if err := worker.FinishCall(t.Context(), s.worker, "call-1", func() {}, c.events...); err != nil {
				t.Fatal(err)
			}
			s.shipAll()
			entries := s.stored("call-1")
			if end := kinds(entries[len(entries)-2:]); end != "call.ended call.summary" {
				t.Fatalf("the log ends with %s", end)
			}
			if _, found := s.store.Taught("default", "call-1"); found {
				t.Fatalf("something was written")
			}
		})
	}
}

// At the cap no model is asked; the agent's own log says why, the call's that
// nothing was kept. Below it all is as ever.
func TestAMemoryAtItsCap(t *testing.T) {
	t.Parallel()
	full := shelf{held: map[string][]memory.Held{"eva": make([]memory.Held, 3)}}
	for _, c := range []struct {
		limit *int
		asked bool
	}{{nil, true}, {new(4), true}, {new(3), false}, {new(0), false}} {
		var asked atomic.Bool
		s := newStage(t, t.TempDir(), &calllogtest.Store{}, func(cfg *worker.Config, served *worker.Served) {
			cfg.Facts = full
			cfg.MemoryQuota = func(_ context.Context, org string) (*int, error) {
				if org != "default" {
					t.Errorf("quota of %q", org)
				}
				return c.limit, nil
			}
			served.Learner = learner(func(ctx context.Context, l memory.Lesson) (memory.Learned, error) {
				asked.Store(!l.Empty())
				return teaches(ctx, l)
			})
		})
		if err := worker.FinishCall(t.Context(), s.worker, "call-1", func() {}, talked...); err != nil {
			t.Fatal(err)
		}
		s.shipAll()
		ops := first[turn.MemoryOps](s.stored("call-1"))
		exhausted := all[turn.CreditsExhausted](s.stored("@clinica"))
		if c.asked != asked.Load() || ops.Op != "remember" || len(ops.Facts) > 0 != c.asked || len(exhausted) > 0 == c.asked {
			t.Fatalf("limit %v: asked %v, remembered %+v, agent's log %+v", c.limit, asked.Load(), ops, exhausted)
		}
		if want := (turn.CreditsExhausted{Quota: "memory_facts", Holds: 3, CallID: "call-1"}); !c.asked {
			want.Limit = *c.limit
			if exhausted[0] != want {
				t.Fatalf("%+v, want %+v", exhausted[0], want)
			}
		}
	}
}

// dies leaves the log of a call as a killed worker does.
func dies(t *testing.T, dir, id string, events ...turn.Event) {
	t.Helper()
	store := &calllogtest.Store{}
	store.Fail(errors.New("away"))
	s := newStage(t, dir, store, nil)
	log, err := s.book.Begin(id, "clinica")
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range events {
		log.Append(ev)
	}
	s.shipAll()
}

// The next start remembers what a dead worker left, once, and a start that ends
// in the middle leaves it to the one after.
func TestADeadWorkersCallsAreRemembered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir, store := t.TempDir(), &calllogtest.Store{}
		dies(t, dir, "call-1", talked...)
		dies(t, dir, "call-2", append(talked[:len(talked):len(talked)], turn.CallEnded{Reason: "caller_hung_up", DurationS: 9})...)
		for round := range 3 {
			s := newStage(t, dir, store, func(_ *worker.Config, served *worker.Served) {
				if round == 0 {
					served.Learner = learner(func(ctx context.Context, _ memory.Lesson) (memory.Learned, error) {
						<-ctx.Done()
						return memory.Learned{}, context.Cause(ctx)
					})
				}
			})
			if _, err := s.book.Recover(t.Context()); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second) // the process ends
			s.worker.RememberLeft(ctx)
			cancel()
			s.shipAll()
			for _, call := range []string{"call-1", "call-2"} {
				if _, found := store.Taught("default", call); found != (round > 0) {
					t.Fatalf("round %d: %s taught: %v", round, call, found)
				}
			}
		}
		for call, reason := range map[string]string{"call-1": "error", "call-2": "caller_hung_up"} {
			entries := store2(t, store, call)
			if end := kinds(entries[len(entries)-3:]); end != "call.ended memory.ops call.summary" || len(all[turn.MemoryOps](entries)) != 1 {
				t.Fatalf("%s ends with %s", call, end)
			}
			if got := first[turn.CallEnded](entries).Reason; got != reason {
				t.Fatalf("%s ended for %s", call, got)
			}
		}
	})
}

func store2(t *testing.T, store *calllogtest.Store, call string) []turn.Entry {
	t.Helper()
	page, err := store.Entries(t.Context(), "default", call, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	return page.Entries
}

// told answers each recall with all it was opened with.
type told []memory.Held

func (h told) Recall(context.Context, string) ([]memory.Fact, error) {
	var facts []memory.Fact
	for _, f := range h {
		facts = append(facts, f.Fact)
	}
	return facts, nil
}

func opens(_ context.Context, held []memory.Held) (turn.Recaller, error) { return told(held), nil }

// The facts are loaded while the telephone rings; a recall waits for them no
// longer than its turn does.
func TestRecallOfWhatIsLoaded(t *testing.T) {
	t.Parallel()
	held := map[string][]memory.Held{
		"+49301234567": {{Fact: memory.Fact{Text: "una"}}}, "+493012345678": {{Fact: memory.Fact{Text: "otra"}}},
	}
	for _, c := range []struct {
		name  string
		facts shelf
		asked time.Duration // after the call knew who is on the line
		want  string
		err   string
	}{
		{"loaded while it rang", shelf{held: held, delay: time.Second}, 2 * time.Second, "una", ""},
		{"loaded in the turn's budget", shelf{held: held, delay: time.Second}, 900 * time.Millisecond, "una", ""},
		{"not ready", shelf{held: held, delay: time.Second}, 500 * time.Millisecond, "", "facts are not loaded yet: " + retrieval.ErrBudgetSpent.Error()},
		{"never ready", shelf{held: held, delay: time.Hour}, 6 * time.Second, "", "facts not loaded within 5s"},
		{"broken", shelf{err: errors.New("away")}, time.Second, "", "away"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, t.TempDir(), &calllogtest.Store{}, func(cfg *worker.Config, served *worker.Served) {
					cfg.Facts, served.Recollect = c.facts, opens
				})
				recall, giveUp := worker.Recollection(t.Context(), s.worker, "+49301234567")
				time.Sleep(c.asked)
				ctx, cancel := context.WithTimeoutCause(t.Context(), 250*time.Millisecond, retrieval.ErrBudgetSpent)
				defer cancel()
				facts, err := recall.Recall(ctx, "¿qué sabes del contacto +493012345678?")
				giveUp()
				switch {
				case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
					t.Fatalf("%v, want %q", err, c.err)
				case c.err == "" && (err != nil || len(facts) != 1 || facts[0].Text != c.want):
					t.Fatalf("%v, %v", facts, err)
				}
				s.shipAll()
			})
		})
	}
}

// Without a policy, an embedder or a store there is no recall at all.
func TestNoRecall(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*worker.Config, *worker.Served){
		"no policy": func(_ *worker.Config, s *worker.Served) { s.Agent.Memory = nil },
		"no store":  func(cfg *worker.Config, _ *worker.Served) { cfg.Facts = nil },
		"no ears":   func(_ *worker.Config, s *worker.Served) { s.Recollect = nil },
	} {
		s := newStage(t, t.TempDir(), &calllogtest.Store{}, func(cfg *worker.Config, served *worker.Served) {
			served.Recollect = opens
			change(cfg, served)
		})
		if recall, _ := worker.Recollection(t.Context(), s.worker, "ana"); recall != nil {
			t.Errorf("%s: there is a recall", name)
		}
		s.shipAll()
	}
}

// metered counts the questions that reach an embedder, each of which takes 80 ms.
type metered struct {
	retrieval.Embedder
	asked atomic.Int64
}

func (m *metered) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	m.asked.Add(1)
	time.Sleep(80 * time.Millisecond)
	return retrieval.EmbedQuery(ctx, m.Embedder, text)
}

// A question that is searched and recalled is embedded once, and both have its
// vector when the embedder has answered.
func TestOneEmbeddingServesSearchAndRecall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &metered{Embedder: embed.Hashing(256)}
		shared := embed.Shared(e)
		held := memory.Held{Fact: memory.Fact{ID: "f", Text: "Tiene seguro de Sanitas."}}
		if err := memory.Embed(t.Context(), shared, []*memory.Held{&held}); err != nil {
			t.Fatal(err)
		}
		index, err := memory.NewIndex(memory.Reading{Language: "es", Embedder: shared, At: time.Now()}, []memory.Held{held})
		if err != nil {
			t.Fatal(err)
		}
		searcher := searcherOf(t, shared)
		for n, question := range []string{"¿aceptan mi seguro?", "¿y Sanitas?"} {
			began := time.Now()
			var both sync.WaitGroup
			both.Go(func() {
				r, err := searcher.Search(t.Context(), retrieval.Query{Org: "default", Text: question, Bases: []retrieval.Attachment{{Base: "clinica-norte"}}})
				if err != nil || r.Degraded != nil {
					t.Errorf("search: %v, %v", err, r.Degraded)
				}
			})
			both.Go(func() {
				if facts, err := index.Recall(t.Context(), question); err != nil || len(facts) != 1 {
					t.Errorf("recall: %v, %v", facts, err)
				}
			})
			both.Wait()
			if asked, took := e.asked.Load(), time.Since(began); asked != int64(n+1) || took != 80*time.Millisecond {
				t.Fatalf("%d requests after %d questions, the last took %v", asked, n+1, took)
			}
		}
	})
}

// A call that is on recalls nothing of a contact who is forgotten meanwhile.
func TestACallThatIsOnForgets(t *testing.T) {
	t.Parallel()
	held := map[string][]memory.Held{"user1": {{Fact: memory.Fact{Text: "una"}}}, "user11": {{Fact: memory.Fact{Text: "otra"}}}}
	s := newStage(t, t.TempDir(), &calllogtest.Store{}, func(cfg *worker.Config, served *worker.Served) {
		cfg.Facts, served.Recollect = shelf{held: held}, opens
	})
	hers, endHers := worker.Recollection(t.Context(), s.worker, "user1")
	his, endHis := worker.Recollection(t.Context(), s.worker, "user11")
	for i, want := range []int{1, 0} {
		facts, err := hers.Recall(t.Context(), "x")
		others, otherErr := his.Recall(t.Context(), "x")
		if err != nil || otherErr != nil || len(facts) != want || len(others) != 1 {
			t.Fatalf("%d: %v, %v; %v, %v", i, facts, err, others, otherErr)
		}
		if n := s.worker.Forget("user1"); n != 1 {
			t.Fatalf("%d calls are on", n)
		}
	}
	endHers()
	endHis()
	if n := s.worker.Forget("user1") + s.worker.Forget("user11"); n != 0 {
		t.Fatalf("%d calls are still on", n)
	}
	s.shipAll()
}
