package turn_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"headstart/turn"
	"headstart/turn/stt"
	"headstart/turn/tts"
	"headstart/turn/turntest"
)

func TestAnInterimIsPromotedWhenItsFinalNeverComes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := turntest.Utterance{From: seconds(1), To: seconds(2), Interims: []turntest.Interim{{At: seconds(1.9), Text: "horarios sábados"}}}
		b := newBench(t, turntest.Speaks(u), turntest.Answers(t, turntest.Answer{Text: "Sí."}))
		b.run(t, 7*time.Second)
		m := turntest.One[turn.MetricsTurn](t, b.log)
		if m.EndpointingMS != 2500 {
			t.Fatalf("committed %v ms after the end of speech, want 2500", m.EndpointingMS)
		}
	})
}

func TestARecogniserThatEndsTurnsIsBelievedAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		caller := turntest.Speaks(turntest.Utterance{From: seconds(1), To: seconds(2)}).
			Then(seconds(2.1), stt.Event{Kind: stt.EndOfTurn, Text: "horarios sábados"})
		b := newBench(t, caller, turntest.Answers(t, turntest.Answer{Text: "Sí."}))
		b.run(t, 6*time.Second)
		if m := turntest.One[turn.MetricsTurn](t, b.log); m.EndpointingMS != 0 {
			t.Fatalf("committed %v ms after the end of speech", m.EndpointingMS)
		}
	})
}

func TestSpeechWithoutAWordIsApologisedForOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		caller := turntest.Speaks(turntest.Utterance{From: seconds(1), To: seconds(2.5)}, turntest.Utterance{From: seconds(8), To: seconds(10)})
		b := newBench(t, caller, turntest.Answers(t))
		b.cfg.Clips.Unheard = &turn.Clip{Text: "No le oigo.", PCM: make([]int16, 8000), Rate: 16000}
		b.run(t, 15*time.Second)
		if agent := turntest.One[turn.TurnAgent](t, b.log); agent.Text != "No le oigo." {
			t.Fatalf("agent's turn %+v", agent)
		}
	})
}

func TestARecogniserThatGaveUpIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, turntest.Speaks(same()), turntest.Answers(t, turntest.Answer{Text: "Sí."}))
		b.recogniser.Fail = []error{errors.New("refused")}
		b.run(t, 9*time.Second)
		if f := turntest.One[turn.Failure](t, b.log); f.Code != turn.CodeSTT || !f.Recoverable {
			t.Fatalf("failure %+v", f)
		}
		turntest.One[turn.TurnAgent](t, b.log)
	})
}

func TestAwayAndCeiling(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, turntest.Speaks(same()), turntest.Answers(t, turntest.Answer{Text: "Sí."}))
		b.cfg.Timing.MaxDuration = 40 * time.Second
		b.run(t, time.Minute)
		var away []time.Duration
		for _, e := range b.log.Entries() {
			if s, ok := e.Event.(turn.UserState); ok && s.State == "away" {
				away = append(away, e.At)
			}
		}
		if len(away) != 1 {
			t.Fatalf("away at %v, want once\n%s", away, b.log)
		}
		quiet := b.sounds()[0][1]
		if late := away[0] - quiet - 15*time.Second; late.Abs() > 20*time.Millisecond {
			t.Fatalf("away at %v, silence began at %v", away[0], quiet)
		}
		if b.end != (turn.End{Reason: "timeout", By: "platform"}) {
			t.Fatalf("ended with %+v", b.end)
		}
	})
}

func TestTheAgentsWordsAreShownAsTheyAreHeard(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answer := "Una primera frase. Y otra más larga, que se corta a la mitad porque alguien cuelga."
		b := newBench(t, turntest.Speaks(same()), turntest.Answers(t, turntest.Answer{Text: answer}))
		b.run(t, 3400*time.Millisecond)
		var shown strings.Builder
		for _, a := range turntest.All[turn.AgentTranscript](b.log) {
			shown.WriteString(a.Delta)
		}
		agent := turntest.One[turn.TurnAgent](t, b.log)
		if !agent.Interrupted || !strings.HasPrefix(agent.Text, strings.TrimSpace(shown.String())) || len(agent.Text)-len(shown.String()) > 12 {
			t.Fatalf("shown %q, heard %q", shown.String(), agent.Text)
		}
		if last := turntest.All[turn.AgentTranscript](b.log); !last[len(last)-1].Final || len(last) < 4 {
			t.Fatalf("deltas %+v", last)
		}
	})
}

func TestTheEndOfATurnIsWhereTheSoundEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := same()
		u.Lingers = 500 * time.Millisecond // the detector says so at 3.256 s
		b := newBench(t, turntest.Speaks(u), turntest.Answers(t, turntest.Answer{Text: "Sí."}))
		b.run(t, 6*time.Second)
		if m := turntest.One[turn.MetricsTurn](t, b.log); m.EndpointingMS != 300 {
			t.Fatalf("committed %v ms after the end of speech, want 300: both the words and the sound had ended\n%s", m.EndpointingMS, b.log)
		}
	})
}

func TestSpeakingOnAfterAnEarlyEndIsAnotherTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := turntest.Utterance{From: seconds(1), To: seconds(5), Pause: [2]time.Duration{seconds(2), seconds(2.6)}, Lingers: 500 * time.Millisecond}
		caller := turntest.Speaks(u).
			Then(seconds(2.1), stt.Event{Kind: stt.Final, Text: "horario sábados"}).
			Then(seconds(2.1), stt.Event{Kind: stt.EndOfSpeech}).
			Then(seconds(5.1), stt.Event{Kind: stt.Final, Text: "también domingos"}).
			Then(seconds(5.1), stt.Event{Kind: stt.EndOfSpeech})
		b := newBench(t, caller, turntest.Answers(t, turntest.Answer{Text: long}, turntest.Answer{Text: "Ambos."}))
		b.run(t, 9*time.Second)
		users := turntest.All[turn.TurnUser](b.log)
		if len(users) != 2 || users[0].Text != "horario sábados" || users[1].Text != "también domingos" {
			t.Fatalf("turns %+v\n%s", users, b.log)
		}
		// The answer sounds from 2.3 s; the caller's voice comes back at 2.6 s and
		// stops it after 500 ms.
		if sounds := b.sounds(); near(sounds[0][0], seconds(2.3)) || near(sounds[0][1], seconds(3.1)) {
			t.Fatalf("sounds %v\n%s", sounds, b.log)
		}
	})
}

func TestTheVoiceIsGivenWhatCanBeSaidAndTheLogWhatWasWritten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		written := "La doctora **Vidal** abre a las nueve 🙂, vea [la web](https://clinica.example/horas)."
		b := newBench(t, turntest.Speaks(same()), turntest.Answers(t, turntest.Answer{Text: written}))
		b.cfg.Says = []tts.Pronunciation{{Word: "Vidal", Spoken: "bidál"}}
		b.run(t, 8*time.Second)
		said := strings.Join(b.voice.Said(), " ")
		if !strings.Contains(said, "bidál") || strings.ContainsAny(said, "*[]🙂") || strings.Contains(said, "http") {
			t.Fatalf("the voice was given %q", said)
		}
		if agent := turntest.One[turn.TurnAgent](t, b.log); agent.Text != written {
			t.Fatalf("the log has %q", agent.Text)
		}
	})
}
