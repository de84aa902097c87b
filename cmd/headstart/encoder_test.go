package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"headstart/retrieval/embed/encodertest"
	"headstart/turn"
)

// slowEncoder is how late the encoder of the test is: above a turn's budget for its
// lookups, so that a turn that waited for it shows.
const (
	slowEncoder    = 400 * time.Millisecond
	lookupBudgetMS = 250.0
)

// TestASlowEncoderHoldsUpNoTurn makes calls with a real sentence encoder that is late.
// Asked when the turn has ended, it cannot be in within the budget, and the words
// answer alone; asked while the caller speaks it may be in, and costs no more.
func TestASlowEncoderHoldsUpNoTurn(t *testing.T) {
	url, data := encodertest.Slow(t, slowEncoder), t.TempDir()
	agent := wireAgent + "embedder: {provider: openai, model: encoder, options: {base_url: \"" + url + "\", max_inputs: 4}}\ndocs: {base: clinica-norte}\n"
	for _, tt := range []struct {
		name  string
		early bool
	}{{"at the end of the turn", false}, {"while the caller speaks", true}} {
		t.Run(tt.name, func(t *testing.T) { // one at a time: the clocks of calls are held here
			w := newWireLooking(t, tt.early, agent, nil, func(s *settings) { s.data = data }) // the base is embedded once
			entries := inTime(w)
			answered := eventsOf[turn.DocsSources](entries)
			if len(answered) == 0 || len(answered[0].Sources) == 0 || answered[0].Sources[0].Base != "clinica-norte" {
				t.Fatalf("the lookup found %+v; failures %+v", answered, eventsOf[turn.Failure](entries))
			}
			words := false
			for _, d := range answered {
				alone := slices.Equal(d.Branches, []string{"words"})
				words = words || alone
				if !tt.early && (!alone || d.WaitedMS < lookupBudgetMS) {
					t.Fatalf("asked at the end of the turn, %v answered after %.0f ms", d.Branches, d.WaitedMS)
				}
				t.Logf("%v answered; the turn waited %.0f ms", d.Branches, d.WaitedMS)
			}
			if late := toldLate(entries); late != words {
				t.Fatalf("words answered alone: %v, and the log says that the encoder was late: %v", words, late)
			}
		})
	}
}

// inTime makes a call in which the machine gave a turn its time: one whose cancelled
// search came back with the words, and whose turn went on before the encoder would
// have answered. A turn that waits for the encoder is never in time.
func inTime(w *wire) []turn.Entry {
	w.t.Helper()
	const tries = 6
	var entries []turn.Entry
	for try := range tries {
		entries, _, _ = w.call()
		late, skipped := false, false
		for _, m := range eventsOf[turn.MetricsTurn](entries) {
			late = late || m.LookupWaitMS >= float64(slowEncoder.Milliseconds())
		}
		for _, f := range eventsOf[turn.Failure](entries) {
			skipped = skipped || f.Code == turn.CodeSearchSkipped
		}
		if !late && !skipped {
			return entries
		}
		w.t.Logf("call %d: a turn waited as long as the encoder takes: %v, a search was skipped: %v", try+1, late, skipped)
	}
	w.t.Fatalf("in none of %d calls did the turns go on in time: %+v", tries, eventsOf[turn.MetricsTurn](entries))
	return nil
}

// toldLate tells whether a search was degraded because the encoder was late.
func toldLate(entries []turn.Entry) bool {
	return slices.ContainsFunc(eventsOf[turn.Failure](entries), func(f turn.Failure) bool {
		return f.Code == turn.CodeSearchDegraded && f.Recoverable && strings.Contains(f.Message, "was late")
	})
}
