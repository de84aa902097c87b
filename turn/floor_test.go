package turn_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"headstart/turn"
	"headstart/turn/llm"
	"headstart/turn/stt"
	"headstart/turn/turntest"
)

// long is an answer of 3.6 s in three clauses.
const long = "Primera frase bastante larga, la segunda parte sigue aquí mismo y no termina todavía. " +
	"Otra frase que lleva su tiempo en decirse entera. Y una última frase para acabar de contarlo todo. " +
	"Con esto ya está dicho lo que había que decir sobre el asunto que pregunta, y nada más queda por añadir ahora."

func TestTheAnswerIsBegunBeforeTheTurnIsCommitted(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		caller     *turntest.Caller
		change     func(*bench)
		answers    []turntest.Answer
		preemptive string
		reason     string
		firstAudio float64
		requests   int
	}{
		{
			name: "kept: the model's 140 ms fit into the endpointing", caller: turntest.Speaks(same()),
			answers:    []turntest.Answer{{Text: "Sí.", First: 120 * time.Millisecond}},
			preemptive: "kept", firstAudio: 320, requests: 1,
		},
		{
			name: "kept: what does not fit is all that is waited for", caller: turntest.Speaks(same()),
			answers:    []turntest.Answer{{Text: "Sí.", First: 340 * time.Millisecond}}, // begun at 2.66, token at 3.0
			preemptive: "kept", firstAudio: 520, requests: 1,
		},
		{
			name: "kept: a final that only adds punctuation", caller: turntest.Speaks(same()).
				Then(seconds(2.7), stt.Event{Kind: stt.Interim, Text: ""}),
			answers: []turntest.Answer{{Text: "Sí."}}, preemptive: "kept", firstAudio: 320, requests: 1,
		},
		{
			name: "discarded: more words came", caller: turntest.Speaks(same()).
				Then(seconds(2.74), stt.Event{Kind: stt.Final, Text: "y también domingos"}),
			answers:    []turntest.Answer{{Text: "No se oye.", First: time.Second}, {Text: "Sí."}},
			preemptive: "kept", firstAudio: 320, requests: 2,
		},
		{
			name: "none: the words do not end there", caller: turntest.Speaks(turntest.Utterance{From: seconds(1), To: seconds(2.5), Final: "quiero una cita para el"}),
			answers: []turntest.Answer{{Text: "Sí."}}, firstAudio: 2520, requests: 1,
		},
		{
			name: "none: lookups begin at the end of the turn", caller: turntest.Speaks(same()),
			change: func(b *bench) { b.cfg.LateLookups = true }, answers: []turntest.Answer{{Text: "Sí."}}, firstAudio: 320, requests: 1,
		},
		{
			name: "kept: the recogniser says that it may be over", caller: turntest.Speaks(turntest.Utterance{From: seconds(1), To: seconds(2.5)}).
				Then(seconds(2.5), stt.Event{Kind: stt.EagerEndOfTurn, Text: "horarios sábados"}).
				Then(seconds(2.7), stt.Event{Kind: stt.EndOfTurn, Text: "horarios sábados"}),
			answers: []turntest.Answer{{Text: "Sí.", First: 100 * time.Millisecond}}, preemptive: "kept", firstAudio: 20, requests: 1,
		},
		{
			name: "discarded: the caller spoke on", caller: turntest.Speaks(turntest.Utterance{From: seconds(1), To: seconds(3.5)}).
				Then(seconds(2.5), stt.Event{Kind: stt.EagerEndOfTurn, Text: "horarios sábados"}).
				Then(seconds(2.7), stt.Event{Kind: stt.TurnResumed}).
				Then(seconds(3.7), stt.Event{Kind: stt.EndOfTurn, Text: "horarios sábados mañana"}),
			answers: []turntest.Answer{{Text: "No se oye."}, {Text: "Sí."}}, preemptive: "discarded", reason: "the caller spoke on", firstAudio: 20, requests: 2,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				model := turntest.Answers(t, tt.answers...)
				b := newBench(t, tt.caller, model)
				if tt.change != nil {
					tt.change(b)
				}
				b.run(t, 9*time.Second)
				m := turntest.One[turn.MetricsTurn](t, b.log)
				if m.Preemptive != tt.preemptive || m.PreemptiveReason != tt.reason || m.FirstAudioMS != tt.firstAudio {
					t.Fatalf("metrics %+v; want %q %q, first audio %v\n%s", m, tt.preemptive, tt.reason, tt.firstAudio, b.log)
				}
				if got := len(model.Requests()); got != tt.requests {
					t.Fatalf("%d requests, want %d", got, tt.requests)
				}
				if got := turntest.One[turn.TurnAgent](t, b.log).Text; got != "Sí." {
					t.Fatalf("said %q", got)
				}
				if got := len(turntest.All[turn.MetricsLLM](b.log)); got != tt.requests {
					t.Fatalf("%d requests in the log, want %d", got, tt.requests)
				}
			})
		})
	}
}

