package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"headstart/turn/llm"
	"headstart/turn/llm/openai"
	"headstart/turn/llm/openai/openaitest"
	"headstart/turn/provider"
)

// What turn.Model asks for; naming it here would make the test import the turn.
var _ interface {
	Reply(ctx context.Context, req llm.Request, emit func(text string)) (llm.Result, error)
} = (*openai.Model)(nil)

func model(t *testing.T, cfg openai.Config) *openai.Model {
	t.Helper()
	if cfg.Model == "" {
		cfg.Model = "fake-1"
	}
	if cfg.BaseURL == "" {
		cfg.BaseURL = "http://model.test/v1"
	}
	m, err := openai.New(cfg, zap.NewNop())
	if err != nil {
		t.Fatalf("new model: %v", err)
	}
	t.Cleanup(m.Close)
	return m
}

// heard asks and keeps what was emitted, and when.
type heard struct {
	pieces []string
	at     []time.Duration
	result llm.Result
	err    error
	took   time.Duration
}

func ask(ctx context.Context, m *openai.Model, req llm.Request) heard {
	var h heard
	start := time.Now()
	h.result, h.err = m.Reply(ctx, req, func(text string) {
		h.pieces = append(h.pieces, text)
		h.at = append(h.at, time.Since(start))
	})
	h.took = time.Since(start)
	return h
}

var hello = llm.Request{Messages: []llm.Message{{Role: llm.System, Content: "Be brief."}, {Role: llm.User, Content: "Hola"}}}

// scripted answers every request with one body.
func scripted(contentType, body string) http.RoundTripper {
	return openaitest.Transport(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, body)
	}))
}

func sse(chunks ...string) string {
	return "data: " + strings.Join(chunks, "\n\ndata: ") + "\n\n"
}

func TestAReplyIsStreamedAtTheServersPace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake := &openaitest.Server{}
		h := ask(t.Context(), model(t, openai.Config{Transport: openaitest.Transport(fake)}), hello)
		if h.err != nil {
			t.Fatalf("reply: %v", h.err)
		}
		if diff := cmp.Diff(openaitest.DefaultText, strings.Join(h.pieces, "")); diff != "" {
			t.Fatalf("text (-want +got):\n%s", diff)
		}
		if h.at[0] != 20*time.Millisecond || h.at[9] != 65*time.Millisecond {
			t.Fatalf("first token at %s, tenth at %s; want 20ms, 65ms", h.at[0], h.at[9])
		}
		body := len(fake.Bodies()[0]) / 4
		want := llm.Result{Finish: "stop", Model: "fake-1", Usage: llm.Usage{PromptTokens: body, PromptCachedTokens: body / 2, CompletionTokens: len(h.pieces)}}
		if diff := cmp.Diff(want, h.result); diff != "" {
			t.Fatalf("result (-want +got):\n%s", diff)
		}
	})
}

func TestDeadlines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault openaitest.Fault
		took  time.Duration
		says  string
	}{
		{openaitest.Mute, 5 * time.Second, "ask model: wait for response headers: timed out after 5s"},
		{openaitest.Hang, 5 * time.Second, "read answer: wait for first token: timed out after 5s"},
		{openaitest.Stall, 5*time.Second + 40*time.Millisecond, "read answer: wait for next token: timed out after 5s"},
	} {
		t.Run(string(c.fault), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				fake := &openaitest.Server{}
				fake.Fail(openaitest.Faults{Fault: c.fault})
				h := ask(t.Context(), model(t, openai.Config{Transport: openaitest.Transport(fake)}), hello)
				if h.err == nil || h.err.Error() != c.says {
					t.Fatalf("error %v, want %q", h.err, c.says)
				}
				if !errors.Is(h.err, context.DeadlineExceeded) || !retryable(h.err) {
					t.Fatalf("%v should be a retryable deadline", h.err)
				}
				if h.took != c.took {
					t.Fatalf("took %s, want %s", h.took, c.took)
				}
			})
		})
	}
}

// A server that sends chunks which say nothing keeps nobody waiting for longer.
func TestEmptyChunksBuyNoTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		transport := openaitest.Transport(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, sse(`{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}`))
				time.Sleep(time.Second)
			}
		}))
		h := ask(t.Context(), model(t, openai.Config{Transport: transport}), hello)
		time.Sleep(time.Second) // for the handler to see that it is alone
		if !errors.Is(h.err, context.DeadlineExceeded) || h.took != 5*time.Second {
			t.Fatalf("got %v after %s, want a deadline after 5s", h.err, h.took)
		}
	})
}

