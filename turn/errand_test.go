package turn_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"headstart/turn"
	"headstart/turn/llm"
	"headstart/turn/turntest"
)

// finding is a tool that reads.
func finding() turn.Tool {
	return turn.Tool{
		Name: "find_slots", Description: "Finds slots.", SideEffect: turn.SideEffectRead,
		Parameters: json.RawMessage(`{"type":"object","properties":{"day":{"type":"string"}}}`),
	}
}

// asks is an answer that calls one tool.
func asks(name, arguments string) turntest.Answer {
	return turntest.Answer{Calls: []llm.ToolCall{{ID: "c1", Name: name, Arguments: json.RawMessage(arguments)}}, First: 20 * time.Millisecond}
}

// works are scripts of one tool each.
type works = map[string][]turntest.Work

const slot = `{"slot":"lunes 17:00"}`

// errandBench is a call of one question, committed at 2.8 s, to an agent with two tools.
func errandBench(t *testing.T, caller *turntest.Caller, w works, answers ...turntest.Answer) (*bench, *turntest.Model, *turntest.Toolbox) {
	model, toolbox := turntest.Answers(t, answers...), turntest.Works(t, w)
	b := newBench(t, caller, model)
	b.cfg.Bases, b.cfg.Tools, b.ports.Toolbox = nil, []turn.Tool{booking(), finding()}, toolbox
	return b, model, toolbox
}

// told is what a log tells of tools and of what the agent said, in order.
func told(l *turntest.Log) []string {
	var list []string
	for _, e := range l.Entries() {
		switch ev := e.Event.(type) {
		case turn.ToolCalled:
			list = append(list, "call "+ev.Name)
		case turn.ToolResulted:
			list = append(list, fmt.Sprintf("result %s after %gs", ev.Name, ev.DurationS))
		case turn.TurnAgent:
			list = append(list, ev.Kind+": "+ev.Text)
		case turn.TurnRefused:
			list = append(list, ev.Outcome)
		}
	}
	return list
}

// said are the words of a request's last messages, without the static prompt.
func said(req llm.Request) []string {
	var list []string
	for _, m := range req.Messages[1:] {
		var text strings.Builder
		text.WriteString(string(m.Role) + ": " + m.Content)
		for _, c := range m.ToolCalls {
			text.WriteString(" -> " + c.ID + " " + c.Name + string(c.Arguments))
		}
		list = append(list, text.String())
	}
	return list
}

func TestAToolIsRunAndItsResultAnswered(t *testing.T) {
	t.Parallel()
	question := "user: " + same().Final
	done := turntest.Work{Took: 400 * time.Millisecond, Output: `{"when":"el lunes a las cinco","with":{"name":"Vidal"}}`}
	call := " -> c1 book_slot" + slot
	for _, tt := range []struct {
		name   string
		change func(*turn.Tool)
		words  string // of the answer that calls
		told   []string
		asked  []string // of the second request
	}{
		{
			name: "in silence", change: func(*turn.Tool) {},
			told:  []string{"call book_slot", "result book_slot after 0.4s", "reply: Listo."},
			asked: []string{question, "assistant: " + call, "tool: " + done.Output},
		},
		{
			name: "announced", change: func(b *turn.Tool) { b.Announce = "Un momento." },
			told:  []string{"call book_slot", "announce: Un momento.", "result book_slot after 0.4s", "reply: Listo."},
			asked: []string{question, "assistant: Un momento." + call, "tool: " + done.Output},
		},
		{
			name: "announced by the model itself", change: func(b *turn.Tool) { b.Announce = "Un momento." }, words: "Lo miro.",
			told:  []string{"call book_slot", "announce: Lo miro.", "result book_slot after 0.4s", "reply: Listo."},
			asked: []string{question, "assistant: Lo miro." + call, "tool: " + done.Output},
		},
		{
			name: "with a receipt", change: func(b *turn.Tool) { b.Confirm = "{{slot}}: reservado {{ result.when }} con {{result.with.name}}." },
			told:  []string{"call book_slot", "result book_slot after 0.4s", "receipt: lunes 17:00: reservado el lunes a las cinco con Vidal.", "reply: Listo."},
			asked: []string{question, "assistant: " + call, `tool: {"output":` + done.Output + `,"said to the caller":"lunes 17:00: reservado el lunes a las cinco con Vidal."}`},
		},
		{
			name: "with a receipt that lacks a value", change: func(b *turn.Tool) { b.Confirm = "Reservado {{result.where}}." },
			told:  []string{"call book_slot", "result book_slot after 0.4s", "reply: Listo."},
			asked: []string{question, "assistant: " + call, "tool: " + done.Output},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				first := asks("book_slot", slot)
				first.Text = tt.words
				b, model, toolbox := errandBench(t, turntest.Speaks(same()), works{"book_slot": {done}}, first, turntest.Answer{Text: "Listo."})
				tt.change(&b.cfg.Tools[0])
				b.run(t, 9*time.Second)
				if diff := cmp.Diff(tt.told, told(b.log)); diff != "" {
					t.Fatalf("told (-want +got):\n%s\n%s", diff, b.log)
				}
				requests := model.Requests()
				if diff := cmp.Diff(tt.asked, said(requests[1])); diff != "" {
					t.Fatalf("the second request (-want +got):\n%s", diff)
				}
				if names := len(requests[0].Tools); names != 2 || len(requests) != 2 {
					t.Fatalf("%d tools are offered, %d requests made", names, len(requests))
				}
				if calls := toolbox.Calls(); len(calls) != 1 || calls[0].Arguments != slot {
					t.Fatalf("the app was asked %+v", calls)
				}
				m := turntest.One[turn.MetricsTurn](t, b.log)
				if sum := m.EndpointingMS + m.LookupWaitMS + m.ToolsMS + m.FirstTokenMS + m.FirstClauseMS + m.FirstByteMS + m.PlayoutMS; sum != m.FirstAudioMS {
					t.Fatalf("the stages of %+v add up to %v", m, sum)
				}
			})
		})
	}
}

