package openaitest_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"headstart/turn/llm"
	"headstart/turn/llm/openai"
	"headstart/turn/llm/openai/openaitest"
)

func TestMain(m *testing.M) {
	if err := openaitest.Warm(context.Background()); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

func model(t *testing.T, transport http.RoundTripper, url string) *openai.Model {
	t.Helper()
	m, err := openai.New(openai.Config{BaseURL: url + "/v1", Model: "fake", Transport: transport}, zap.NewNop())
	if err != nil {
		t.Fatalf("new model: %v", err)
	}
	t.Cleanup(m.Close)
	return m
}

func reply(t *testing.T, m *openai.Model) (string, llm.Result, error) {
	t.Helper()
	var b strings.Builder
	result, err := m.Reply(t.Context(), llm.Request{Messages: []llm.Message{{Role: llm.User, Content: "Hola"}}}, func(s string) { b.WriteString(s) })
	return b.String(), result, err
}

func TestTheDefaultFirstSentence(t *testing.T) {
	t.Parallel()
	sentence, _, _ := strings.Cut(openaitest.DefaultText, ".")
	words := openaitest.Tokens(sentence)
	if len(words) != 10 || !strings.HasSuffix(words[2], ",") || strings.Count(sentence, ",") != 1 {
		t.Fatalf("%q has %d words, want ten with a comma after the third", sentence, len(words))
	}
	if diff := cmp.Diff(openaitest.DefaultText, strings.Join(openaitest.Tokens(openaitest.DefaultText), "")); diff != "" {
		t.Fatalf("tokens (-want +got):\n%s", diff)
	}
}

func TestAScriptIsToldInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &openaitest.Server{First: -1, Each: -1, Text: "Fin."}
		s.Script(openaitest.Answer{ToolCalls: []openaitest.ToolCall{{ID: "c1", Name: "book", Arguments: `{"day":"lunes"}`}}}, openaitest.Answer{Text: "Hecho."})
		m := model(t, openaitest.Transport(s), "http://model.test")
		_, result, err := reply(t, m)
		if err != nil {
			t.Fatalf("reply: %v", err)
		}
		want := []llm.ToolCall{{ID: "c1", Name: "book", Arguments: json.RawMessage(`{"day":"lunes"}`)}}
		if diff := cmp.Diff(want, result.ToolCalls); diff != "" || result.Finish != "tool_calls" {
			t.Fatalf("finish %q, calls (-want +got):\n%s", result.Finish, diff)
		}
		if s.Unused() != 1 {
			t.Fatalf("%d answers left, want 1", s.Unused())
		}
		for _, want := range []string{"Hecho.", "Fin."} {
			if got, _, err := reply(t, m); got != want || err != nil {
				t.Fatalf("got %q, %v, want %q", got, err, want)
			}
		}
		if s.Requests() != 3 || s.Whole() != 3 || len(s.Bodies()) != 3 {
			t.Fatalf("%d requests, %d whole, %d bodies, want 3 of each", s.Requests(), s.Whole(), len(s.Bodies()))
		}
	})
}

// An answer may quote what a tool returned.
func TestAnAnswerQuotesAToolResult(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &openaitest.Server{First: -1, Each: -1}
		s.Script(openaitest.Answer{Text: "Sí: ", Quote: `a las \pL+`}, openaitest.Answer{Text: "No.", Quote: "nada"})
		m := model(t, openaitest.Transport(s), "http://model.test")
		for _, want := range []string{"Sí: a las dos", "No."} {
			var said strings.Builder
			_, err := m.Reply(t.Context(), llm.Request{Messages: []llm.Message{
				{Role: llm.User, Content: "¿A las cinco?"},
				{Role: llm.Assistant, ToolCalls: []llm.ToolCall{{ID: "1", Name: "search"}, {ID: "2", Name: "search"}}},
				{Role: llm.ToolRole, ToolCallID: "1", Content: `{"chunks":[{"text":"a las nueve"}]}`},
				{Role: llm.ToolRole, ToolCallID: "2", Content: `{"chunks":[{"text":"a las dos"}]}`},
			}}, func(text string) { said.WriteString(text) })
			if err != nil || said.String() != want {
				t.Fatalf("got %q, %v, want %q", said.String(), err, want)
			}
		}
	})
}

// A client that goes away ends the handler: nothing of it is left waiting.
func TestAClientThatLeavesEndsTheAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &openaitest.Server{Each: time.Hour}
		client := http.Client{Transport: openaitest.Transport(s)}
		res, err := client.Post("http://model.test/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m","stream":true}`))
		if err != nil {
			t.Fatalf("post: %v", err)
		}
		_ = res.Body.Close()
		synctest.Wait()
		if s.Whole() != 0 {
			t.Fatal("an answer that nobody read was whole")
		}
	})
}

func TestControlOverASocket(t *testing.T) {
	t.Parallel()
	s := &openaitest.Server{First: -1, Each: -1}
	server := httptest.NewServer(s)
	defer server.Close()
	m := model(t, nil, server.URL)
	post := func(body string) map[string]any {
		res, err := server.Client().Post(server.URL+"/fakes/llm", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatalf("control: %v", err)
		}
		defer res.Body.Close()
		data, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatalf("read control: %v", err)
		}
		var state map[string]any
		if res.StatusCode == http.StatusOK && json.Unmarshal(data, &state) != nil {
			t.Fatalf("control answered %s", data)
		}
		return state
	}
	if post("{nope") != nil {
		t.Fatal("broken faults were taken")
	}
	post(`{"fault":"refuse","times":1,"answers":[{"text":"Hecho."}]}`)
	if _, _, err := reply(t, m); err == nil {
		t.Fatal("it did not refuse")
	}
	if got, _, err := reply(t, m); got != "Hecho." || err != nil {
		t.Fatalf("got %q, %v", got, err)
	}
	state := post(`{}`)
	want := map[string]any{"faults": map[string]any{"fault": ""}, "requests": 2.0, "whole": 1.0, "unused": 0.0}
	delete(state, "bodies")
	if diff := cmp.Diff(want, state); diff != "" {
		t.Fatalf("state (-want +got):\n%s", diff)
	}
	m.Close()
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	s := &openaitest.Server{}
	for _, body := range []string{"", `{"model":"m"}`, `{"stream":true}`} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/chat/completions", strings.NewReader(body)))
		if w.Code != http.StatusBadRequest {
			t.Fatalf("%q gave %d, want 400", body, w.Code)
		}
	}
	if s.Requests() != 0 {
		t.Fatal("a bad request was counted as an answer")
	}
}
