package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"headstart/turn"
	"headstart/worker/app"
)

// A call that begins while its agent is held: the app reads its log in the order
// of seq, the tool's arguments as the model wrote them, and answers.
func TestAHeldCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		b := o.holding()
		log, held := o.ring("call-1")
		equal(t, "tools", []turn.Tool{{
			Name: "book_slot", Description: "Books a slot.", SideEffect: turn.SideEffectWrite, PII: []string{"phone"}, Timeout: 5 * time.Second,
			Parameters: json.RawMessage(`{"type": "object", "properties": {"when": {"type": "string"}, "phone": {"type": "string"}}, "required": ["when"]}`),
		}}, held.Tools())
		log.Append(turn.CallStarted{Room: "r"})
		log.Append(turn.VAD{Speaking: true}) // ephemeral
		began := time.Now()
		done := ask(t.Context(), log, held, "t1")
		equal(t, "started", int64(1), b.expect("call.started", "").Seq)
		called := b.expect("tool.call", `{"speech_id": "", "call_id": "t1", "name": "book_slot", "arguments": {"when": "lunes", "phone": "600123456"}}`)
		equal(t, "place", [2]any{int64(3), "call-1"}, [2]any{called.Seq, called.Call})
		b.send(result("call-1", "t1", `"output": {"when": "el lunes a las diez"}, "summary": "lunes", "duration_s": 0.2`))
		got := <-done
		equal(t, "output", turn.ToolOutput{Output: json.RawMessage(`{"when": "el lunes a las diez"}`), Summary: "lunes"}, got.output)
		if got.err != nil || time.Since(began) != 0 {
			t.Fatalf("answered after %v: %v", time.Since(began), got.err)
		}
		failed := ask(t.Context(), log, held, "t2")
		b.expect("tool.call", "")
		b.send(result("call-1", "t2", `"error": "no hay hueco"`))
		equal(t, "error", turn.ToolOutput{Error: "no hay hueco"}, (<-failed).output)
		log.Append(turn.CallEnded{Reason: "caller_hung_up"})
		held.End()
		log.Seal()
		b.expect("call.ended", "")
		b.expect("call.summary", "")
		b.die()
		synctest.Wait()
		select {
		case <-held.Gone():
			t.Fatal("a call that was over lost its app")
		default:
		}
	})
}

// A call that the log tells of and that is never asked, for its arguments did not
// fit, is none for the app; the rest of the log is.
func TestAToolCallThatIsNotAskedIsNotShown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		b := o.holding()
		log, held := o.ring("call-1")
		log.Append(turn.ToolCalled{CallID: "t1", Name: "book_slot", Arguments: map[string]string{}})
		log.Append(turn.DTMF{Digit: "1"})
		synctest.Wait()
		log.Append(turn.ToolResulted{CallID: "t1", Name: "book_slot", Error: "the arguments do not fit"})
		equal(t, "key", int64(2), b.expect("dtmf", "").Seq)
		b.expect("tool.result", "")
		log.Append(turn.ToolCalled{CallID: "t2", Name: "end_call", Arguments: map[string]string{}}) // the platform's own
		b.expect("tool.call", "")
		log.Append(turn.ToolCalled{CallID: "t3", Name: "book_slot", Arguments: map[string]string{}})
		log.Append(turn.CallEnded{Reason: "caller_hung_up"}) // before it was asked
		held.End()
		log.Seal()
		b.expect("call.ended", "")
		b.expect("call.summary", "")
	})
}

