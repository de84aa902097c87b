package turn_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"headstart/memory"
	"headstart/turn"
	"headstart/turn/llm/openai"
	"headstart/turn/llm/openai/openaitest"
)

// asksFor is what a remember asks of a model.
var asksFor = memory.Request{System: "rules", User: `{"turns":[]}`, Schema: json.RawMessage(`{"type":"object"}`), MaxTokens: 20}

func TestExtractorAsksSteadilyForJSON(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		fails    openaitest.Faults
		answer   string
		want     string
		err      error
		requests int
		plain    bool // the last request asks without temperature and schema
	}{
		{"answers", openaitest.Faults{}, `{"operations": []}`, `{"operations": []}`, nil, 1, false},
		{"refuses the schema", openaitest.Faults{Fault: openaitest.Failing, Status: 400, Times: 1}, `[]`, `[]`, nil, 2, true},
		{"is overloaded once", openaitest.Faults{Fault: openaitest.Failing, Status: 503, Times: 1}, `[]`, `[]`, nil, 2, false},
		{"refuses the key", openaitest.Faults{Fault: openaitest.Failing, Status: 401}, `[]`, "", errAny, 1, false},
		{"never ends", openaitest.Faults{}, strings.Repeat("more ", 200), "", memory.ErrAnswer, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				fake := &openaitest.Server{Text: c.answer}
				fake.Fail(c.fails)
				m, err := openai.New(openai.Config{Model: "fake-1", Transport: openaitest.Transport(fake)}, zap.NewNop())
				if err != nil {
					t.Fatal(err)
				}
				defer m.Close()
				answer, err := turn.Extractor{Model: m}.Extract(t.Context(), asksFor)
				got := answer.Text
				if got != c.want && c.err == nil || (err == nil) != (c.err == nil) || c.err != errAny && !errors.Is(err, c.err) {
					t.Fatalf("%q, %v; want %q, %v", got, err, c.want, c.err)
				}
				checkUse(t, answer.Use, err)
				bodies := fake.Bodies()
				if len(bodies) != c.requests {
					t.Fatalf("%d requests, want %d", len(bodies), c.requests)
				}
				checkAsked(t, bodies[len(bodies)-1], c.plain)
			})
		})
	}
}

// checkUse holds what was counted to what the server billed: nothing for what it
// refused, and what was cut off is estimated.
func checkUse(t *testing.T, u *memory.Use, err error) {
	t.Helper()
	switch {
	case u == nil || u.PromptTokens == 0 || u.Cancelled:
		t.Fatalf("use %+v", u)
	case err == nil && (u.Estimated || u.Model != "fake-1" || u.CompletionTokens == 0 || u.FirstToken == 0 || u.Took < u.FirstToken):
		t.Fatalf("use of an answer %+v", u)
	case err != nil && !u.Estimated:
		t.Fatalf("use without an answer %+v", u)
	}
}

var errAny = errors.New("any")

func checkAsked(t *testing.T, body json.RawMessage, plain bool) {
	t.Helper()
	var got map[string]any
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"model": "fake-1", "stream": true, "stream_options": map[string]any{"include_usage": true},
		"messages": []any{map[string]any{"role": "system", "content": "rules"}, map[string]any{"role": "user", "content": `{"turns":[]}`}},
	}
	if !plain {
		want["temperature"] = 0.0
		want["response_format"] = map[string]any{"type": "json_schema", "json_schema": map[string]any{
			"name": "answer", "strict": true, "schema": map[string]any{"type": "object"},
		}}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("body (-want +got):\n%s", diff)
	}
}

func TestExtractorEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake := &openaitest.Server{}
		fake.Fail(openaitest.Faults{Fault: openaitest.Mute})
		m, err := openai.New(openai.Config{Model: "fake-1", Transport: openaitest.Transport(fake)}, zap.NewNop())
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		began, spent := time.Now(), errors.New("budget spent")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 3*time.Second, spent)
		defer cancel()
		answer, err := turn.Extractor{Model: m}.Extract(ctx, asksFor)
		if !errors.Is(err, spent) || time.Since(began) != 3*time.Second {
			t.Fatalf("after %v: %v", time.Since(began), err)
		}
		want := &memory.Use{PromptTokens: 5, Estimated: true, Took: 3 * time.Second, Cancelled: true}
		if diff := cmp.Diff(want, answer.Use); diff != "" {
			t.Fatalf("use (-want +got):\n%s", diff)
		}
	})
}
