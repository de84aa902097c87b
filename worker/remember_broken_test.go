package worker_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"headstart/memory"
	"headstart/turn"
	"headstart/worker"
	"headstart/worker/calllog/calllogtest"
)

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