func TestSpeakingOverTheAgent(t *testing.T) {
	t.Parallel()
	// The answer sounds from 2.82 s on; the caller speaks over it from 4.0 s.
	over := func(u turntest.Utterance) *turntest.Caller { return turntest.Speaks(same(), u) }
	for _, tt := range []struct {
		name        string
		caller      *turntest.Caller
		change      func(*bench)
		answers     int
		interrupted bool
		silent      [2]time.Duration // when the agent fell silent and went on; zero when it never did
		turns       int              // of the caller
	}{
		{"a cough is nothing", over(turntest.Utterance{From: seconds(4), To: seconds(4.3)}), nil, 1, false, [2]time.Duration{}, 1},
		{"a long noise pauses it, and it goes on", over(turntest.Utterance{From: seconds(4), To: seconds(5)}), nil, 1, false, [2]time.Duration{seconds(4.5), seconds(7)}, 1},
		{"a short ajá is nothing", over(turntest.Utterance{From: seconds(4), To: seconds(4.3), Final: "Ajá."}), nil, 1, false, [2]time.Duration{}, 1},
		{"a long ajá that is known in time is nothing", over(turntest.Utterance{From: seconds(4), To: seconds(4.8), Final: "vale, vale", Interims: []turntest.Interim{{At: seconds(4.3), Text: "vale"}}}), nil, 1, false, [2]time.Duration{}, 1},
		{"a long ajá that is known late pauses it", over(turntest.Utterance{From: seconds(4), To: seconds(4.8), Final: "vale"}), nil, 1, false, [2]time.Duration{seconds(4.5), seconds(5.1)}, 1},
		{"words stop it", over(turntest.Utterance{From: seconds(4), To: seconds(5), Final: "no me refiero a eso", Interims: []turntest.Interim{{At: seconds(4.4), Text: "no me"}}}), nil, 2, true, [2]time.Duration{seconds(4.5), seconds(5.46)}, 2},
		{"a short sentence stops it at its commit", over(turntest.Utterance{From: seconds(4), To: seconds(4.4), Final: "espere espere"}), nil, 2, true, [2]time.Duration{seconds(4.7), seconds(5)}, 2},
		{"too few words do not", over(turntest.Utterance{From: seconds(4), To: seconds(5), Final: "espere"}), func(b *bench) { b.cfg.Timing.MinInterruptionWords = 3 }, 1, false, [2]time.Duration{seconds(4.5), seconds(5.3)}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				answers := []turntest.Answer{{Text: long}, {Text: "Vale, entonces dígame.", First: 300 * time.Millisecond}}
				model := turntest.Answers(t, answers[:tt.answers]...)
				b := newBench(t, tt.caller, model)
				if tt.change != nil {
					tt.change(b)
				}
				b.run(t, 15*time.Second)
				agent := turntest.All[turn.TurnAgent](b.log)
				if len(agent) != tt.answers || agent[0].Interrupted != tt.interrupted {
					t.Fatalf("agent's turns %+v\n%s", agent, b.log)
				}
				if !tt.interrupted && agent[0].Text != long {
					t.Fatalf("heard %q of %q", agent[0].Text, long)
				}
				if got := len(turntest.All[turn.TurnUser](b.log)); got != tt.turns {
					t.Fatalf("%d turns of the caller, want %d\n%s", got, tt.turns, b.log)
				}
				sounds := b.sounds()
				if tt.silent == ([2]time.Duration{}) {
					if len(sounds) != 1 {
						t.Fatalf("sounds %v, want one stretch", sounds)
					}
					return
				}
				if len(sounds) != 2 || near(sounds[0][1], tt.silent[0]) || near(sounds[1][0], tt.silent[1]) {
					t.Fatalf("sounds %v, want silence from %v to %v\n%s", sounds, tt.silent[0], tt.silent[1], b.log)
				}
				if whole := sounds[0][1] - sounds[0][0] + sounds[1][1] - sounds[1][0]; !tt.interrupted && (whole-spoken(long)).Abs() > 40*time.Millisecond {
					t.Fatalf("in all %v of sound, the answer has %v: something was lost or said twice", whole, spoken(long))
				}
			})
		})
	}
}