func TestEachCallHasOneResult(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		call    turntest.Answer
		work    []turntest.Work // of book_slot
		wants   string          // in the error
		seconds float64         // until the result
	}{
		{"the app says why not", asks("book_slot", slot), []turntest.Work{{Took: time.Second, Error: "no slot is free"}}, "no slot is free", 1},
		{"the app has gone", asks("book_slot", slot), []turntest.Work{{Err: fmt.Errorf("the app has gone")}}, "could not be run: the app has gone", 0},
		{"the app does not answer", asks("book_slot", slot), []turntest.Work{{Took: time.Hour}}, "no result within 2s; whether it was done is not known", 2},
		{"the app is deaf", asks("book_slot", slot), []turntest.Work{{Took: 3 * time.Second, Deaf: true}}, "no result within 2s", 2},
		{"the app answers with no JSON", asks("book_slot", slot), []turntest.Work{{Output: "{"}}, "its output is no JSON", 0},
		{"the app answers at length", asks("book_slot", slot), []turntest.Work{{Output: `"` + strings.Repeat("x", 64<<10) + `"`}}, "65538 bytes", 0},
		{"the arguments are no object", asks("book_slot", `["lunes"]`), nil, "no JSON object", 0},
		{"the arguments are no JSON", asks("book_slot", `{"slot":`), nil, "no JSON object", 0},
		{"the arguments lack one", asks("book_slot", `{"phone":"600"}`), nil, "missing slot", 0},
		{"an argument is of another type", asks("book_slot", `{"slot":5}`), nil, "slot: is of type number, not string", 0},
		{"there are no arguments", asks("book_slot", ""), nil, "missing slot", 0},
		{"nobody has the tool", asks("book_table", slot), nil, "no tool is named book_table", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b, model, _ := errandBench(t, turntest.Speaks(same()), works{"book_slot": tt.work}, tt.call, turntest.Answer{Text: "No puede ser."})
				b.cfg.Tools[0].Timeout, b.cfg.Tools[0].Confirm = 2*time.Second, "Reservado."
				b.run(t, 9*time.Second)
				result := turntest.One[turn.ToolResulted](t, b.log)
				if !strings.Contains(result.Error, tt.wants) || result.Output != nil || result.DurationS != tt.seconds {
					t.Fatalf("result %+v, want %q after %vs", result, tt.wants, tt.seconds)
				}
				if got := told(b.log)[2:]; !cmp.Equal(got, []string{"reply: No puede ser."}) {
					t.Fatalf("the agent said %q", got)
				}
				read, _ := json.Marshal(map[string]string{"error": result.Error})
				if list := said(model.Requests()[1]); list[len(list)-1] != "tool: "+string(read) {
					t.Fatalf("the model reads %q", list)
				}
			})
		})
	}
}

