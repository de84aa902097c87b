package turn_test

import (
	"errors"
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

// after is a caller who asks, and says something more at 4 s.
func after(words string) *turntest.Caller {
	return turntest.Speaks(same(), turntest.Utterance{
		From: seconds(4), To: seconds(4.8), Final: words,
		Interims: []turntest.Interim{{At: seconds(4.3), Text: words}},
	})
}

// The caller speaks on while a tool runs: what reads is cancelled, what writes is not,
// and is not made again: its result stands in the next request.
func TestSpeakingOnWhileAToolRuns(t *testing.T) {
	t.Parallel()
	const more = "y también aparcamiento"
	superseded := `{"error":"not finished: the caller spoke again"}`
	for _, tt := range []struct {
		name      string
		tool      string
		took      time.Duration
		words     string
		cancelled bool
		requests  int
		result    string  // as the last request reads it
		asked     float64 // when, at the earliest
	}{
		{"one that reads is cancelled", "find_slots", 10 * time.Second, more, true, 2, superseded, 4.8},
		{"one that writes is waited for", "book_slot", 4 * time.Second, more, false, 2, `"done"`, 6.8},
		{"one that writes for long is not", "book_slot", 10 * time.Second, more, false, 2, `{"running":"the tool has not answered yet; do not call it again for this"}`, 8.1},
		{"who only listens stops nothing", "find_slots", 4 * time.Second, "vale", false, 2, `"done"`, 6.8},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b, model, toolbox := errandBench(t, after(tt.words), works{tt.tool: {{Took: tt.took, Output: `"done"`}}}, asks(tt.tool, slot), turntest.Answer{Text: "Sí."})
				b.run(t, 15*time.Second)
				if calls := toolbox.Calls(); len(calls) != 1 || (calls[0].Cause != nil) != tt.cancelled || tt.cancelled && !errors.Is(calls[0].Cause, turn.ErrSuperseded) {
					t.Fatalf("the app saw %+v", calls)
				}
				turntest.One[turn.ToolResulted](t, b.log)
				requests := model.Requests()
				if len(requests) != tt.requests {
					t.Fatalf("%d requests\n%s", len(requests), b.log)
				}
				want := []string{"user: " + same().Final, "assistant:  -> c1 " + tt.tool + slot, "tool: " + tt.result}
				if tt.words == more {
					want = append(want, "user: "+more)
				}
				if diff := cmp.Diff(want, said(requests[1])); diff != "" {
					t.Fatalf("the second request (-want +got):\n%s", diff)
				}
				for _, e := range b.log.Entries() {
					if a, ok := e.Event.(turn.TurnAgent); ok && e.At < seconds(tt.asked) {
						t.Fatalf("%+v was heard at %v", a, e.At)
					}
				}
				if n := len(turntest.All[turn.TurnUser](b.log)); n != len(turntest.All[turn.TurnRefused](b.log))+1 {
					t.Fatalf("%d turns of the caller have not one outcome each\n%s", n, b.log)
				}
			})
		})
	}
}

// The result of a tool that was late for one request stands in the one after it.
func TestALateResultIsReadByTheRequestAfterIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		caller := turntest.Speaks(same(),
			turntest.Utterance{From: seconds(4), To: seconds(4.8), Final: "y también aparcamiento"},
			turntest.Utterance{From: seconds(14), To: seconds(14.8), Final: "quedó reservado entonces"})
		b, model, toolbox := errandBench(t, caller, works{"book_slot": {{Took: 10 * time.Second, Output: `"done"`}}}, asks("book_slot", slot), turntest.Answer{Text: "Sí."}, turntest.Answer{Text: "Quedó."})
		b.cfg.Tools[0].Confirm = "Reservado."
		b.run(t, 18*time.Second)
		want := []string{
			"user: " + same().Final, "assistant:  -> c1 book_slot" + slot, `tool: "done"`,
			"user: y también aparcamiento", "assistant: Sí.", "user: quedó reservado entonces",
		}
		if diff := cmp.Diff(want, said(model.Requests()[2])); diff != "" {
			t.Fatalf("the third request (-want +got):\n%s\n%s", diff, b.log)
		}
		result := turntest.One[turn.ToolResulted](t, b.log)
		if result.SpeechID != "speech-1" || len(toolbox.Calls()) != 1 {
			t.Fatalf("result %+v of %+v", result, toolbox.Calls())
		}
	})
}