func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	command := func(kind, data string) string {
		return fmt.Sprintf(`{"type": %q, "agent": "clinica", "call": "call-1", "id": "x", "data": %s}`, kind, data)
	}
	tool := func(change ...string) string {
		return command("agent.configure", `{"tools": [`+strings.NewReplacer(change...).Replace(bookTool)+`]}`)
	}
	for _, tt := range []struct {
		name, frame, id, code string
		says                  []string
	}{
		{"no JSON", `{"type":`, "", app.CodeFrame, nil},
		{"no object", `[]`, "", app.CodeFrame, nil},
		{"an unknown command", command("call.dial", `{}`), "x", app.CodeUnknown, []string{"call.dial", "agent.configure"}},
		{"an agent that is not here", strings.ReplaceAll(command("agent.configure", `{}`), "clinica", "nobody"), "x", app.CodeAgent, []string{"nobody"}},
		{"fields that the agent file sets", command("agent.configure", `{"voice": {}, "tools": [], "language": "es"}`), "x", app.CodeData, []string{"voice", "language"}},
		{"tools that are no list", command("agent.configure", `{"tools": {}}`), "x", app.CodeData, []string{"tools"}},
		{"a configuration that is no object", command("agent.configure", `7`), "x", app.CodeData, nil},
		{"a field that no tool has", tool(`"side_effect"`, `"sideeffect"`), "x", app.CodeData, []string{"sideeffect", "tools[0]"}},
		{"a tool of the platform", tool("book_slot", "search"), "x", app.CodeData, []string{"search"}},
		{"no name", tool("book_slot", "book slot"), "x", app.CodeData, []string{"book slot"}},
		{"no description", tool("Books a slot.", ""), "x", app.CodeData, []string{"description"}},
		{"no timeout", tool(`"timeout_s": 5`, `"timeout_s": 0`), "x", app.CodeData, []string{"timeout_s"}},
		{"a timeout too long", tool(`"timeout_s": 5`, `"timeout_s": 301`), "x", app.CodeData, []string{"timeout"}},
		{"a side effect that is none", tool(`"write"`, `"maybe"`), "x", app.CodeData, []string{"maybe"}},
		{"two of a name", command("agent.configure", `{"tools": [`+bookTool+`,`+bookTool+`]}`), "x", app.CodeData, []string{"two tools", "tools[1]"}},
		{"parameters that are no schema", tool(`{"type": "object"`, `{"type": "array"`), "x", app.CodeData, []string{"object"}},
		{"a result of no call", result("call-1", "t1", `"output": 1`), "r-t1", app.CodeNoCall, []string{"t1", "call-1"}},
		{"a result without any", result("call-1", "t1", `"summary": "x"`), "r-t1", app.CodeData, []string{"one of the two"}},
		{"a result with both", result("call-1", "t1", `"output": 1, "error": "x"`), "r-t1", app.CodeData, []string{"one of the two"}},
		{"a result of 64 KiB and more", result("call-1", "t1", `"output": "`+strings.Repeat("x", 64<<10)+`"`), "r-t1", app.CodeData, []string{"65536"}},
		{"a result without its call", command("tool.result", `{"name": "book_slot", "output": 1}`), "x", app.CodeData, []string{"call_id"}},
		{"tools of no call", command("tools.set", `{"tools": []}`), "x", app.CodeCall, []string{"call-1"}},
		{"no tools to be seen", command("tools.set", `{}`), "x", app.CodeData, []string{"tools"}},
		{"a release of what is not held", command("agent.release", `{}`), "x", app.CodeNotHeld, []string{"clinica"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := newOffice(t)
				b := o.connect()
				b.send(tt.frame)
				b.refused(tt.id, tt.code, tt.says...)
				b.send(`{"type": "ping", "agent": "clinica", "call": null, "id": "p"}`)
				b.expect("pong", `{"id": "p"}`)
				if _, held := o.ring("call-1"); held != nil {
					t.Fatal("a command that was refused holds the agent")
				}
			})
		})
	}
}

// A result must be of the call, the agent, the tool and the time that it says.
func TestAResultIsOfItsCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		b := o.holding()
		b.send(`{"type": "agent.configure", "agent": "other", "call": null, "id": "c2", "data": {}}`)
		b.expect("agent.configured", `{"id": "c2", "by": "app", "tools": []}`)
		log, held := o.ring("call-1")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Second, errors.New("no result within 5s"))
		defer cancel()
		done := ask(ctx, log, held, "t1")
		b.expect("tool.call", "")
		b.send(result("call-2", "t1", `"output": 1`))
		b.refused("r-t1", app.CodeNoCall)
		b.send(strings.Replace(result("call-1", "t1", `"output": 1`), "clinica", "other", 1))
		b.refused("r-t1", app.CodeNoCall)
		b.send(strings.Replace(result("call-1", "t1", `"output": 1`), "book_slot", "find_slot", 1))
		b.refused("r-t1", app.CodeNoCall, "book_slot", "find_slot")
		if _, err := held.Call(t.Context(), toolCall("t1")); err == nil {
			t.Fatal("two tool calls of one id")
		}
		if got := <-done; got.err == nil || !strings.Contains(got.err.Error(), "no result within 5s") {
			t.Fatalf("a tool that is late: %+v", got)
		}
		b.send(result("call-1", "t1", `"output": 1`))
		b.refused("r-t1", app.CodeNoCall)
		again := ask(t.Context(), log, held, "t2")
		b.expect("tool.call", "")
		b.send(result("call-1", "t2", `"output": null`))
		equal(t, "nothing came back", turn.ToolOutput{Output: json.RawMessage("null")}, (<-again).output)
		b.send(result("call-1", "t2", `"output": 1`)) // twice
		b.refused("r-t2", app.CodeNoCall)
		held.End()
	})
}