// What a tool declares as personal stays out of the log, and out of the errors.
func TestPersonalArgumentsStayOutOfTheLog(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, arguments, shown, wants string }{
		{"they fit", `{"slot":"lunes","phone":"600123"}`, `{"phone":"***","slot":"lunes"}`, ""},
		{"they do not fit", `{"slot":"lunes","phone":600123}`, `{"phone":"***","slot":"lunes"}`, "phone: is of type number"},
		{"they are no object", `"600123"`, `"***"`, "no JSON object"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				work := works{"book_slot": {{Output: "true"}}}
				if tt.wants != "" {
					work = nil
				}
				b, _, toolbox := errandBench(t, turntest.Speaks(same()), work, asks("book_slot", tt.arguments), turntest.Answer{Text: "Listo."})
				b.run(t, 6*time.Second)
				shown, err := json.Marshal(turntest.One[turn.ToolCalled](t, b.log).Arguments)
				if err != nil || string(shown) != tt.shown {
					t.Fatalf("the log shows %s, %v; want %s", shown, err, tt.shown)
				}
				if strings.Contains(b.log.String(), "600123") || !strings.Contains(turntest.One[turn.ToolResulted](t, b.log).Error, tt.wants) {
					t.Fatalf("the log:\n%s", b.log)
				}
				if calls := toolbox.Calls(); tt.wants == "" && calls[0].Arguments != tt.arguments {
					t.Fatalf("the app was asked %+v", calls)
				}
			})
		})
	}
}

// Calls of one answer run side by side, and are answered in the model's order.
func TestCallsRunSideBySide(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		first := turntest.Answer{Calls: []llm.ToolCall{
			{ID: "0", Name: "book_slot", Arguments: json.RawMessage(slot)},
			{ID: "0", Name: "find_slots", Arguments: json.RawMessage(`{"day":"lunes"}`)},
			{ID: "", Name: "book_slot", Arguments: json.RawMessage(`{ "slot": "lunes 17:00" }`)}, // the same
		}}
		b, model, _ := errandBench(t, turntest.Speaks(same()), works{
			"book_slot":  {{Took: 900 * time.Millisecond, Output: "1"}},
			"find_slots": {{Took: 300 * time.Millisecond, Output: "2"}},
		}, first, turntest.Answer{Text: "Listo."})
		b.run(t, 6*time.Second)
		want := []string{"call book_slot", "call find_slots", "call book_slot", "result book_slot after 0s", "result find_slots after 0.3s", "result book_slot after 0.9s", "reply: Listo."}
		if diff := cmp.Diff(want, told(b.log)); diff != "" {
			t.Fatalf("told (-want +got):\n%s\n%s", diff, b.log)
		}
		results := model.Requests()[1].Messages[3:]
		var got []string
		for _, m := range results {
			got = append(got, m.ToolCallID+" "+m.Content)
		}
		if diff := cmp.Diff([]string{"0 1", "0-2 2", `-1 {"error":"the same call is still running: wait for its result"}`}, got); diff != "" {
			t.Fatalf("results (-want +got):\n%s", diff)
		}
	})
}

// A model that calls tools without end is offered none after five rounds.
func TestToolsAreOfferedForFiveRounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var answers []turntest.Answer
		for range 6 {
			answers = append(answers, asks("find_slots", "{}"))
		}
		b, model, toolbox := errandBench(t, turntest.Speaks(same()), works{"find_slots": make([]turntest.Work, 5)}, answers...)
		b.run(t, 9*time.Second)
		for i, r := range model.Requests() {
			if (len(r.Tools) > 0) != (i < 5) {
				t.Fatalf("request %d offers %d tools", i, len(r.Tools))
			}
		}
		if n := len(toolbox.Calls()); n != 5 {
			t.Fatalf("%d calls", n)
		}
		if refused := turntest.One[turn.TurnRefused](t, b.log); refused.Outcome != "refused" {
			t.Fatalf("outcome %+v", refused)
		}
		if n := len(turntest.All[turn.ToolResulted](b.log)); n != 6 {
			t.Fatalf("%d results", n)
		}
	})
}

// An answer begun before the commit runs no tool before it, and is asked for once.
func TestADraftCallsItsToolsAtTheCommit(t *testing.T) {
	t.Parallel()
	for _, words := range []string{"", "Lo miro."} {
		t.Run(words, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				first := asks("book_slot", slot)
				first.Text = words
				b, model, _ := errandBench(t, turntest.Speaks(same()), works{"book_slot": {{Took: 100 * time.Millisecond, Output: "1"}}}, first, turntest.Answer{Text: "Listo."})
				b.cfg.Tools[0].Announce = "Un momento."
				b.run(t, 6*time.Second)
				for _, e := range b.log.Entries() {
					if _, ok := e.Event.(turn.ToolCalled); ok && e.At != seconds(2.8) {
						t.Fatalf("called at %v, committed at 2.8 s\n%s", e.At, b.log)
					}
				}
				if m := turntest.One[turn.MetricsTurn](t, b.log); m.Preemptive != "kept" || m.FirstAudioMS > 330 {
					t.Fatalf("metrics %+v\n%s", m, b.log)
				}
				if n := len(model.Requests()); n != 2 {
					t.Fatalf("%d requests", n)
				}
			})
		})
	}
}