// near tells two moments that are more than two frames apart.
func near(got, want time.Duration) bool { return (got - want).Abs() > 40*time.Millisecond }

// spoken is how long the fake voice speaks a text: 12 ms a character, and its
// clauses are without the space before them.
func spoken(text string) time.Duration {
	clauses := 4 // of long: cut at the first comma and at full stops
	return time.Duration(len([]rune(text))-clauses) * 12 * time.Millisecond
}

func TestLateWordsBelongToTheTurnThatWasCommitted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		caller := turntest.Speaks(same()).Then(seconds(2.95), stt.Event{Kind: stt.Final, Text: "y domingos"})
		model := turntest.Answers(t, turntest.Answer{Text: "No se oye.", First: time.Second}, turntest.Answer{Text: "Ambos."})
		b := newBench(t, caller, model)
		b.run(t, 8*time.Second)
		users := turntest.All[turn.TurnUser](b.log)
		if len(users) != 2 || users[1].Text != same().Final+" y domingos" || users[1].Supersedes != users[0].SpeechID {
			t.Fatalf("the caller's turns %+v", users)
		}
		refused := turntest.One[turn.TurnRefused](t, b.log)
		if refused.Outcome != "superseded" || refused.SpeechID != users[0].SpeechID {
			t.Fatalf("refused %+v", refused)
		}
		if agent := turntest.One[turn.TurnAgent](t, b.log); agent.Text != "Ambos." || agent.SpeechID != users[1].SpeechID {
			t.Fatalf("agent %+v", agent)
		}
		last := model.Requests()[1].Messages
		if diff := cmp.Diff(llm.Message{Role: llm.User, Content: same().Final + " y domingos"}, last[1]); diff != "" {
			t.Fatalf("the request (-want +got):\n%s", diff)
		}
	})
}

func TestSomethingIsHeardWithinThePatience(t *testing.T) {
	t.Parallel()
	clip := &turn.Clip{Text: "Perdone.", PCM: make([]int16, 8000), Rate: 16000}
	for _, tt := range []struct {
		name  string
		model []turntest.Answer
		voice time.Duration
		code  string
	}{
		{"the model hangs", []turntest.Answer{{Hang: true}}, 0, turn.CodeLLM},
		{"the model stalls after a few words", []turntest.Answer{{Text: "Abrimos los lunes", Hang: true}}, 0, turn.CodeLLM},
		{"the voice hangs", []turntest.Answer{{Text: "Abrimos."}}, time.Minute, turn.CodeTTS},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, turntest.Speaks(same()), turntest.Answers(t, tt.model...))
				b.cfg.Clips.Fallback, b.voice.First = clip, tt.voice
				b.run(t, 12*time.Second)
				if got := b.sounds()[0][0]; got != seconds(7.8) { // committed at 2.8 s
					t.Fatalf("the first sound is at %v, want 7.8s\n%s", got, b.log)
				}
				if f := turntest.One[turn.Failure](t, b.log); f.Code != tt.code {
					t.Fatalf("failure %+v", f)
				}
				if r := turntest.One[turn.TurnRefused](t, b.log); r.Outcome != "refused" {
					t.Fatalf("refused %+v", r)
				}
			})
		})
	}
}