// What is declared anew is for the next call; a field that is left out stays, and
// null takes it away.
func TestConfigureAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		b := o.holding()
		_, before := o.ring("call-1")
		for i, tt := range []struct {
			data string
			want int
		}{{`{}`, 1}, {`{"tools": null}`, 0}, {`{}`, 0}, {`{"tools": [` + bookTool + `]}`, 1}} {
			b.send(`{"type": "agent.configure", "agent": "clinica", "call": null, "data": ` + tt.data + `}`)
			b.expect("agent.configured", "")
			_, held := o.ring(fmt.Sprintf("call-%d", i+2))
			equal(t, "tools after "+tt.data, tt.want, len(held.Tools()))
		}
		equal(t, "tools of the call before", 1, len(before.Tools()))
		synctest.Wait()
		page, err := o.book.Read(t.Context(), "@clinica", 0, 10)
		if err != nil || len(page.Entries) != 5 || page.Entries[0].Type != "agent.configured" {
			t.Fatalf("the agent's own log: %+v, %v", page, err)
		}
	})
}

// What the model may call is said call by call; the newest word counts.
func TestToolsSet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		b := o.holding()
		_, held := o.ring("call-1")
		set := func(names string) string {
			return `{"type": "tools.set", "agent": "clinica", "call": "call-1", "id": "s", "data": {"tools": ` + names + `}}`
		}
		b.send(set(`[]`))
		b.send(set(`["book_slot"]`))
		synctest.Wait()
		equal(t, "offered", []string{"book_slot"}, <-held.Offered())
		b.send(set(`["find_slot"]`))
		b.refused("s", app.CodeData, "find_slot")
		b.send(`{"type": "agent.release", "agent": "clinica", "call": null, "id": "r"}`)
		b.expect("agent.released", "")
		equal(t, "offered after the release", []string{}, <-held.Offered())
		b.send(set(`[]`))
		b.refused("s", app.CodeCall)
		held.End()
	})
}

// The app dies in the middle of a call: what it was asked fails in words, and the
// call is told.
func TestTheAppDiesInMidCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		b := o.holding()
		log, held := o.ring("call-1")
		done := ask(t.Context(), log, held, "t1")
		b.expect("tool.call", "")
		b.die()
		<-held.Gone()
		if got := <-done; got.err == nil || !strings.Contains(got.err.Error(), "gone away") {
			t.Fatalf("the tool call: %+v", got)
		}
		if _, err := held.Call(t.Context(), toolCall("t2")); err == nil {
			t.Fatal("an app that is gone was asked")
		}
		if _, later := o.ring("call-2"); later != nil {
			t.Fatal("an app that is gone holds a call")
		}
		held.End()
		held.End()
	})
}

// The app lets go in peace: what it was asked it answers, what it was not is
// refused in words, the call goes on and does not notice that it closes.
func TestTheAppReleases(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		b := o.holding()
		log, held := o.ring("call-1")
		done := ask(t.Context(), log, held, "t1")
		b.expect("tool.call", "")
		b.send(`{"type": "agent.release", "agent": "clinica", "call": null, "id": "r"}`)
		b.expect("agent.released", `{"id": "r"}`)
		if _, err := held.Call(t.Context(), toolCall("t2")); err == nil || !strings.Contains(err.Error(), "let go") {
			t.Fatalf("asked after the release: %v", err)
		}
		b.send(result("call-1", "t1", `"output": 1`))
		equal(t, "output", "1", string((<-done).output.Output))
		if _, later := o.ring("call-2"); later != nil {
			t.Fatal("an agent that was released is held")
		}
		log.Append(turn.DTMF{Digit: "1"}) // it is told no more
		equal(t, "close", nil, b.conn.Close(websocket.StatusNormalClosure, ""))
		synctest.Wait()
		select {
		case <-held.Gone():
			t.Fatal("a call that was released lost its app")
		default:
		}
		held.End()
	})
}

