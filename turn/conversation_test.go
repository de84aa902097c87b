package turn_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"headstart/memory"
	"headstart/retrieval"
	"headstart/turn"
	"headstart/turn/llm"
	"headstart/turn/turntest"
)

// question is a caller who asks from 1.0 to 2.5 s, whose last content word is
// heard at 2.0 s.
func question() turntest.Utterance {
	return turntest.Utterance{
		From: seconds(1), To: seconds(2.5), Final: "¿Qué horario tienen los sábados, por si acaso?",
		Interims: []turntest.Interim{
			{At: seconds(1.6), Text: "¿Qué horario tienen"},
			{At: seconds(2.0), Text: "¿Qué horario tienen los sábados, acaso"},
			{At: seconds(2.3), Text: "¿Qué horario tienen los sábados, acaso por"},
		},
	}
}

// same is question with a final of the same content words as its last interims.
func same() turntest.Utterance {
	u := question()
	u.Final = "¿Qué horario tienen los sábados, acaso, por?"
	return u
}

func TestLookupIsInBeforeTheCallerStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, turntest.Speaks(same()), turntest.Answers(t, turntest.Answer{Text: "Abrimos a las nueve.", First: 20 * time.Millisecond}))
		searcher := &turntest.Searcher{Result: onePassage, Took: 150 * time.Millisecond}
		b.ports.Searcher = searcher
		b.run(t, 6*time.Second)

		docs := turntest.One[turn.DocsSources](t, b.log)
		if docs.WaitedMS != 0 || docs.StartedMS != -500 || docs.TookMS != 150 {
			t.Fatalf("waited %v, started %v, took %v ms; want 0, -500, 150\n%s", docs.WaitedMS, docs.StartedMS, docs.TookMS, b.log)
		}
		user := turntest.One[turn.TurnUser](t, b.log)
		if docs.SpeechID != user.SpeechID || docs.SpeechID == "" {
			t.Fatalf("the lookup carries speech id %q, the turn %q", docs.SpeechID, user.SpeechID)
		}
		want := []string{"¿Qué horario tienen", "¿Qué horario tienen los sábados, acaso"}
		if diff := cmp.Diff(want, searcher.Queries()); diff != "" {
			t.Fatalf("queries (-want +got):\n%s", diff)
		}
		m := turntest.One[turn.MetricsTurn](t, b.log)
		if m.EndpointingMS != 300 || m.LookupWaitMS != 0 || m.Preemptive != "kept" || m.FirstAudioMS != 320 {
			t.Fatalf("metrics %+v; want 300 ms of endpointing, no wait, an answer begun before, and the first frame 20 ms later", m)
		}
		sum := m.EndpointingMS + m.LookupWaitMS + m.FirstTokenMS + m.FirstClauseMS + m.FirstByteMS + m.PlayoutMS
		if sum != m.FirstAudioMS {
			t.Fatalf("the stages add up to %v ms, the caller waited %v", sum, m.FirstAudioMS)
		}
		agent := turntest.One[turn.TurnAgent](t, b.log)
		if agent.Text != "Abrimos a las nueve." || agent.Interrupted || agent.SpeechID != user.SpeechID {
			t.Fatalf("agent's turn %+v", agent)
		}
	})
}

func TestOnlyNewContentWordsRestartALookup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, turntest.Speaks(question()), turntest.Answers(t, turntest.Answer{Text: "Sí."}))
		searcher := &turntest.Searcher{Result: onePassage, Took: time.Second}
		b.ports.Searcher = searcher
		b.run(t, 6*time.Second)
		// The second interim supersedes the first's search; the third brings no
		// content word; the final brings none either ("acaso" was there). The
		// search of 2.0 s is back at 3.0 s, 200 ms after the commit.
		if got := searcher.Cancelled(); len(got) != 1 || !errors.Is(got[0], turn.ErrSuperseded) {
			t.Fatalf("cancelled for %v, want one superseded", got)
		}
		if docs := turntest.One[turn.DocsSources](t, b.log); docs.WaitedMS != 200 {
			t.Fatalf("waited %v ms, want 200", docs.WaitedMS)
		}
		if got := len(searcher.Queries()); got != 2 {
			t.Fatalf("%d searches, want 2: %q", got, searcher.Queries())
		}
	})
}

