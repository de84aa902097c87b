package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"headstart/turn"
	"headstart/turn/llm"
	"headstart/turn/stt/line/linetest"
	"headstart/worker/app"
	"headstart/worker/calllog"
	"headstart/worker/calllog/calllogtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const agent = "clinica"

// bookTool is what the app of these tests declares.
const bookTool = `{"name": "book_slot", "description": "Books a slot.", "side_effect": "write", "pii": ["phone"], "timeout_s": 5,
	"parameters": {"type": "object", "properties": {"when": {"type": "string"}, "phone": {"type": "string"}}, "required": ["when"]}}`

// office is where apps come: holders on a book of logs.
type office struct {
	t       *testing.T
	store   *calllogtest.Store
	book    *calllog.Book
	holders *app.Holders
	client  *http.Client
	close   context.CancelFunc // as the process ends
}

func newOffice(t *testing.T) *office {
	t.Helper()
	o := &office{t: t, store: &calllogtest.Store{}}
	var err error
	if o.book, err = calllog.Open(calllog.Config{Dir: t.TempDir()}, o.store, zap.NewNop()); err != nil {
		t.Fatalf("open book: %v", err)
	}
	t.Cleanup(func() {
		if err := o.book.Close(); err != nil {
			t.Errorf("close book: %v", err)
		}
	})
	o.holders = app.New(app.Config{Agents: []string{agent, "other"}}, o.book, zap.NewNop())
	process, end := context.WithCancel(t.Context())
	o.close = end
	o.client = linetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.holders.ServeHTTP(w, r.WithContext(process))
	}))
	return o
}

// ring begins a call of the agent, and its log.
func (o *office) ring(call string) (*calllog.Log, *app.Held) {
	o.t.Helper()
	log, err := o.book.Begin(call, agent)
	if err != nil {
		o.t.Fatalf("begin log: %v", err)
	}
	return log, o.holders.Hold(agent, call)
}

// business is an app's own process.
type business struct {
	t    *testing.T
	conn *websocket.Conn
}

func (o *office) connect(change ...func(*websocket.DialOptions)) *business {
	o.t.Helper()
	options := &websocket.DialOptions{HTTPClient: o.client}
	for _, c := range change {
		c(options)
	}
	conn, _, err := websocket.Dial(o.t.Context(), "ws://app.test/v1/app", options)
	if err != nil {
		o.t.Fatalf("connect: %v", err)
	}
	b := &business{o.t, conn}
	o.t.Cleanup(b.die)
	return b
}

// holding connects an app that holds the agent with its tool.
func (o *office) holding() *business {
	o.t.Helper()
	b := o.connect()
	b.send(`{"type": "agent.configure", "agent": "clinica", "call": null, "id": "c1", "data": {"tools": [` + bookTool + `]}}`)
	b.expect("agent.configured", `{"id": "c1", "by": "app", "tools": ["book_slot"]}`)
	return b
}

// die is the end of the app's process: no close frame.
func (b *business) die() { _ = b.conn.CloseNow() }

func (b *business) send(text string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
	defer cancel()
	if err := b.conn.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
		b.t.Fatalf("send: %v", err)
	}
}

// next is the next frame.
func (b *business) next() turn.Entry {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
	defer cancel()
	_, text, err := b.conn.Read(ctx)
	if err != nil {
		b.t.Fatalf("read frame: %v", err)
	}
	var e turn.Entry
	if err := json.Unmarshal(text, &e); err != nil {
		b.t.Fatalf("read frame %s: %v", text, err)
	}
	return e
}

// over is the code with which the worker closed the socket.
func (b *business) over() websocket.StatusCode {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
	defer cancel()
	for {
		if _, _, err := b.conn.Read(ctx); err != nil {
			return websocket.CloseStatus(err)
		}
	}
}

// expect reads the next frame, and holds it to its type and data.
func (b *business) expect(kind, data string) turn.Entry {
	b.t.Helper()
	e := b.next()
	equal(b.t, "type of "+string(e.Data), kind, e.Type)
	if data != "" {
		equal(b.t, "data of "+kind, plain(b.t, data), plain(b.t, string(e.Data)))
	}
	return e
}

// refused reads the next frame, which is an error of the command with that id.
func (b *business) refused(id, code string, says ...string) {
	b.t.Helper()
	var why app.Refused
	if e := b.expect("error", ""); json.Unmarshal(e.Data, &why) != nil || e.Seq != 0 || !e.Ephemeral {
		b.t.Fatalf("error %+v", e)
	}
	equal(b.t, "refusal", [2]string{id, code}, [2]string{why.ID, why.Code})
	for _, words := range says {
		if !strings.Contains(why.Message, words) {
			b.t.Fatalf("the refusal does not say %q: %s", words, why.Message)
		}
	}
}

func plain(t *testing.T, text string) (value any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("read %q: %v", text, err)
	}
	return value
}

func equal[V any](t *testing.T, what string, want, got V) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

// asked is a tool call that is on.
type asked struct {
	output turn.ToolOutput
	err    error
}

// ask has the call ask its app, as the conversation does: the log has it first,
// with *** in place of what is personal.
func ask(ctx context.Context, log *calllog.Log, held *app.Held, id string) <-chan asked {
	log.Append(turn.ToolCalled{CallID: id, Name: "book_slot", Arguments: map[string]string{"when": "lunes", "phone": "***"}})
	done := make(chan asked, 1)
	go func() {
		output, err := held.Call(ctx, llm.ToolCall{ID: id, Name: "book_slot", Arguments: json.RawMessage(`{"when": "lunes", "phone": "600123456"}`)})
		done <- asked{output, err}
	}()
	return done
}

// result is the command that answers a tool call.
func result(call, id, rest string) string {
	return fmt.Sprintf(`{"type": "tool.result", "agent": "clinica", "call": %q, "id": "r-%s", "data": {"call_id": %q, "name": "book_slot", %s}}`, call, id, id, rest)
}

// toolCall is one that is asked without a word in the log.
func toolCall(id string) llm.ToolCall {
	return llm.ToolCall{ID: id, Name: "book_slot", Arguments: json.RawMessage(`{}`)}
}