func TestThreeBrokenAnswersEndTheCallAloud(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asks []turntest.Utterance
		for i := range 3 {
			u := same()
			shift := time.Duration(i) * 6 * time.Second
			u.From, u.To = u.From+shift, u.To+shift
			for j := range u.Interims {
				u.Interims[j].At += shift
			}
			asks = append(asks, u)
		}
		broken := turntest.Answer{Err: retryableNever{}}
		b := newBench(t, turntest.Speaks(asks...), turntest.Answers(t, broken, broken, broken, broken, broken, broken))
		b.cfg.Clips = turn.Clips{Fallback: &turn.Clip{Text: "Perdone.", PCM: make([]int16, 8000), Rate: 16000}, Goodbye: &turn.Clip{Text: "Adiós.", PCM: make([]int16, 8000), Rate: 16000}}
		b.run(t, time.Minute)
		if b.end != (turn.End{Reason: "error", By: "platform"}) {
			t.Fatalf("ended with %+v\n%s", b.end, b.log)
		}
		var said []string
		for _, a := range turntest.All[turn.TurnAgent](b.log) {
			said = append(said, a.Text)
		}
		if diff := cmp.Diff([]string{"Perdone.", "Perdone.", "Adiós."}, said); diff != "" {
			t.Fatalf("said (-want +got):\n%s", diff)
		}
	})
}

type retryableNever struct{}

func (retryableNever) Error() string   { return "no" }
func (retryableNever) Retryable() bool { return false }

func TestTheCeilingIsSaidAloud(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, turntest.Speaks(), turntest.Answers(t))
		b.cfg.Timing.MaxDuration = 5 * time.Second
		b.cfg.Clips.Goodbye = &turn.Clip{Text: "Adiós.", PCM: make([]int16, 8000), Rate: 16000}
		b.run(t, time.Minute)
		if agent := turntest.One[turn.TurnAgent](t, b.log); agent.Kind != turn.KindGoodbye || agent.Interrupted {
			t.Fatalf("agent %+v", agent)
		}
		if got := b.sounds()[0][0]; got != 5*time.Second || b.end.Reason != "timeout" {
			t.Fatalf("said at %v, ended with %+v", got, b.end)
		}
	})
}

func TestKeysAreATurn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		press  string
		length int
		after  time.Duration // committed, from the first key
	}{
		{"until the hash", "1234#", 0, 4 * 100 * time.Millisecond},
		{"until a pause", "1234", 0, 300*time.Millisecond + 4*time.Second},
		{"until there are enough", "1234", 4, 300 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				searcher := &turntest.Searcher{Result: onePassage}
				b := newBench(t, turntest.Speaks(), turntest.Answers(t, turntest.Answer{Text: "Gracias."}))
				b.cfg.KeysLength, b.ports.Searcher = tt.length, searcher
				go func() {
					time.Sleep(time.Second)
					for key := range strings.SplitSeq(tt.press, "") {
						b.messages <- turn.Pressed{Digit: key}
						time.Sleep(100 * time.Millisecond)
					}
				}()
				b.run(t, 9*time.Second)
				user := turntest.One[turn.TurnUser](t, b.log)
				if user.Text != "1234" || user.Medium != "dtmf" {
					t.Fatalf("turn %+v", user)
				}
				for _, e := range b.log.Entries() {
					if e.Event.EventType() == "turn.user" && e.At != time.Second+tt.after {
						t.Fatalf("committed at %v, want %v", e.At, time.Second+tt.after)
					}
				}
				if got := searcher.Queries(); len(got) != 0 {
					t.Fatalf("searched for %q", got)
				}
			})
		})
	}
}