func TestATurnWaitsNoLongerThanItsBudget(t *testing.T) {
	t.Parallel()
	words := onePassage
	words.Branches, words.Degraded = []retrieval.Branch{retrieval.Words}, errors.New("the embedder was late")
	for _, tt := range []struct {
		name     string
		searcher *turntest.Searcher
		waited   float64 // ms
		skipped  bool
		degraded bool
	}{
		{"in time", &turntest.Searcher{Took: 250 * time.Millisecond, Result: onePassage}, 250, false, false},
		{"late", &turntest.Searcher{Took: 251 * time.Millisecond}, 250, true, false},
		{"late, but the words are in", &turntest.Searcher{Took: time.Minute, Words: &words}, 250, false, true},
		{"deaf to its cancellation", &turntest.Searcher{Took: time.Minute, Deaf: 3 * time.Second}, 260, true, false},
		{"failing", &turntest.Searcher{Err: errors.New("disk on fire")}, 0, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, turntest.Speaks(same()), turntest.Answers(t, turntest.Answer{Text: "Un momento."}))
				b.cfg.LateLookups = true
				b.ports.Searcher = tt.searcher
				b.run(t, 8*time.Second)
				if m := turntest.One[turn.MetricsTurn](t, b.log); m.LookupWaitMS != tt.waited {
					t.Fatalf("waited %v ms, want %v\n%s", m.LookupWaitMS, tt.waited, b.log)
				}
				codes := map[string]bool{}
				for _, f := range turntest.All[turn.Failure](b.log) {
					codes[f.Code] = true
				}
				if codes[turn.CodeSearchSkipped] != tt.skipped || codes[turn.CodeSearchDegraded] != tt.degraded {
					t.Fatalf("failures %v", codes)
				}
				if got := len(turntest.All[turn.DocsSources](b.log)); (got == 0) != tt.skipped {
					t.Fatalf("%d docs.sources entries", got)
				}
			})
		})
	}
}

// An org whose quota is zero searches nothing, and its log says nothing of it: an
// entry would read as a search that found nothing.
func TestASearchThatDidNotRunLeavesNoEntry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, turntest.Speaks(same()), turntest.Answers(t, turntest.Answer{Text: "Un momento."}))
		b.ports.Searcher = &turntest.Searcher{Err: fmt.Errorf("search: %w", retrieval.ErrNoBase)}
		b.run(t, 8*time.Second)
		if m := turntest.One[turn.MetricsTurn](t, b.log); m.LookupWaitMS != 0 {
			t.Fatalf("waited %v ms for nothing", m.LookupWaitMS)
		}
		if sources, failures := turntest.All[turn.DocsSources](b.log), turntest.All[turn.Failure](b.log); len(sources)+len(failures) > 0 {
			t.Fatalf("logged %v and %v", sources, failures)
		}
	})
}

