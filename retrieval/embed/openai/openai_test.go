package openai_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"headstart/retrieval/embed/embedtest"
	"headstart/retrieval/embed/openai"
)

func TestTheRequestOnTheWire(t *testing.T) {
	t.Parallel()
	s := &embedtest.Server{Delay: -1}
	var path, key string
	transport := embedtest.Transport(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, key = r.URL.String(), r.Header.Get("Authorization")
		s.ServeHTTP(w, r)
	}))
	e, err := openai.Open(t.Context(), openai.Config{
		Key: "k", Model: "text-embedding-3-small", Dim: 64, Options: map[string]any{"user": "u"}, Transport: transport,
	}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	vectors, err := e.Embed(t.Context(), []string{"¿abren hoy?", "de noche"})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(embedtest.Vector("de noche", 64), vectors[1]); d != "" {
		t.Fatalf("vector (-want +got):\n%s", d)
	}
	if path != "https://api.openai.com/v1/embeddings" || key != "Bearer k" || e.Name() != "openai/text-embedding-3-small" || e.Dim() != 64 {
		t.Fatalf("%s with %d dimensions asked %s with %s", e.Name(), e.Dim(), path, key)
	}
	var got any
	if err := json.Unmarshal(s.Bodies()[0], &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"model": "text-embedding-3-small", "input": []any{"¿abren hoy?", "de noche"}, "encoding_format": "base64", "dimensions": 64.0, "user": "u"}
	if d := cmp.Diff(any(want), got); d != "" {
		t.Fatalf("body (-want +got):\n%s", d)
	}
}

// A server that knows neither of the fields is still asked.
func TestOptionsRemoveFields(t *testing.T) {
	t.Parallel()
	s := &embedtest.Server{Delay: -1, Dim: 8}
	e, err := openai.Open(t.Context(), openai.Config{
		BaseURL: "http://model.test/v1/", Model: "m", Dim: 8, Options: map[string]any{"dimensions": nil, "encoding_format": nil}, Transport: embedtest.Transport(s),
	}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.EmbedQuery(t.Context(), "hola"); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(`{"input":["hola"],"model":"m"}`, string(s.Bodies()[0])); d != "" {
		t.Fatal(d)
	}
}
