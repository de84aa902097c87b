package turn_test

import (
	"testing"
	"testing/synctest"
	"time"

	"headstart/turn"
	"headstart/turn/turntest"
)

// What is typed in a written conversation waits longer for its lookups, and asks as
// for somebody who reads; what is typed in a spoken one, and what is said in a
// written one, does neither.
func TestOnlyWhatIsTypedInWritingMayTakeLonger(t *testing.T) {
	t.Parallel()
	const typed = "¿horario sábados?"
	for _, tt := range []struct {
		name           string
		written, spoke bool
		budget         time.Duration // of the configuration
		took           time.Duration
		waited         float64 // ms
		skipped        bool
	}{
		{"typed in writing", true, false, 0, 3 * time.Second, 3000, false},
		{"typed in writing, late", true, false, 0, 3001 * time.Millisecond, 3000, true},
		{"typed in writing, another budget", true, false, time.Second, 2 * time.Second, 1000, true},
		{"typed in a spoken call", false, false, 0, time.Second, 250, true},
		{"said in writing", true, true, 0, time.Second, 250, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				caller := turntest.Speaks()
				if tt.spoke {
					caller = turntest.Speaks(same())
				}
				b := newBench(t, caller, turntest.Answers(t, turntest.Answer{Text: "A las nueve."}))
				searcher := &turntest.Searcher{Took: tt.took, Result: onePassage}
				b.ports.Searcher, b.cfg.Written, b.cfg.LateLookups, b.cfg.Timing.WrittenBudget = searcher, tt.written, true, tt.budget
				if !tt.spoke {
					b.messages <- turn.Typed{Text: typed}
				}
				b.run(t, 8*time.Second)
				if m := turntest.One[turn.MetricsTurn](t, b.log); m.LookupWaitMS != tt.waited {
					t.Fatalf("waited %v ms, want %v\n%s", m.LookupWaitMS, tt.waited, b.log)
				}
				if got := len(turntest.All[turn.Failure](b.log)) > 0; got != tt.skipped {
					t.Fatalf("skipped %v, want %v\n%s", got, tt.skipped, b.log)
				}
				asked := searcher.Asked()
				if len(asked) != 1 || asked[0].Written != (tt.written && !tt.spoke) {
					t.Fatalf("asked %+v", asked)
				}
			})
		})
	}
}

// A written conversation has no ceiling: it ends ten minutes after the last words of
// its caller.
func TestAWrittenConversationEndsWhenNothingIsWritten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, turntest.Speaks(), turntest.Answers(t, turntest.Answer{Text: "A las nueve."}, turntest.Answer{Text: "A las dos."}))
		b.cfg.Written, b.cfg.Timing.MaxDuration = true, time.Minute
		go func() {
			for range 2 {
				time.Sleep(500 * time.Second)
				b.messages <- turn.Typed{Text: "¿horario sábados?"}
			}
		}()
		began := time.Now()
		b.run(t, time.Hour)
		if lasted := time.Since(began); b.end.Reason != "timeout" || lasted < 1600*time.Second || lasted > 1601*time.Second {
			t.Fatalf("ended after %v with %+v, want 1600 s and timeout", lasted, b.end)
		}
	})
}