func TestTheModelHangsUpOnlyWhenItMay(t *testing.T) {
	t.Parallel()
	call := []llm.ToolCall{{ID: "c1", Name: "end_call"}}
	for _, tt := range []struct {
		name   string
		hangup *turn.Hangup
		end    turn.End
		failed bool
	}{
		{"it may", &turn.Hangup{When: "Cuando se despida."}, turn.End{Reason: "agent_hung_up", By: "agent"}, false},
		{"it may not", nil, turn.End{Reason: "caller_hung_up", By: "caller"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				model := turntest.Answers(t, turntest.Answer{Text: "Adiós, buenas tardes.", Calls: call})
				b := newBench(t, turntest.Speaks(same()), model)
				b.cfg.Hangup = tt.hangup
				b.run(t, 9*time.Second)
				if b.end != tt.end {
					t.Fatalf("ended with %+v, want %+v\n%s", b.end, tt.end, b.log)
				}
				offered := model.Requests()[0].Tools
				if (len(offered) == 1) != (tt.hangup != nil) {
					t.Fatalf("offered %+v", offered)
				}
				if agent := turntest.One[turn.TurnAgent](t, b.log); agent.Interrupted {
					t.Fatalf("the goodbye was cut: %+v", agent)
				}
				if result := turntest.One[turn.ToolResulted](t, b.log); (result.Error != "") != tt.failed || result.CallID != "c1" {
					t.Fatalf("result %+v", result)
				}
			})
		})
	}
}

func TestAPanicEndsTheConversationAndNothingElse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, turntest.Speaks(same()), turntest.Answers(t, turntest.Answer{Panic: true}))
		b.run(t, 9*time.Second)
		if b.end != (turn.End{Reason: "error", By: "platform"}) {
			t.Fatalf("ended with %+v", b.end)
		}
		if f := turntest.One[turn.Failure](t, b.log); f.Code != turn.CodePanic || strings.Contains(f.Message, "bug") {
			t.Fatalf("failure %+v: it must not tell what the panic said", f)
		}
	})
}

// bursting is a log that panics once, on the loop's own goroutine.
type bursting struct {
	*turntest.Log
	done bool
}

func (l *bursting) Append(ev turn.Event) {
	if _, ok := ev.(turn.TurnUser); ok && !l.done {
		l.done = true
		panic("a caller's words")
	}
	l.Log.Append(ev)
}

func TestAPanicOfTheLoopEndsTheConversation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, turntest.Speaks(same()), turntest.Answers(t, turntest.Answer{Text: "Sí."}))
		b.ports.Log = &bursting{Log: b.log}
		b.run(t, 9*time.Second)
		if b.end != (turn.End{Reason: "error", By: "platform"}) {
			t.Fatalf("ended with %+v", b.end)
		}
		if f := turntest.One[turn.Failure](t, b.log); f.Code != turn.CodePanic || strings.Contains(f.Message, "words") {
			t.Fatalf("failure %+v", f)
		}
	})
}

func TestAProviderThatIgnoresItsContextIsLeftBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, turntest.Speaks(same()), turntest.Answers(t, turntest.Answer{Text: "Sí."}))
		b.ports.Searcher = &turntest.Searcher{Took: time.Minute, Deaf: time.Hour}
		began := time.Now()
		b.run(t, 5*time.Second)
		if took := time.Since(began); took != 7*time.Second {
			t.Fatalf("the conversation ended after %v, want 2 s after the hang-up at 5 s", took)
		}
		if b.abandoned != 1 {
			t.Fatalf("%d abandoned", b.abandoned)
		}
		time.Sleep(2 * time.Hour) // what was left behind ends by itself, and blocks nobody
		synctest.Wait()
	})
}