func TestWhatTheModelIsAsked(t *testing.T) {
	t.Parallel()
	fact := memory.Fact{ID: "f1", Text: "alérgica a la penicilina", Source: "call-1"}
	system := llm.Message{Role: llm.System, Content: "be brief"}
	asked := llm.Message{Role: llm.User, Content: same().Final}
	for _, tt := range []struct {
		name   string
		change func(*bench)
		tools  []string // of the spliced calls
	}{
		{"a search that found", func(b *bench) {}, []string{"search"}},
		{"a search that found nothing", func(b *bench) {
			b.ports.Searcher = &turntest.Searcher{Result: retrieval.Result{Evidence: retrieval.EvidenceNone}}
		}, nil},
		{"no base", func(b *bench) { b.cfg.Bases = nil }, nil},
		{"search and recall", func(b *bench) { b.ports.Recaller = &turntest.Recaller{Facts: []memory.Fact{fact}} }, []string{"search", "recall"}},
		{"nothing remembered", func(b *bench) { b.ports.Recaller = &turntest.Recaller{} }, []string{"search"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				model := turntest.Answers(t, turntest.Answer{Text: "Sí."})
				b := newBench(t, turntest.Speaks(same()), model)
				tt.change(b)
				b.run(t, 6*time.Second)
				got := model.Requests()[0].Messages
				if diff := cmp.Diff([]llm.Message{system, asked}, got[:2]); diff != "" {
					t.Fatalf("request begins (-want +got):\n%s", diff)
				}
				var tools []string
				for i := 2; i < len(got); i += 2 {
					call, result := got[i], got[i+1]
					tools = append(tools, call.ToolCalls[0].Name)
					if result.Role != llm.ToolRole || result.ToolCallID != call.ToolCalls[0].ID {
						t.Fatalf("call %+v is followed by %+v", call, result)
					}
				}
				if diff := cmp.Diff(tt.tools, tools); diff != "" {
					t.Fatalf("tools (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestDigitsAloneAreNoQuery(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := turntest.Utterance{From: seconds(1), To: seconds(2), Final: "600 123 456", Interims: []turntest.Interim{{At: seconds(1.5), Text: "600 123"}}}
		b := newBench(t, turntest.Speaks(u), turntest.Answers(t, turntest.Answer{Text: "Gracias."}))
		searcher := &turntest.Searcher{Result: onePassage}
		b.ports.Searcher = searcher
		b.run(t, 4*time.Second)
		if got := searcher.Queries(); len(got) != 0 {
			t.Fatalf("searched for %q", got)
		}
		if got := turntest.All[turn.DocsSources](b.log); len(got) != 0 {
			t.Fatalf("logged %+v", got)
		}
		turntest.One[turn.TurnAgent](t, b.log)
	})
}

func TestBargeInKeepsWhatWasHeard(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answer := "Primera frase de la respuesta. Segunda frase que el cliente ya no oye entera porque habla."
		model := turntest.Answers(t, turntest.Answer{Text: answer}, turntest.Answer{Text: "Claro."})
		caller := turntest.Speaks(same(), turntest.Utterance{From: seconds(3.2), To: seconds(4.2), Final: "No, los domingos tampoco pueden"})
		b := newBench(t, caller, model)
		b.run(t, 9*time.Second)

		agent := turntest.All[turn.TurnAgent](b.log)
		if len(agent) != 2 {
			t.Fatalf("%d agent turns\n%s", len(agent), b.log)
		}
		cut := agent[0]
		if !cut.Interrupted || !strings.HasPrefix(answer, cut.Text) || len(cut.Text) < len("Primera frase de la respuesta.") || len(cut.Text) == len(answer) {
			t.Fatalf("the interrupted turn is %+v", cut)
		}
		// Speech that began at 3.2 s is an interruption after 500 ms of it.
		if got := b.sounds()[0][1]; got != seconds(3.7) {
			t.Fatalf("the agent fell silent at %v, want 3.7s\n%s", got, b.log)
		}
		history := model.Requests()[1].Messages
		want := []llm.Message{
			{Role: llm.System, Content: "be brief"},
			{Role: llm.User, Content: same().Final},
			{Role: llm.Assistant, Content: cut.Text},
			{Role: llm.User, Content: "No, los domingos tampoco pueden"},
		}
		if diff := cmp.Diff(want, history[:4]); diff != "" {
			t.Fatalf("history (-want +got):\n%s", diff)
		}
	})
}

func TestAShortSoundDoesNotStopTheAgent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		model := turntest.Answers(t, turntest.Answer{Text: "Una respuesta bastante larga que sigue sonando mientras alguien tose."})
		b := newBench(t, turntest.Speaks(same(), turntest.Utterance{From: seconds(3.2), To: seconds(3.5)}), model)
		b.run(t, 9*time.Second)
		if agent := turntest.One[turn.TurnAgent](t, b.log); agent.Interrupted {
			t.Fatalf("interrupted: %+v", agent)
		}
	})
}

func TestGreetingIsHeardToItsEndAndTheWordsOverItAreAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		greeting := "Clínica Norte, buenos días, dígame en qué le puedo ayudar." // 0.7 s
		b := newBench(t, turntest.Speaks(turntest.Utterance{From: seconds(0.1), To: seconds(0.3), Final: "¿Hola clínica?"}), turntest.Answers(t, turntest.Answer{Text: "Dígame."}))
		b.cfg.Greeting = turn.Greeting{Say: greeting}
		b.run(t, 5*time.Second)
		agent := turntest.All[turn.TurnAgent](b.log)
		if len(agent) != 2 || agent[0].Text != greeting || agent[0].Kind != turn.KindGreeting || agent[0].Interrupted {
			t.Fatalf("agent's turns %+v", agent)
		}
		if agent[1].Text != "Dígame." {
			t.Fatalf("the words over the greeting got %+v", agent[1])
		}
		if got := b.sounds()[0][0]; got != 0 {
			t.Fatalf("the greeting began at %v", got)
		}
	})
}

func TestSpeakingOnBeforeTheAnswerSupersedesIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		model := turntest.Answers(t, turntest.Answer{Text: "nunca se oye", First: 3 * time.Second}, turntest.Answer{Text: "Las dos cosas."})
		caller := turntest.Speaks(same(), turntest.Utterance{From: seconds(3.2), To: seconds(4.2), Final: "y también cuánto cuesta venir"})
		b := newBench(t, caller, model)
		b.run(t, 9*time.Second)
		refused := turntest.One[turn.TurnRefused](t, b.log)
		if refused.Outcome != "superseded" {
			t.Fatalf("outcome %+v", refused)
		}
		agent := turntest.One[turn.TurnAgent](t, b.log)
		if agent.Text != "Las dos cosas." {
			t.Fatalf("answered %+v", agent)
		}
		last := model.Requests()[1].Messages[1]
		if last.Role != llm.User || last.Content != same().Final+"\ny también cuánto cuesta venir" {
			t.Fatalf("the second request says %+v", last)
		}
	})
}

