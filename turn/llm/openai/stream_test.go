package openai_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headstart/turn/llm"
	"headstart/turn/llm/openai"
)

func TestBrokenStreams(t *testing.T) {
	t.Parallel()
	word := `{"choices":[{"index":0,"delta":{"content":"Hola"}}]}`
	stop := `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	for name, c := range map[string]struct {
		body  string
		is    error
		again bool
	}{
		"cut":             {sse(word), openai.ErrCut, true},
		"empty":           {sse(stop, "[DONE]"), openai.ErrEmpty, true},
		"nothing":         {"", openai.ErrEmpty, true},
		"html":            {"<html>\n\n<body>", openai.ErrEmpty, true},
		"not json":        {sse(word, "{nope"), nil, true},
		"a list":          {sse(`[1,2]`), nil, true},
		"server error":    {sse(word, `{"error":{"message":"hola","type":"server_error","code":"overloaded"}}`), nil, true},
		"our fault":       {sse(`{"error":{"message":"hola","type":"invalid_request_error"}}`), nil, false},
		"nameless call":   {sse(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`, "[DONE]"), nil, true},
		"half a call":     {sse(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{\"a"}}]},"finish_reason":"length"}]}`, "[DONE]"), nil, true},
		"null everything": {sse(`null`, `{"choices":null}`, `{"choices":[null]}`, "[DONE]"), openai.ErrEmpty, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := ask(t.Context(), model(t, openai.Config{Transport: scripted("text/event-stream", c.body)}), hello)
			if h.err == nil || (c.is != nil && !errors.Is(h.err, c.is)) {
				t.Fatalf("error %v, want %v", h.err, c.is)
			}
			if retryable(h.err) != c.again {
				t.Fatalf("%v: retryable is not %v", h.err, c.again)
			}
			if strings.Contains(h.err.Error(), "hola") {
				t.Fatalf("%q repeats words of the provider", h.err)
			}
		})
	}
}

func TestToolCalls(t *testing.T) {
	t.Parallel()
	want := []llm.ToolCall{
		{ID: "call_1", Name: "book", Arguments: json.RawMessage(`{"day":"monday"}`)},
		{ID: "call_2", Name: "now", Arguments: json.RawMessage(`{}`)},
	}
	delta := func(calls string) string { return `{"choices":[{"index":0,"delta":{"tool_calls":[` + calls + `]}}]}` }
	finish := func(reason string) string {
		return `{"choices":[{"index":0,"delta":null,"finish_reason":"` + reason + `"}]}`
	}
	for name, chunks := range map[string][]string{
		"as OpenAI": {
			delta(`{"index":0,"id":"call_1","type":"function","function":{"name":"book","arguments":""}}`),
			delta(`{"index":0,"function":{"arguments":"{\"day\":"}}`), delta(`{"index":0,"function":{"arguments":"\"monday\"}"}}`),
			delta(`{"index":1,"id":"call_2","type":"function","function":{"name":"now","arguments":""}}`), finish("tool_calls"),
		},
		"ids and names repeated, finish stop": {
			delta(`{"index":0,"id":"call_1","function":{"name":"book","arguments":"{\"day\":"}}`),
			delta(`{"index":0,"id":"call_1","function":{"name":"book","arguments":"\"monday\"}"}}`),
			delta(`{"index":1,"id":"call_2","function":{"name":"now"}}`), finish("stop"),
		},
		"interleaved": {
			delta(`{"index":0,"id":"call_1","function":{"name":"book","arguments":"{\"day\":"}},{"index":1,"id":"call_2","function":{"name":"now","arguments":"{"}}`),
			delta(`{"index":1,"function":{"arguments":"}"}},{"index":0,"function":{"arguments":"\"monday\"}"}}`), finish("tool_calls"),
		},
		"whole, no index": {
			delta(`{"id":"call_1","function":{"name":"book","arguments":"{\"day\":\"monday\"}"}},{"id":"call_2","function":{"name":"now","arguments":"{}"}}`), finish("stop"),
		},
		"whole, all index 0": {
			delta(`{"index":0,"id":"call_1","function":{"name":"book","arguments":"{\"day\":\"monday\"}"}}`),
			delta(`{"index":0,"id":"call_2","function":{"name":"now","arguments":"{}"}}`), finish("tool_calls"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := sse(append(chunks, `{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":4}}}`, "[DONE]")...)
			h := ask(t.Context(), model(t, openai.Config{Transport: scripted("text/event-stream", body)}), hello)
			if h.err != nil {
				t.Fatalf("reply: %v", h.err)
			}
			if diff := cmp.Diff(want, h.result.ToolCalls); diff != "" {
				t.Fatalf("calls (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(llm.Usage{PromptTokens: 9, PromptCachedTokens: 4, CompletionTokens: 3}, h.result.Usage); diff != "" {
				t.Fatalf("usage (-want +got):\n%s", diff)
			}
		})
	}
}

func TestACallWithoutAnIDGetsOneOfItsOwn(t *testing.T) {
	t.Parallel()
	body := sse(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"a","arguments":"{}"}},{"index":1,"function":{"name":"b","arguments":"{}"}}]},"finish_reason":"stop"}]}`, "[DONE]")
	h := ask(t.Context(), model(t, openai.Config{Transport: scripted("text/event-stream", body)}), hello)
	if h.err != nil || len(h.result.ToolCalls) != 2 {
		t.Fatalf("got %v, %v", h.result.ToolCalls, h.err)
	}
	a, b := h.result.ToolCalls[0].ID, h.result.ToolCalls[1].ID
	if a == "" || a == b || len(a) > 40 {
		t.Fatalf("ids %q and %q must differ and hold at most the 40 bytes that OpenAI takes", a, b)
	}
}
