package turn_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"headstart/turn"
	"headstart/turn/turntest"
)

// TestLookupsLeanOnTheTurnsBefore: each lookup of a turn, early or not, is given the
// turns before it and never its own words; new words alone restart it.
func TestLookupsLeanOnTheTurnsBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		follow := turntest.Utterance{
			From: seconds(5), To: seconds(6), Final: "¿Cuánto cuesta para niños?",
			Interims: []turntest.Interim{{At: seconds(5.4), Text: "¿Cuánto cuesta"}, {At: seconds(5.7), Text: "¿Cuánto cuesta para niños"}},
		}
		model := turntest.Answers(t, turntest.Answer{Text: "Abrimos."}, turntest.Answer{Text: "Diez euros."})
		b := newBench(t, turntest.Speaks(same(), follow), model)
		searcher := &turntest.Searcher{Result: onePassage, Took: 10 * time.Millisecond}
		searcher.Result.Followed = true
		recaller := &turntest.Recaller{Took: 10 * time.Millisecond, Followed: true}
		b.ports.Searcher, b.ports.Recaller = searcher, recaller
		b.run(t, 10*time.Second)

		type asked struct {
			Text   string
			Before []string
		}
		var got []asked
		for _, q := range searcher.Asked() {
			got = append(got, asked{q.Text, q.Before})
		}
		var recalls []asked
		for _, q := range recaller.Asked() {
			recalls = append(recalls, asked(q))
		}
		first := []string{same().Final}
		want := []asked{
			{"¿Qué horario tienen", nil},
			{"¿Qué horario tienen los sábados, acaso", nil},
			{"¿Cuánto cuesta", first},
			{"¿Cuánto cuesta para niños", first},
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("asked (-want +got):\n%s", d)
		}
		if d := cmp.Diff(want, recalls); d != "" {
			t.Fatalf("recalled (-want +got):\n%s", d)
		}
		for _, op := range turntest.All[turn.MemoryOps](b.log) {
			if !op.Followed {
				t.Fatalf("%+v does not tell that it was followed", op)
			}
		}
		for _, docs := range turntest.All[turn.DocsSources](b.log) {
			if !docs.Followed {
				t.Fatalf("%+v does not tell that it was followed", docs)
			}
		}
	})
}