// Apps that hang are closed, each in its time, and their calls are told; nobody
// waits for them.
func TestAnAppThatHangs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		hang func(*office) (closedAfter time.Duration)
	}{
		{"it answers no ping", func(o *office) time.Duration {
			b := o.connect(func(d *websocket.DialOptions) {
				d.OnPingReceived = func(context.Context, []byte) bool { return false }
			})
			b.send(`{"type": "agent.configure", "agent": "clinica", "call": null, "data": {}}`)
			b.expect("agent.configured", "")
			go func() { b.over() }()
			return 25 * time.Second // the first ping comes after 15
		}},
		{"it reads nothing", func(o *office) time.Duration {
			b := o.connect()
			b.send(`{"type": "agent.configure", "agent": "clinica", "call": null, "data": {}}`)
			b.expect("agent.configured", "")
			return 5 * time.Second
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := newOffice(t)
				want := tt.hang(o)
				began := time.Now()
				log, held := o.ring("call-1")
				for range 500 { // many more than a socket queues
					log.Append(turn.DTMF{Digit: "1"})
				}
				equal(t, "what the call waited", 0, time.Since(began))
				<-held.Gone()
				equal(t, "closed after", want, time.Since(began))
				held.End()
			})
		})
	}
}

// The process ends: the app is told, whether it answers or not.
func TestTheProcessEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		b, deaf := o.holding(), o.connect()
		synctest.Wait()
		began := time.Now()
		o.close()
		equal(t, "code", websocket.StatusGoingAway, b.over())
		equal(t, "told after", 0, time.Since(began))
		time.Sleep(time.Second) // and who reads nothing is cut
		synctest.Wait()
		equal(t, "code of who came back too late", -1, deaf.over())
	})
}

func TestAFrameTooLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		b := o.holding()
		_, held := o.ring("call-1")
		go func() { _ = b.conn.Write(t.Context(), websocket.MessageText, make([]byte, 1<<20+1)) }()
		equal(t, "code", websocket.StatusMessageTooBig, b.over())
		<-held.Gone()
		held.End()
	})
}

// A thousand frames of nonsense, between them a call that is answered as ever.
func TestAThousandFramesOfNonsense(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		b := o.holding()
		log, held := o.ring("call-1")
		random := rand.New(rand.NewPCG(7, 11))
		for n := range 1000 {
			kind, frame := nonsense(random)
			if err := b.conn.Write(t.Context(), kind, frame); err != nil {
				t.Fatalf("frame %d: %v", n, err)
			}
			if e := b.next(); e.Type != "error" {
				t.Fatalf("frame %d, %q, led to %s %s", n, frame, e.Type, e.Data)
			}
		}
		done := ask(t.Context(), log, held, "t1")
		b.expect("tool.call", "")
		b.send(result("call-1", "t1", `"output": 1`))
		equal(t, "output", "1", string((<-done).output.Output))
		held.End()
	})
}

// nonsense is a frame that is no command, or one of the commands with a part of it
// broken.
func nonsense(random *rand.Rand) (websocket.MessageType, []byte) {
	commands := []string{
		`{"type": "agent.configure", "agent": "clinica", "call": null, "id": "x", "data": {"tools": [` + bookTool + `]}}`,
		result("call-1", "t1", `"output": {"a": [1, 2, 3]}`), `{"type": "agent.release", "agent": "nobody", "id": "x"}`,
		`{"type": "prompt.set", "agent": "clinica", "id": "x", "data": {}}`, `{}`, `null`, `"\ud800"`, strings.Repeat("[", 20000),
	}
	frame := []byte(commands[random.IntN(len(commands))])
	if random.IntN(8) == 0 {
		return websocket.MessageBinary, frame
	}
	return websocket.MessageText, frame[:random.IntN(len(frame))] // what is cut short is never whole
}