// A tool that comes back while the caller is saying something is not answered: that answer
// would be superseded.
func TestNoRequestIsMadeForWordsThatWillSupersedeIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, model, _ := errandBench(t, after("y también aparcamiento"), works{"find_slots": {{Took: 1600 * time.Millisecond, Output: `"done"`}}}, asks("find_slots", slot), turntest.Answer{Text: "Sí."})
		b.run(t, 12*time.Second) // back at 4.4 s, with words since 4.3 s
		want := []string{"user: " + same().Final, "assistant:  -> c1 find_slots" + slot, `tool: "done"`, "user: y también aparcamiento"}
		if diff := cmp.Diff(want, said(model.Requests()[1])); diff != "" {
			t.Fatalf("the second request (-want +got):\n%s\n%s", diff, b.log)
		}
	})
}

// While a tool that writes runs no answer is begun before its turn is committed, and
// metrics.turn says so; one that reads is over by then.
func TestNoDraftWhileAToolWrites(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, tool         string
		took               time.Duration
		preemptive, reason string
	}{
		{"one that writes", "book_slot", 3 * time.Second, "withheld", "book_slot, which writes, was running"},
		{"one that wrote", "book_slot", 2100 * time.Millisecond, "kept", ""}, // until 4.9 s, and the words are final at 4.95 s
		{"one that reads", "find_slots", 3 * time.Second, "kept", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b, model, _ := errandBench(t, after("y también aparcamiento"), works{tt.tool: {{Took: tt.took, Output: `"done"`}}}, asks(tt.tool, slot), turntest.Answer{Text: "Sí."})
				b.run(t, 12*time.Second)
				m := turntest.One[turn.MetricsTurn](t, b.log)
				if m.Preemptive != tt.preemptive || m.PreemptiveReason != tt.reason {
					t.Fatalf("metrics %+v\n%s", m, b.log)
				}
				if n := len(model.Requests()); n != 2 {
					t.Fatalf("%d requests", n)
				}
			})
		})
	}
}

// Words that come late belong to a turn whose tools only read, as to any that nothing was
// heard of; a turn in which a tool wrote stays as it is.
func TestLateWordsWhileAToolRuns(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		tool  string
		asked []string
	}{
		{"find_slots", []string{"user: " + same().Final + " y aparcamiento"}},
		{"book_slot", []string{"user: " + same().Final, "assistant:  -> c1 book_slot" + slot, `tool: "done"`, "user: y aparcamiento"}},
	} {
		t.Run(tt.tool, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				caller := turntest.Speaks(same()).Then(seconds(3), stt.Event{Kind: stt.Final, Text: "y aparcamiento"})
				b, model, toolbox := errandBench(t, caller, works{tt.tool: {{Took: time.Second, Output: `"done"`}}}, asks(tt.tool, slot), turntest.Answer{Text: "Sí."})
				b.run(t, 12*time.Second)
				if diff := cmp.Diff(tt.asked, said(model.Requests()[1])); diff != "" {
					t.Fatalf("the second request (-want +got):\n%s\n%s", diff, b.log)
				}
				if cause := toolbox.Calls()[0].Cause; (cause != nil) != (tt.tool == "find_slots") {
					t.Fatalf("cancelled for %v", cause)
				}
				turntest.One[turn.ToolResulted](t, b.log)
			})
		})
	}
}

// A call that ends while a tool runs has the tool's result in its log, and no more sound.
func TestTheCallEndsWhileAToolRuns(t *testing.T) {
	t.Parallel()
	const ended = "the call ended before the tool answered"
	for _, tt := range []struct {
		name, tool string
		change     func(*bench)
		end        turn.End
		wants      string // in the result
		last       float64
	}{
		{"the caller hangs up on one that reads", "find_slots", func(*bench) {}, turn.End{Reason: "caller_hung_up", By: "caller"}, ended, 6},
		{"the caller hangs up on one that writes", "book_slot", func(*bench) {}, turn.End{Reason: "caller_hung_up", By: "caller"}, ended + "; whether it was done is not known", 6},
		{"the ceiling comes", "book_slot", func(b *bench) { b.cfg.Timing.MaxDuration = 4 * time.Second }, turn.End{Reason: "timeout", By: "platform"}, ended, 4},
		{"it is dismissed", "find_slots", func(b *bench) {
			b.cfg.Clips.Goodbye = &turn.Clip{Text: "Adiós.", PCM: make([]int16, 8000), Rate: 16000}
			go func() {
				time.Sleep(4 * time.Second)
				b.messages <- turn.Dismissed{End: turn.End{Reason: "drained", By: "platform"}}
			}()
		}, turn.End{Reason: "drained", By: "platform"}, "not finished: call ended: drained", 4.52},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b, _, toolbox := errandBench(t, turntest.Speaks(same()), works{tt.tool: {{Took: time.Hour}}}, asks(tt.tool, slot))
				tt.change(b)
				b.run(t, 6*time.Second)
				if b.end != tt.end {
					t.Fatalf("ended with %+v\n%s", b.end, b.log)
				}
				if result := turntest.One[turn.ToolResulted](t, b.log); !strings.HasPrefix(result.Error, tt.wants) {
					t.Fatalf("result %+v", result)
				}
				if refused := turntest.One[turn.TurnRefused](t, b.log); refused.Outcome != "refused" {
					t.Fatalf("outcome %+v", refused)
				}
				if cause := toolbox.Calls()[0].Cause; !errors.As(cause, new(turn.End)) {
					t.Fatalf("the app's context ended with %v", cause)
				}
				for _, s := range b.sounds() {
					if s[1] > seconds(tt.last) {
						t.Fatalf("sound until %v", s[1])
					}
				}
				if b.abandoned != 0 {
					t.Fatalf("%d abandoned", b.abandoned)
				}
			})
		})
	}
}