func TestAFailingProviderIsHeardAndLogged(t *testing.T) {
	t.Parallel()
	clip := &turn.Clip{Text: "Perdone.", PCM: make([]int16, 16000), Rate: 16000}
	for _, tt := range []struct {
		name   string
		change func(*testing.T, *bench)
		code   string
		said   []string // texts of the agent's turns
	}{
		{"model refuses", func(t *testing.T, b *bench) {
			b.ports.Model = turntest.Answers(t, turntest.Answer{Err: errors.New("401")}, turntest.Answer{Err: errors.New("401")})
		}, turn.CodeLLM, []string{"Perdone."}},
		{"model fails once and may be asked again", func(t *testing.T, b *bench) {
			b.ports.Model = turntest.Answers(t, turntest.Answer{Err: retryable{}}, turntest.Answer{Text: "Sí, abrimos."})
		}, "", []string{"Sí, abrimos."}},
		{"model says nothing", func(t *testing.T, b *bench) {
			b.ports.Model = turntest.Answers(t, turntest.Answer{}, turntest.Answer{})
		}, turn.CodeLLM, []string{"Perdone."}},
		{"model breaks off", func(t *testing.T, b *bench) {
			b.ports.Model = turntest.Answers(t, turntest.Answer{Text: "Abrimos a las nueve. Y los", Err: errors.New("reset")})
		}, turn.CodeLLM, []string{"Abrimos a las nueve. Y los", "Perdone."}},
		{"voice refuses", func(t *testing.T, b *bench) {
			b.ports.Model = turntest.Answers(t, turntest.Answer{Text: "Sí, abrimos."}, turntest.Answer{Text: "Sí, abrimos."})
			b.voice.Fail = map[int]error{0: errors.New("403"), 1: errors.New("403")}
		}, turn.CodeTTS, []string{"Perdone."}},
		{"voice fails once and may be asked again", func(t *testing.T, b *bench) {
			b.ports.Model = turntest.Answers(t, turntest.Answer{Text: "Sí, abrimos. Claro."})
			b.voice.Fail = map[int]error{1: retryable{}}
		}, "", []string{"Sí, abrimos. Claro."}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, turntest.Speaks(same()), nil)
				b.cfg.Clips.Fallback = clip
				tt.change(t, b)
				b.run(t, 9*time.Second)
				var said []string
				for _, a := range turntest.All[turn.TurnAgent](b.log) {
					said = append(said, a.Text)
				}
				if diff := cmp.Diff(tt.said, said); diff != "" {
					t.Fatalf("said (-want +got):\n%s\n%s", diff, b.log)
				}
				var code strings.Builder
				for _, f := range turntest.All[turn.Failure](b.log) {
					code.WriteString(f.Code)
				}
				if code.String() != tt.code {
					t.Fatalf("failures %q, want %q", code.String(), tt.code)
				}
			})
		})
	}
}

type retryable struct{}

func (retryable) Error() string   { return "try again" }
func (retryable) Retryable() bool { return true }

func TestHangUpInMidAnswerKeepsThePart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, turntest.Speaks(same()), turntest.Answers(t, turntest.Answer{Text: strings.Repeat("una frase larga y otra más ", 10) + "."}))
		b.run(t, 4*time.Second)
		agent := turntest.One[turn.TurnAgent](t, b.log)
		if !agent.Interrupted || agent.Text == "" {
			t.Fatalf("agent's turn %+v", agent)
		}
		if b.end != (turn.End{Reason: "caller_hung_up", By: "caller"}) {
			t.Fatalf("ended with %+v", b.end)
		}
		sounds := b.sounds()
		if last := sounds[len(sounds)-1][1]; last > 4*time.Second {
			t.Fatalf("sound until %v, after the hang-up at 4s", last)
		}
	})
}

func TestATypedMessageIsAnsweredAloud(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, turntest.Speaks(), turntest.Answers(t, turntest.Answer{Text: "A las nueve."}))
		b.messages <- turn.Typed{Text: "¿horario sábados?"}
		b.run(t, 3*time.Second)
		user := turntest.One[turn.TurnUser](t, b.log)
		if user.Medium != "text" || user.Text != "¿horario sábados?" {
			t.Fatalf("user's turn %+v", user)
		}
		if agent := turntest.One[turn.TurnAgent](t, b.log); agent.Text != "A las nueve." {
			t.Fatalf("agent's turn %+v", agent)
		}
		turntest.One[turn.DocsSources](t, b.log)
	})
}
