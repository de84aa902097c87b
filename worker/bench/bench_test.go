package bench_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"headstart/retrieval/analyse"
	"headstart/turn"
	"headstart/worker/bench"
	"headstart/worker/room/audio"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStat(t *testing.T) {
	t.Parallel()
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(100 - i)
	}
	for _, tt := range []struct {
		name   string
		values []float64
		want   bench.Stat
	}{
		{"none", nil, bench.Stat{}},
		{"one", []float64{7}, bench.Stat{Median: 7, P95: 7, Max: 7, N: 1}},
		{"even", []float64{4, 1, 3, 2}, bench.Stat{Median: 2.5, P95: 4, Max: 4, N: 4}},
		{"odd", []float64{9, 1, 5}, bench.Stat{Median: 5, P95: 9, Max: 9, N: 3}},
		{"a hundred, backwards", hundred, bench.Stat{Median: 50.5, P95: 95, Max: 100, N: 100}},
	} {
		if diff := cmp.Diff(tt.want, bench.StatOf(tt.values)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	if hundred[0] != 100 {
		t.Fatal("the measurements were sorted in place")
	}
}

func TestModes(t *testing.T) {
	t.Parallel()
	var names []string
	for _, m := range bench.Modes() {
		names = append(names, m.Name())
	}
	want := "flux-none flux-80ms flux-80ms-late flux-400ms flux-400ms-late vad-none vad-80ms vad-80ms-late vad-400ms vad-400ms-late"
	if diff := cmp.Diff(want, strings.Join(names, " ")); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	for _, tt := range []struct {
		names []string
		late  bool
		want  string // or what the error tells
	}{
		{[]string{"vad-80ms", "flux-none"}, false, "flux-none vad-80ms vad-80ms-late"},
		{[]string{"flux"}, true, "flux-none flux-80ms-late flux-400ms-late"},
		{[]string{"flux-400ms-late"}, false, "flux-400ms-late"},
		{[]string{"ears"}, false, `no mode is named "ears"; they are flux-none`},
		{nil, true, "flux-none flux-80ms-late flux-400ms-late vad-none vad-80ms-late vad-400ms-late"},
	} {
		modes, err := bench.Choose(tt.names, tt.late)
		var got []string
		for _, m := range modes {
			got = append(got, m.Name())
		}
		if err != nil {
			got = []string{err.Error()}
		}
		if joined := strings.Join(got, " "); !strings.HasPrefix(joined, tt.want) || err == nil && joined != tt.want {
			t.Errorf("%q, late %v: %q, want %q", tt.names, tt.late, joined, tt.want)
		}
	}
}

func TestTheQuestionCanBeLookedUpBeforeItsEnd(t *testing.T) {
	t.Parallel()
	words := analyse.New("es")
	said, rest, _ := strings.Cut(bench.DefaultQuestion, " para")
	if diff := cmp.Diff(words.Content(bench.DefaultQuestion), words.Content(said)); diff != "" {
		t.Fatalf("content in the rest (-whole +beginning):\n%s", diff)
	}
	if early := bench.Length(" para" + rest); early < 800*time.Millisecond {
		t.Fatalf("the last word of content stands only %v before the end", early)
	}
	packets, err := bench.Packets(bench.DefaultQuestion)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := time.Duration(len(packets))*audio.Frame, bench.Length(bench.DefaultQuestion); got != want {
		t.Fatalf("%v of sound for %v of speech", got, want)
	}
	if _, err := bench.Packets(" "); err == nil {
		t.Fatal("nothing is a question")
	}
}

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func at(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }

func entry(t *testing.T, seconds float64, ev turn.Event) turn.Entry {
	t.Helper()
	e, err := turn.NewEntry(ev)
	if err != nil {
		t.Fatal(err)
	}
	e.Time = at(seconds)
	return e
}

// sample is a call of three questions: the third was not answered.
func sample(t *testing.T) []bench.Turn {
	stages := turn.MetricsTurn{SpeechID: "speech-2", EndpointingMS: 150, LookupWaitMS: 2, FirstTokenMS: 20, FirstClauseMS: 15, FirstByteMS: 1, PlayoutMS: 12, FirstAudioMS: 200, Preemptive: "kept"}
	second := stages
	second.SpeechID, second.LookupWaitMS, second.FirstAudioMS = "speech-3", 252, 450
	return bench.Join([]bench.Asked{
		{Began: at(10), Ended: at(12), Answered: at(12.22), Silent: at(14)},
		{Began: at(20), Ended: at(22), Answered: at(22.48), Silent: at(24)},
		{Began: at(30), Ended: at(32)},
	}, []turn.Entry{
		entry(t, 1, turn.TurnAgent{SpeechID: "speech-1", Text: "Hola.", Kind: turn.KindGreeting}),
		entry(t, 12.15, turn.TurnUser{SpeechID: "speech-2", Text: "a qué hora"}),
		entry(t, 12.152, turn.DocsSources{SpeechID: "speech-2", Branches: []string{"words", "vectors"}, StartedMS: -700, TookMS: 81}),
		entry(t, 12.2, stages),
		entry(t, 14, turn.TurnAgent{SpeechID: "speech-2", Text: "A las nueve."}),
		entry(t, 22.15, turn.TurnUser{SpeechID: "speech-3", Text: "a qué hora"}),
		entry(t, 22.4, turn.Failure{SpeechID: "speech-3", Code: turn.CodeSearchSkipped, Message: "late"}),
		entry(t, 22.41, turn.DocsSources{SpeechID: "speech-3", Branches: []string{"words"}, StartedMS: 150, TookMS: 250}),
		entry(t, 22.45, second),
		entry(t, 24, turn.TurnAgent{SpeechID: "speech-3", Text: "A las nueve."}),
		entry(t, 32.15, turn.TurnUser{SpeechID: "speech-4", Text: "a qué hora"}),
	})
}

func TestJoinGivesEachQuestionItsTurnOfTheLog(t *testing.T) {
	t.Parallel()
	turns := sample(t)
	first := bench.Turn{
		HeardMS: new(220.0), AfterCommitMS: new(70.0), LookupStartedMS: new(-700.0), LookupTookMS: new(81.0),
		Branches: []string{"words", "vectors"}, Text: "a qué hora", Answer: "A las nueve.",
		Stages: &turn.MetricsTurn{SpeechID: "speech-2", EndpointingMS: 150, LookupWaitMS: 2, FirstTokenMS: 20, FirstClauseMS: 15, FirstByteMS: 1, PlayoutMS: 12, FirstAudioMS: 200, Preemptive: "kept"},
	}
	if diff := cmp.Diff(first, turns[0]); diff != "" {
		t.Fatalf("first turn (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(bench.Turn{Text: "a qué hora"}, turns[2]); diff != "" {
		t.Fatalf("unanswered turn (-want +got):\n%s", diff)
	}
	var answered []bool
	for _, one := range turns {
		answered = append(answered, one.Answered())
	}
	if diff := cmp.Diff([]bool{true, true, false}, answered); diff != "" {
		t.Fatalf("answered (-want +got):\n%s", diff)
	}
}

func TestReportSumsUpAndHoldsTheAims(t *testing.T) {
	t.Parallel()
	turns := sample(t)
	r := bench.ReportOf(bench.Mode{Recogniser: bench.Flux, EmbedMS: 400}, turns)
	if r.Heard != (bench.Stat{Median: 350, P95: 480, Max: 480, N: 2}) || r.Stages.LookupWait.Max != 252 || r.Unanswered != 1 || r.Skipped != 1 || r.WordsOnly != 1 || r.Kept != 2 {
		t.Fatalf("report %+v", r)
	}
	whole := bench.TurnReport{Machine: bench.Machine{OS: "os/arch", CPUs: 2, Load1: 0.5}, Question: "a qué hora", Embedder: "none", Modes: []bench.ModeReport{r}}
	if diff := cmp.Diff([]string{"flux-400ms, turn 3: not answered"}, whole.Unanswered()); diff != "" {
		t.Fatalf("unanswered (-want +got):\n%s", diff)
	}
	modes := []bench.ModeReport{
		bench.ReportOf(bench.Mode{Recogniser: bench.Flux}, turns), r,
		bench.ReportOf(bench.Mode{Recogniser: bench.Flux, EmbedMS: 400, Late: true}, turns),
		bench.ReportOf(bench.Mode{Recogniser: bench.VAD, EmbedMS: 80}, turns),
		bench.ReportOf(bench.Mode{Recogniser: bench.VAD}, turns[2:]), // nothing to measure
	}
	type verdict struct {
		measured float64
		met      bool
	}
	var got []verdict
	whole.Aims = bench.TurnAims(modes)
	for _, a := range whole.Aims {
		got = append(got, verdict{a.Measured, a.Met})
	}
	want := []verdict{{200, false}, {252, true}, {350, true}, {127, false}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(verdict{})); diff != "" {
		t.Fatalf("aims (-want +got):\n%s", diff)
	}
	var out strings.Builder
	whole.Write(&out)
	for _, line := range []string{
		"os/arch, 2 processors, load 0.5 before it began",
		"flux-400ms          2     350/480     200/330     150/150   127/252     20/20     15/15       1/1     12/12     325/450     2",
		"1 turns had the answer of the words alone, 1 no lookup at all",
		"at most 100 ms, measured 200.00: NOT MET", "at most 260 ms, measured 252.00: met",
	} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("no line %q in:\n%s", line, out.String())
		}
	}
}

func TestWhatCallersTellIsReadAgain(t *testing.T) {
	t.Parallel()
	told := bench.Told{Room: "r", Turn: &bench.Asked{Began: at(1).Add(123 * time.Nanosecond), Ended: at(2)}}
	text, err := json.Marshal(told)
	if err != nil {
		t.Fatal(err)
	}
	var again bench.Told
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(told, again); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	if again.Turn.Answered.IsZero() != true {
		t.Fatal("a turn without an answer has one")
	}
}

func TestACallThatCannotBeMadeIsToldAndReturned(t *testing.T) {
	t.Parallel()
	var told []bench.Told
	err := bench.Call(t.Context(), bench.Order{Rooms: []string{"r"}, Question: "hola"}, func(one bench.Told) { told = append(told, one) }, zap.NewNop())
	if err == nil || len(told) != 1 || told[0].Room != "r" || told[0].Trouble == "" {
		t.Fatalf("told %+v, returned %v", told, err)
	}
}
