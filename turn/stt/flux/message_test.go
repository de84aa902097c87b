package flux_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"headstart/turn/stt"
	"headstart/turn/stt/flux"
)

// info is a TurnInfo whose window ends at 3 s.
func info(event, transcript string) string {
	return `{"type":"TurnInfo","event":"` + event + `","turn_index":0,"audio_window_start":1,"audio_window_end":3,"transcript":"` + transcript + `","words":[],"end_of_turn_confidence":0.5}`
}

// told is what a reader told, by kind and text.
func told(t *testing.T, r *flux.Reading, frames ...string) (got []stt.Event) {
	t.Helper()
	for _, frame := range frames {
		heard, err := r.Read([]byte(frame))
		if err != nil {
			t.Fatalf("read %s: %v", frame, err)
		}
		for _, e := range heard.Events {
			got = append(got, stt.Event{Kind: e.Kind, Text: e.Text})
		}
	}
	return got
}

func TestTurns(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		frames []string
		want   []stt.Event
		broken int
	}{
		{
			"unchanged words are told once",
			[]string{info("StartOfTurn", "sí"), info("Update", "sí"), info("Update", "sí claro"), info("Update", "sí claro"), info("EndOfTurn", "sí claro"), info("Update", "")},
			[]stt.Event{{Kind: stt.SpeechStarted}, {Kind: stt.Interim, Text: "sí"}, {Kind: stt.Interim, Text: "sí claro"}, {Kind: stt.EndOfTurn, Text: "sí claro"}},
			0,
		},
		{
			"the same words again in the next turn",
			[]string{info("StartOfTurn", "sí"), info("EndOfTurn", "sí"), info("StartOfTurn", "sí")},
			[]stt.Event{{Kind: stt.SpeechStarted}, {Kind: stt.Interim, Text: "sí"}, {Kind: stt.EndOfTurn, Text: "sí"}, {Kind: stt.SpeechStarted}, {Kind: stt.Interim, Text: "sí"}},
			0,
		},
		{
			"a guess, taken back and made again",
			[]string{info("EagerEndOfTurn", "sí"), info("Update", "sí"), info("TurnResumed", "sí"), info("Update", "sí claro"), info("EagerEndOfTurn", "sí claro"), info("EndOfTurn", "sí claro")},
			[]stt.Event{
				{Kind: stt.EagerEndOfTurn, Text: "sí"}, {Kind: stt.TurnResumed, Text: "sí"}, {Kind: stt.Interim, Text: "sí claro"},
				{Kind: stt.EagerEndOfTurn, Text: "sí claro"}, {Kind: stt.EndOfTurn, Text: "sí claro"},
			},
			0,
		},
		{
			"an end that differs from its guess",
			[]string{info("EagerEndOfTurn", "sí"), info("EndOfTurn", "sí claro")},
			[]stt.Event{{Kind: stt.EagerEndOfTurn, Text: "sí"}, {Kind: stt.TurnResumed, Text: "sí claro"}, {Kind: stt.EndOfTurn, Text: "sí claro"}},
			1,
		},
		{
			"a guess that differs from the one before",
			[]string{info("EagerEndOfTurn", "sí"), info("EagerEndOfTurn", "sí claro"), info("EagerEndOfTurn", "sí claro")},
			[]stt.Event{{Kind: stt.EagerEndOfTurn, Text: "sí"}, {Kind: stt.TurnResumed, Text: "sí claro"}, {Kind: stt.EagerEndOfTurn, Text: "sí claro"}},
			1,
		},
		{
			"words that change under a guess",
			[]string{info("EagerEndOfTurn", "sí"), info("Update", "sí claro"), info("EndOfTurn", "sí claro")},
			[]stt.Event{{Kind: stt.EagerEndOfTurn, Text: "sí"}, {Kind: stt.TurnResumed, Text: "sí claro"}, {Kind: stt.Interim, Text: "sí claro"}, {Kind: stt.EndOfTurn, Text: "sí claro"}},
			1,
		},
		{
			"an end without words",
			[]string{info("StartOfTurn", ""), info("EndOfTurn", "")},
			[]stt.Event{{Kind: stt.SpeechStarted}},
			0,
		},
		{
			"what is no turn",
			[]string{`{"type":"Connected","request_id":"x","sequence_id":0}`, `{"type":"ConfigureSuccess"}`, `{"type":"ConfigureFailure"}`, `{"type":"Tomorrow"}`, info("Yawn", "sí"), info("TurnResumed", "")},
			nil,
			0,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := flux.NewReading()
			if diff := cmp.Diff(test.want, told(t, r, test.frames...)); diff != "" {
				t.Fatalf("events (-want +got):\n%s", diff)
			}
			if r.Broken != test.broken {
				t.Fatalf("the promise was seen broken %d times, want %d", r.Broken, test.broken)
			}
		})
	}
}

