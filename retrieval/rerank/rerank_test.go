package rerank_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"headstart/retrieval"
	"headstart/retrieval/chunk"
	"headstart/retrieval/embed/embedtest"
	"headstart/retrieval/rerank"
	"headstart/retrieval/rerank/reranktest"
)

func client(t *testing.T, s *reranktest.Server, change func(*rerank.Config)) *rerank.Client {
	t.Helper()
	cfg := rerank.Config{Provider: "cohere", Key: "secret", Model: "m", Transport: embedtest.Transport(s)}
	if change != nil {
		change(&cfg)
	}
	c, err := rerank.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var texts = []string{"nada de eso", "el precio de la revisión", "precio"}

// TestOnTheWire: each vendor is asked where it listens, and its answer, which is in
// its own order, comes back in ours.
func TestOnTheWire(t *testing.T) {
	t.Parallel()
	for provider, address := range map[string]string{
		"cohere": "https://api.cohere.com/v2/rerank",
		"jina":   "https://api.jina.ai/v1/rerank",
		"voyage": "https://api.voyageai.com/v1/rerank",
	} {
		s := &reranktest.Server{Voyage: provider == "voyage"}
		c := client(t, s, func(cfg *rerank.Config) {
			cfg.Provider, cfg.Options = provider, map[string]any{"truncation": true, "absent": nil}
		})
		got, err := c.Rerank(t.Context(), "precio de la revisión", texts)
		if err != nil {
			t.Fatalf("%s: %v", provider, err)
		}
		if d := cmp.Diff([]float64{0.25, 1, 0.25}, got); d != "" {
			t.Fatalf("%s (-want +got):\n%s", provider, d)
		}
		paths, keys := s.Asked()
		if paths[0] != address || keys[0] != "Bearer secret" || c.Name() != provider+"/m" {
			t.Fatalf("%s asked %s with %s", c.Name(), paths[0], keys[0])
		}
		var body any
		if err := json.Unmarshal(s.Bodies()[0], &body); err != nil {
			t.Fatal(err)
		}
		want := map[string]any{"model": "m", "query": "precio de la revisión", "documents": []any{texts[0], texts[1], texts[2]}, "truncation": true}
		if d := cmp.Diff(any(want), body); d != "" {
			t.Fatalf("%s body (-want +got):\n%s", provider, d)
		}
	}
}

func TestSecretsStayHere(t *testing.T) {
	t.Parallel()
	s := &reranktest.Server{}
	if _, err := client(t, s, nil).Rerank(t.Context(), "mi correo es ana@example.com", []string{"llame al 612345678"}); err != nil {
		t.Fatal(err)
	}
	if sent := string(s.Bodies()[0]); strings.Contains(sent, "ana@") || strings.Contains(sent, "612345678") {
		t.Fatalf("sent %s", sent)
	}
}

// TestFails: no half of an order, no secret in what is said, and no waiting past the
// end of the context.
func TestFails(t *testing.T) {
	t.Parallel()
	over := errors.New("lookup over")
	for _, c := range []struct {
		server *reranktest.Server
		status int
		over   bool
	}{
		{&reranktest.Server{Fault: reranktest.Failing, Status: 429}, 429, false},
		{&reranktest.Server{Fault: reranktest.Failing, Status: 401}, 401, false},
		{&reranktest.Server{Fault: reranktest.Garbage}, 0, false},
		{&reranktest.Server{Fault: reranktest.Short}, 0, false},
		{&reranktest.Server{Fault: reranktest.Twice}, 0, false},
		{&reranktest.Server{Fault: reranktest.Stranger}, 0, false},
		{&reranktest.Server{Fault: reranktest.Dropped}, 0, false},
		{&reranktest.Server{Fault: reranktest.Hang}, 0, true},
		{&reranktest.Server{Delay: time.Minute}, 0, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer time.AfterFunc(time.Second, func() { cancel(over) }).Stop()
			defer cancel(nil)
			began := time.Now()
			scores, err := client(t, c.server, nil).Rerank(ctx, "precio", texts)
			failed, ok := errors.AsType[*rerank.Error](err)
			switch waited := time.Since(began); {
			case scores != nil || err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "precio"):
				t.Fatalf("%s: %v, %v", c.server.Fault, scores, err)
			case c.over && (!errors.Is(err, over) || waited != time.Second):
				t.Fatalf("%s: after %v %v", c.server.Fault, waited, err)
			case !c.over && (!ok || failed.Status != c.status || waited != 0):
				t.Fatalf("%s: after %v %v", c.server.Fault, waited, err)
			}
		})
	}
}

func TestRefusesItsConfiguration(t *testing.T) {
	t.Parallel()
	_, err := rerank.New(rerank.Config{Provider: "other", BaseURL: "localhost:1"})
	for _, complaint := range []string{"provider", "base_url", "model"} {
		if err == nil || !strings.Contains(err.Error(), complaint) {
			t.Fatalf("%q is missing in %v", complaint, err)
		}
	}
}

// TestASearchOverASocket: a real client, a real server, and a search whose last is
// first once it was judged.
func TestASearchOverASocket(t *testing.T) {
	t.Parallel()
	s := &reranktest.Server{}
	server := httptest.NewServer(s)
	defer server.Close()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	c := client(t, s, func(cfg *rerank.Config) { cfg.BaseURL, cfg.Transport = server.URL+"/v1/", transport })
	var chunks []chunk.Chunk
	for i, text := range []string{"precio precio precio", "precio precio", "el precio anual y otras cosas que alargan mucho esta frase"} {
		id := string(rune('a' + i))
		chunks = append(chunks, chunk.Chunk{ID: id, Path: id, Text: text})
	}
	seg, err := retrieval.Build(t.Context(), "b", "es", chunks, nil)
	if err != nil {
		t.Fatal(err)
	}
	var lib retrieval.Library
	lib.Put("org", seg)
	searcher, err := retrieval.NewSearcher(&lib, nil).WithReranker(c, retrieval.Reranking{Within: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	q := retrieval.Query{Org: "org", Text: "el precio que y", Bases: []retrieval.Attachment{{Base: "b"}}, Written: true}
	r, err := searcher.Search(t.Context(), q)
	if err != nil || r.Unranked != nil || r.Passages[0].ID != "c" {
		t.Fatalf("%+v, %v", r, err)
	}
	if paths, _ := s.Asked(); paths[0] != "/v1/rerank" {
		t.Fatalf("asked %v", paths)
	}
}
