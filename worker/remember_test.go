package worker_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"headstart/memory"
	"headstart/turn"
	"headstart/worker"
	"headstart/worker/calllog/calllogtest"
)

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

// What it cost to ask is told before what came of it, or of what did not.
func TestWhatItCostToAskIsTold(t *testing.T) {
	t.Parallel()
	use := memory.Use{
		Model: "m-1", PromptTokens: 900, PromptCachedTokens: 512, CompletionTokens: 40,
		FirstToken: 300 * time.Millisecond, Took: 900 * time.Millisecond,
	}
	cut := memory.Use{PromptTokens: 900, Estimated: true, Took: 8 * time.Second, Cancelled: true}
	for _, c := range []struct {
		name string
		ends string // the log, from call.ended on
		use  *memory.Use
		err  error // of the learner
		stop bool  // it returns when its budget is over
		want []turn.MetricsLLM
	}{
		{"it taught something", "call.ended metrics.llm memory.ops call.summary", &use, nil, false, []turn.MetricsLLM{{
			Purpose: "remember", Model: "m-1", PromptTokens: 900, PromptCachedTokens: 512, CompletionTokens: 40, TTFTMS: 300, DurationMS: 900,
		}}},
		{"the answer was not as asked", "call.ended metrics.llm error call.summary", &use, memory.ErrAnswer, false, []turn.MetricsLLM{{
			Purpose: "remember", Model: "m-1", PromptTokens: 900, PromptCachedTokens: 512, CompletionTokens: 40, TTFTMS: 300, DurationMS: 900,
		}}},
		{"the model stalls", "call.ended metrics.llm error call.summary", &cut, errors.New("cut off"), true, []turn.MetricsLLM{{
			Purpose: "remember", PromptTokens: 900, Estimated: true, DurationMS: 8000, Cancelled: true,
		}}},
		{"nobody counts", "call.ended memory.ops call.summary", nil, nil, false, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, t.TempDir(), &calllogtest.Store{}, func(_ *worker.Config, served *worker.Served) {
					served.Learner = learner(func(ctx context.Context, l memory.Lesson) (memory.Learned, error) {
						if c.stop {
							<-ctx.Done()
						}
						return memory.Learned{Writing: memory.Writing{Org: l.Org, Contact: l.Contact, Call: l.Call, At: l.At}, Use: c.use}, c.err
					})
				})
				if err := worker.FinishCall(t.Context(), s.worker, "call-1", func() {}, talked...); err != nil {
					t.Fatal(err)
				}
				s.shipAll()
				entries := s.stored("call-1")
				if end := kinds(entries[len(talked):]); end != c.ends {
					t.Fatalf("the log ends with %s, want %s", end, c.ends)
				}
				if diff := cmp.Diff(c.want, all[turn.MetricsLLM](entries)); diff != "" {
					t.Fatalf("metrics (-want +got):\n%s", diff)
				}
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
