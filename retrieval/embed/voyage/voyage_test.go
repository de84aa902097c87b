package voyage_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"headstart/retrieval"
	"headstart/retrieval/embed/embedtest"
	"headstart/retrieval/embed/voyage"
)

// A question says that it is one, also when it comes through a search.
func TestQuestionsAndDocumentsOnTheWire(t *testing.T) {
	t.Parallel()
	s := &embedtest.Server{Delay: -1}
	var path string
	transport := embedtest.Transport(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path = r.URL.String()
		s.ServeHTTP(w, r)
	}))
	e, err := voyage.Open(t.Context(), voyage.Config{Key: "k", Model: "voyage-3.5", Dim: 256, Transport: transport}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Embed(t.Context(), []string{"Abrimos a las ocho."}); err != nil {
		t.Fatal(err)
	}
	v, err := retrieval.EmbedQuery(t.Context(), e, "¿abren hoy?")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(embedtest.Vector("abren hoy", 256), v); d != "" || path != "https://api.voyageai.com/v1/embeddings" || e.Name() != "voyage/voyage-3.5" {
		t.Fatalf("%s at %s: %s", e.Name(), path, d)
	}
	for i, want := range []map[string]any{
		{"input": []any{"Abrimos a las ocho."}, "input_type": "document"},
		{"input": []any{"¿abren hoy?"}, "input_type": "query"},
	} {
		want["model"], want["truncation"], want["encoding_format"], want["output_dimension"] = "voyage-3.5", true, "base64", 256.0
		var got map[string]any
		if err := json.Unmarshal(s.Bodies()[i], &got); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("body %d (-want +got):\n%s", i, d)
		}
	}
}