func TestASlowListenerIsNotTheServersFault(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := model(t, openai.Config{Transport: openaitest.Transport(&openaitest.Server{})})
		_, err := m.Reply(t.Context(), hello, func(string) { time.Sleep(7 * time.Second) })
		if err != nil {
			t.Fatalf("reply: %v", err)
		}
	})
}

func TestACancelledReplyReturnsItsCause(t *testing.T) {
	t.Parallel()
	cause := errors.New("barge-in")
	for _, after := range []time.Duration{10 * time.Millisecond, 30 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(after, func() { cancel(cause) })
			h := ask(ctx, model(t, openai.Config{Transport: openaitest.Transport(&openaitest.Server{})}), hello)
			if h.err != cause || h.took != after {
				t.Fatalf("got %v after %s, want the cause after %s", h.err, h.took, after)
			}
		})
	}
}

func retryable(err error) bool {
	r, ok := errors.AsType[interface {
		error
		Retryable() bool
	}](err)
	return ok && r.Retryable()
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for status, again := range map[int]bool{400: false, 401: false, 404: false, 408: true, 409: true, 422: false, 429: true, 500: true, 503: true} {
		synctest.Test(t, func(t *testing.T) {
			fake := &openaitest.Server{}
			fake.Fail(openaitest.Faults{Fault: openaitest.Failing, Status: status})
			h := ask(t.Context(), model(t, openai.Config{Transport: openaitest.Transport(fake)}), hello)
			e, ok := errors.AsType[*provider.Error](h.err)
			if !ok || e.Status != status || e.Retryable() != again {
				t.Fatalf("status %d gave %v, want retryable %v", status, h.err, again)
			}
			if fake.Requests() != 1 {
				t.Fatalf("status %d was asked %d times, want once", status, fake.Requests())
			}
		})
	}
}

func TestARefusalInPlainTextKeepsItsStatus(t *testing.T) {
	t.Parallel()
	transport := openaitest.Transport(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "<html>upstream is away", http.StatusBadGateway)
	}))
	h := ask(t.Context(), model(t, openai.Config{Transport: transport}), hello)
	if e, ok := errors.AsType[*provider.Error](h.err); !ok || e.Status != 502 || !e.Retryable() {
		t.Fatalf("got %v, want a retryable 502", h.err)
	}
}

func TestFaultsOfTheFakeAreErrors(t *testing.T) {
	t.Parallel()
	for _, fault := range []openaitest.Fault{openaitest.Refuse, openaitest.Drop, openaitest.Empty, openaitest.Garbage} {
		synctest.Test(t, func(t *testing.T) {
			fake := &openaitest.Server{}
			fake.Fail(openaitest.Faults{Fault: fault, Times: 1})
			m := model(t, openai.Config{Transport: openaitest.Transport(fake)})
			if h := ask(t.Context(), m, hello); !retryable(h.err) {
				t.Fatalf("%s gave %v, want an error worth a retry", fault, h.err)
			}
			if h := ask(t.Context(), m, hello); h.err != nil {
				t.Fatalf("after one %s: %v", fault, h.err)
			}
		})
	}
}

// A server that told its finish and then nothing has answered: the last clause
// waits half a second for the usage, not five.
func TestAFinishWithoutATrailerIsWhole(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		transport := openaitest.Transport(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, sse(`{"choices":[{"index":0,"delta":{"content":"Hola"},"finish_reason":"stop"}]}`))
			<-r.Context().Done()
		}))
		h := ask(t.Context(), model(t, openai.Config{Transport: transport}), hello)
		if h.err != nil || h.took != 500*time.Millisecond {
			t.Fatalf("got %v after %s, want an answer after 500ms", h.err, h.took)
		}
	})
}

