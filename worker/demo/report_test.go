package demo_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"headstart/turn"
	"headstart/worker/demo"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func at(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }

// entry is an entry of a log, written at a moment.
func entry(t *testing.T, seconds float64, ev turn.Event) turn.Entry {
	t.Helper()
	e, err := turn.NewEntry(ev)
	if err != nil {
		t.Fatal(err)
	}
	e.Time = at(seconds)
	return e
}

// sample is a call of two turns: the second is digits.
func sample(t *testing.T) demo.Report {
	hours := demo.Turn{Text: "¿A qué hora abren?", Expects: demo.Expect{Path: "en/hours.md"}}
	digits := demo.Turn{Text: "seis cero cero", Expects: demo.Expect{Digits: true}}
	return demo.ReportOf("es-1", []demo.Said{
		{Turn: hours, Began: at(5), Ended: at(7), Answered: at(7.4)},
		{Turn: digits, Began: at(12), Ended: at(14), Answered: at(14.6)},
	}, []turn.Entry{
		entry(t, 0, turn.CallStarted{}),
		entry(t, 3, turn.TurnAgent{SpeechID: "speech-1", Text: "Buenos días.", Kind: turn.KindGreeting}),
		entry(t, 7.3, turn.TurnUser{SpeechID: "speech-2", Text: "a qué hora abren"}),
		entry(t, 7.3, turn.DocsSources{SpeechID: "speech-2", Sources: []turn.DocSource{{Path: "hours.md"}, {Path: "prices.md"}}, Evidence: "strong", StartedMS: -400, TookMS: 151, WaitedMS: 0}),
		entry(t, 9, turn.TurnAgent{SpeechID: "speech-2", Text: "A las nueve.", Kind: turn.KindReply}),
		entry(t, 14.3, turn.TurnUser{SpeechID: "speech-3", Text: "seis cero cero"}),
		entry(t, 16, turn.TurnAgent{SpeechID: "speech-3", Text: "Gracias.", Kind: turn.KindReply, Interrupted: true}),
		entry(t, 17, turn.CallEnded{Reason: "caller_hung_up"}),
	}, 900)
}

func TestReportJoinsTheCallersStopwatchWithTheLog(t *testing.T) {
	t.Parallel()
	r := sample(t)
	want := demo.Report{
		Turns: []demo.Row{
			{
				Call: "es-1", Turn: 1, Question: "¿A qué hora abren?", Answer: "A las nueve.",
				LookupStartedMS: new(-400.0), LookupTookMS: new(151.0), WaitedMS: new(0.0), FirstAudioMS: new(400.0),
				Sources: []string{"hours.md", "prices.md"}, Evidence: "strong", Expects: demo.Expect{Path: "en/hours.md"}, Right: true,
			},
			{Call: "es-1", Turn: 2, Question: "seis cero cero", Answer: "Gracias.", FirstAudioMS: new(600.0), Sources: []string{}, Interrupted: true, Expects: demo.Expect{Digits: true}, Right: true},
		},
		Calls: []demo.Called{{ID: "call-es-1", Script: "es-1", EndedReason: "caller_hung_up", Entries: 8, AudioRMS: 900}},
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	if failed := r.Failed(); len(failed) > 0 {
		t.Fatalf("failed: %q", failed)
	}
	if early, of := r.Early(); early != 1 || of != 1 {
		t.Fatalf("%d of %d early", early, of)
	}
	if got := *r.Median(); got != 500 {
		t.Fatalf("median %v, want 500", got)
	}
}

func TestReportTellsWhatWentWrong(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(*demo.Report)
		says   string
	}{
		{"silence", func(r *demo.Report) { r.Calls[0].AudioRMS = 3 }, "heard nothing"},
		{"no seal", func(r *demo.Report) { r.Calls[0].EndedReason = "" }, "not sealed"},
		{"no sound of an answer", func(r *demo.Report) { r.Turns[1].FirstAudioMS = nil }, "turn 2: not answered"},
		{"no words of an answer", func(r *demo.Report) { r.Turns[0].Answer = "" }, "turn 1: not answered"},
		{"trouble", func(r *demo.Report) { r.Calls[0].Trouble = []string{"line broke"} }, "line broke"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := sample(t)
			tt.change(&r)
			if failed := strings.Join(r.Failed(), "; "); !strings.Contains(failed, tt.says) {
				t.Fatalf("failed: %q", failed)
			}
		})
	}
}

func TestRightAsksForTheRightFile(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		row  demo.Row
		want bool
	}{
		{demo.Row{Expects: demo.Expect{Path: "precios.md"}, Sources: []string{"precios.md"}}, true},
		{demo.Row{Expects: demo.Expect{Path: "precios.md"}, Sources: []string{"horarios.md", "precios.md"}}, false},
		{demo.Row{Expects: demo.Expect{Path: "precios.md"}}, false},
		{demo.Row{Expects: demo.Expect{Digits: true}, LookupStartedMS: new(1.0)}, false},
		{demo.Row{Expects: demo.Expect{None: true}, Answer: "No tengo esa información."}, true},
		{demo.Row{Expects: demo.Expect{None: true}, Answer: "Sí, alquilamos barcos."}, false},
	} {
		if got := demo.RightOf(tt.row); got != tt.want {
			t.Errorf("%+v: right is %v", tt.row, got)
		}
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	r, late := sample(t), sample(t)
	*late.Turns[0].LookupStartedMS, *late.Turns[0].WaitedMS, *late.Turns[0].FirstAudioMS = 301, 151, 551
	var out strings.Builder
	demo.WriteTable(&out, r, &late)
	want := `call   turn lookup at    took   waited  first sound  ok  best source
es-1   1         -400     151        0          400  yes hours.md
  no early       +301     151      151          551  yes
es-1   2            -       -        -          600  yes digits: nothing looked up
  no early          -       -        -          600  yes

milliseconds from the end of the caller's speech; median first sound 500, with lookups at the end of the turn 576
call es-1: greeting heard 0 ms after dialling
1 of 1 lookups began before the end of speech and cost their turn at most 1 ms
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
}

func TestScriptsOfTheSamples(t *testing.T) {
	t.Parallel()
	scripts, err := demo.LoadScripts("../../testdata/calls", "es-1", "es-2", "en-1")
	if err != nil {
		t.Fatal(err)
	}
	var barges, digits, uncovered int
	for _, s := range scripts {
		if s.From != "+34600123456" || len(s.Turns) < 4 {
			t.Errorf("call %s: from %s, %d turns", s.ID, s.From, len(s.Turns))
		}
		for _, turn := range s.Turns {
			if turn.After == "barge_in" {
				barges++
			}
			if turn.Expects.Digits {
				digits++
			}
			if turn.Expects.None {
				uncovered++
			}
		}
	}
	if barges != 1 || digits != 1 || uncovered != 1 {
		t.Fatalf("%d barge-ins, %d turns of digits, %d that nothing covers; want one each", barges, digits, uncovered)
	}
}