func TestMessageFields(t *testing.T) {
	t.Parallel()
	r := flux.NewReading()
	heard, err := r.Read([]byte(`{"type":"TurnInfo","event":"Update","audio_window_start":1,"audio_window_end":3,"transcript":" hola buenas ","words":[{"word":"hola","confidence":0.8,"start":1.5,"end":2},{"word":"buenas","confidence":0.6,"start":2,"end":2.5}],"end_of_turn_confidence":0.1,"languages":["es","en"]}`))
	want := []stt.Event{{Kind: stt.Interim, Text: "hola buenas", Language: "es", Confidence: 0.7, Start: 1500 * ms, End: 2500 * ms}}
	if diff := cmp.Diff(want, heard.Events, near); diff != "" || err != nil || heard.Settles != 0 {
		t.Fatalf("error %v, settles %v, events (-want +got):\n%s", err, heard.Settles, diff)
	}
	heard, err = r.Read([]byte(info("EndOfTurn", "hola buenas")))
	want = []stt.Event{{Kind: stt.EndOfTurn, Text: "hola buenas", Confidence: 0.5, Start: time.Second, End: 3 * time.Second}}
	if diff := cmp.Diff(want, heard.Events); diff != "" || err != nil || heard.Settles != 3 {
		t.Fatalf("error %v, settles %v, events (-want +got):\n%s", err, heard.Settles, diff)
	}
	if heard, _ = r.Read([]byte(info("Update", ""))); heard.Settles != 1 {
		t.Fatalf("silence settles %vs, want all but its last 2s", heard.Settles)
	}
	heard, _ = r.Read([]byte(`{"type":"Error","code":"DATA-0000","description":"no audio"}`))
	if failure, ok := errors.AsType[*flux.Failure](heard.Fatal); !ok || failure.Retryable() || failure.Error() != "flux failed with DATA-0000: no audio" {
		t.Fatalf("failure %v", heard.Fatal)
	}
}

func TestMessagesThatAreNone(t *testing.T) {
	t.Parallel()
	for _, frame := range []string{``, `{`, `[]`, `{}`, `{"type":7}`, `{"type":"TurnInfo","words":"now"}`} {
		if heard, err := flux.NewReading().Read([]byte(frame)); err == nil || len(heard.Events) > 0 {
			t.Errorf("%s gave %v, want an error", frame, heard)
		}
	}
}

// promise holds what is told against what stt.Event says of ends of turn.
type promise struct{ guess string }

func (p *promise) check(t *testing.T, events []stt.Event) {
	t.Helper()
	for _, e := range events {
		changed := p.guess != "" && p.guess != e.Text
		switch e.Kind {
		case stt.SpeechStarted:
			continue
		case stt.TurnResumed:
			p.guess = ""
			continue
		case stt.EagerEndOfTurn:
			changed = p.guess != ""
			p.guess = e.Text
		case stt.EndOfTurn:
			p.guess = ""
		}
		if changed || e.Text == "" {
			t.Fatalf("told %+v while another guess stood, or without words", e)
		}
	}
}

// over ends the connection, after which no guess may stand.
func (p *promise) over(t *testing.T, r *flux.Reading, whole bool) {
	t.Helper()
	p.check(t, r.Over(whole))
	if p.guess != "" {
		t.Fatalf("the guess of %q was neither kept nor taken back", p.guess)
	}
}

// TestPromiseHoldsWhateverIsSaid tries every order of four messages.
func TestPromiseHoldsWhateverIsSaid(t *testing.T) {
	t.Parallel()
	var frames []string
	for _, event := range []string{"StartOfTurn", "Update", "EagerEndOfTurn", "TurnResumed", "EndOfTurn"} {
		for _, text := range []string{"", "sí", "sí claro"} {
			frames = append(frames, info(event, text))
		}
	}
	const length = 4
	for n := range pow(len(frames), length) {
		r, p := flux.NewReading(), promise{}
		for i, rest := 0, n; i < length; i, rest = i+1, rest/len(frames) {
			heard, err := r.Read([]byte(frames[rest%len(frames)]))
			if err != nil {
				t.Fatalf("read: %v", err)
			}
			p.check(t, heard.Events)
		}
		p.over(t, r, n%2 == 0)
	}
}

func pow(base, exponent int) int {
	out := 1
	for range exponent {
		out *= base
	}
	return out
}

// FuzzMessages reads whatever a server may say: each line is a message.
func FuzzMessages(f *testing.F) {
	f.Add(info("EagerEndOfTurn", "sí") + "\n" + info("EndOfTurn", "sí claro"))
	f.Add(info("StartOfTurn", "sí") + "\n" + info("TurnResumed", "sí") + "\n" + info("EagerEndOfTurn", ""))
	f.Add(`{"type":"TurnInfo","event":"EndOfTurn","audio_window_end":1e300,"transcript":"a","words":[{"start":null,"end":-1}]}`)
	f.Fuzz(func(t *testing.T, script string) {
		r, p := flux.NewReading(), promise{}
		for frame := range strings.Lines(script) {
			heard, err := r.Read([]byte(frame))
			if err != nil && len(heard.Events) > 0 {
				t.Fatalf("both %v and %v", heard.Events, err)
			}
			p.check(t, heard.Events)
		}
		p.over(t, r, len(script)%2 == 0)
	})
}

func BenchmarkMessage(b *testing.B) {
	frame := []byte(`{"type":"TurnInfo","request_id":"x","sequence_id":9,"event":"Update","turn_index":0,"audio_window_start":1,"audio_window_end":3,"transcript":"quería saber","words":[{"word":"quería","confidence":0.9,"start":1.5,"end":2},{"word":"saber","confidence":0.9,"start":2,"end":2.5}],"end_of_turn_confidence":0.1}`)
	r := flux.NewReading()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Read(frame); err != nil {
			b.Fatal(err)
		}
	}
}