func TestTheRequestOnTheWire(t *testing.T) {
	t.Parallel()
	temperature := 0.0
	synctest.Test(t, func(t *testing.T) {
		fake := &openaitest.Server{}
		m := model(t, openai.Config{
			Transport: openaitest.Transport(fake), Temperature: &temperature,
			Options: map[string]any{"max_completion_tokens": 300, "vendor.field": "x"},
		})
		h := ask(t.Context(), m, llm.Request{
			Messages: []llm.Message{
				{Role: llm.System, Content: "Be brief."},
				{Role: llm.User, Content: "¿Abren hoy?"},
				{Role: llm.Assistant, ToolCalls: []llm.ToolCall{{ID: "s1", Name: "search"}}},
				{Role: llm.ToolRole, ToolCallID: "s1", Content: `{"chunks":[]}`},
			},
			Tools: []llm.Tool{{Name: "search", Description: "Looks up.", Parameters: json.RawMessage(`{"type":"object"}`)}},
		})
		if h.err != nil {
			t.Fatalf("reply: %v", h.err)
		}
		var got any
		if err := json.Unmarshal(fake.Bodies()[0], &got); err != nil {
			t.Fatalf("body: %v", err)
		}
		want := map[string]any{
			"model": "fake-1", "stream": true, "stream_options": map[string]any{"include_usage": true},
			"temperature": 0.0, "max_completion_tokens": 300.0, "vendor.field": "x",
			"messages": []any{
				map[string]any{"role": "system", "content": "Be brief."},
				map[string]any{"role": "user", "content": "¿Abren hoy?"},
				map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{"id": "s1", "type": "function", "function": map[string]any{"name": "search", "arguments": "{}"}}}},
				map[string]any{"role": "tool", "tool_call_id": "s1", "content": `{"chunks":[]}`},
			},
			"tools": []any{map[string]any{"type": "function", "function": map[string]any{"name": "search", "description": "Looks up.", "parameters": map[string]any{"type": "object"}}}},
		}
		if diff := cmp.Diff(any(want), got); diff != "" {
			t.Fatalf("body (-want +got):\n%s", diff)
		}
	})
}

// Every turn on a new connection would cost the caller a handshake.
func TestAConnectionServesManyTurns(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(&openaitest.Server{First: -1, Each: -1})
	var connections atomic.Int32
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	m := model(t, openai.Config{BaseURL: server.URL + "/v1", Key: "k"})
	for range 5 {
		if h := ask(t.Context(), m, hello); h.err != nil {
			t.Fatalf("reply: %v", h.err)
		}
	}
	m.Close()
	if n := connections.Load(); n != 1 {
		t.Fatalf("%d connections for 5 turns, want 1", n)
	}
}

func TestAClosedPortIsRetryable(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	if h := ask(t.Context(), model(t, openai.Config{BaseURL: server.URL}), hello); !retryable(h.err) {
		t.Fatalf("got %v, want a retryable error", h.err)
	}
}

func TestConfigComplaints(t *testing.T) {
	t.Parallel()
	hot := 3.0
	err := openai.Config{BaseURL: "ftp://x", Temperature: &hot, First: -1}.Validate()
	want := "model is empty\nbase url \"ftp://x\" is no http url\ntemperature 3 is not in 0 to 2\na deadline is negative"
	if err == nil || err.Error() != want {
		t.Fatalf("got %v, want %s", err, want)
	}
}

func FuzzReplyEndsWhateverTheServerSends(f *testing.F) {
	f.Add(sse(`{"choices":[{"index":0,"delta":{"content":"Hola"},"finish_reason":"stop"}]}`, "[DONE]"))
	f.Add(sse(`{"choices":[{"delta":{"tool_calls":[{"index":-1,"function":null}]}}]}`, `{"error":null}`))
	f.Add("event: x\ndata: [\n\n:\n\ndata:")
	f.Fuzz(func(t *testing.T, body string) {
		h := ask(t.Context(), model(t, openai.Config{Transport: scripted("text/event-stream", body)}), hello)
		if h.err == nil && len(h.pieces) == 0 && len(h.result.ToolCalls) == 0 {
			t.Fatal("an empty answer passed for one")
		}
	})
}

func BenchmarkReply(b *testing.B) {
	chunk := `{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":" hola"},"finish_reason":null}],"usage":null}`
	var chunks []string
	for range 50 {
		chunks = append(chunks, chunk)
	}
	chunks = append(chunks, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, "[DONE]")
	m, err := openai.New(openai.Config{BaseURL: "http://model.test/v1", Model: "m", Transport: scripted("text/event-stream", sse(chunks...))}, zap.NewNop())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Reply(b.Context(), hello, func(string) {}); err != nil {
			b.Fatal(err)
		}
	}
}