// Nobody is away who waits for a tool.
func TestNobodyIsAwayWhileAToolRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, _, _ := errandBench(t, turntest.Speaks(same()), works{"book_slot": {{Took: 25 * time.Second, Output: "1"}}}, asks("book_slot", slot), turntest.Answer{Text: "Listo."})
		b.run(t, 40*time.Second)
		for _, e := range b.log.Entries() {
			switch ev := e.Event.(type) {
			case turn.UserState:
				if ev.State == "away" && e.At != turntest.When[turn.TurnAgent](t, b.log)+15*time.Second {
					t.Fatalf("away at %v\n%s", e.At, b.log)
				}
			case turn.AgentState:
				if ev.State != "thinking" && e.At > seconds(2.8) && e.At < seconds(27.8) {
					t.Fatalf("%s at %v, while a tool runs", ev.State, e.At)
				}
			}
		}
	})
}

// The call is ended by a tool that is called alone: with another, its result comes first.
func TestTheModelHangsUpAfterItsOtherTools(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		first := asks("book_slot", slot)
		first.Calls = append(first.Calls, llm.ToolCall{ID: "c2", Name: "end_call"})
		last := turntest.Answer{Text: "Adiós.", Calls: []llm.ToolCall{{ID: "c3", Name: "end_call"}}}
		b, _, _ := errandBench(t, turntest.Speaks(same()), works{"book_slot": {{Took: time.Second, Output: "1"}}}, first, last)
		b.cfg.Hangup = &turn.Hangup{}
		b.run(t, 12*time.Second)
		if b.end != (turn.End{Reason: "agent_hung_up", By: "agent"}) {
			t.Fatalf("ended with %+v\n%s", b.end, b.log)
		}
		results := turntest.All[turn.ToolResulted](b.log)
		if len(results) != 3 || !strings.Contains(results[0].Error, "alone") || results[2].Output == nil {
			t.Fatalf("results %+v", results)
		}
	})
}

func TestAToolboxThatPanicsEndsTheCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, _, _ := errandBench(t, turntest.Speaks(same()), works{"book_slot": {{Panic: true}}}, asks("book_slot", slot))
		b.run(t, 6*time.Second)
		if b.end != (turn.End{Reason: "error", By: "platform"}) {
			t.Fatalf("ended with %+v", b.end)
		}
		turntest.One[turn.ToolResulted](t, b.log)
	})
}

// What is said while a tool runs may fail: the tool's result is answered all the same.
func TestAnAnnouncementThatFailsCostsNothingElse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, _, _ := errandBench(t, turntest.Speaks(same()), works{"book_slot": {{Took: time.Second, Output: "1"}}}, asks("book_slot", slot), turntest.Answer{Text: "Listo."})
		b.cfg.Tools[0].Announce, b.voice.Fail = "Un momento.", map[int]error{0: errors.New("403")}
		b.run(t, 9*time.Second)
		if f := turntest.One[turn.Failure](t, b.log); f.Code != turn.CodeTTS {
			t.Fatalf("failure %+v", f)
		}
		if diff := cmp.Diff([]string{"call book_slot", "result book_slot after 1s", "reply: Listo."}, told(b.log)); diff != "" {
			t.Fatalf("told (-want +got):\n%s", diff)
		}
	})
}
