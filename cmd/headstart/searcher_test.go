package main

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/zap"

	"headstart/retrieval"
	"headstart/retrieval/chunk"
	"headstart/retrieval/knowledge"
	"headstart/retrieval/rerank/reranktest"
	"headstart/worker"
)

// TestTheAgentsReranker: what an agent file says of its reranker reaches the search,
// on the agent's own channel.
func TestTheAgentsReranker(t *testing.T) {
	t.Parallel()
	fake := &reranktest.Server{}
	server := httptest.NewServer(fake)
	defer server.Close()
	agent, err := worker.ParseAgent([]byte(`{"name":"a","language":"en","stt":{"provider":"replay"},"llm":{"provider":"extractive"},"voice":{"provider":"local"},
		"docs":{"base":"b"},"rerank":{"provider":"jina","model":"m","pool":20,"within_ms":60000,"spoken":true,"options":{"base_url":"` + server.URL + `"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	k := &kit{library: &retrieval.Library{}}
	k.settings.jinaKey = "secret"
	seg, err := retrieval.Build(t.Context(), "b", "en", append(chunk.Split("a.md", "price price"), chunk.Split("b.md", "the price now")...), nil)
	if err != nil {
		t.Fatal(err)
	}
	k.library.Put("default", seg)
	s, err := k.searcher(agent, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Search(t.Context(), retrieval.Query{Org: "default", Text: "the price now", Bases: []retrieval.Attachment{{Base: "b"}}})
	if err != nil || r.Unranked != nil || r.Passages[0].Path != "b.md" || r.Passages[0].Hits[0].Reranked != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	if _, keys := fake.Asked(); keys[0] != "Bearer secret" {
		t.Fatalf("asked with %v", keys)
	}
	agent.Rerank.Provider = "other"
	if _, err := k.searcher(agent, nil); err == nil || !strings.Contains(err.Error(), "cohere, jina or voyage") {
		t.Fatalf("another provider: %v", err)
	}
}

// oneHit is a store that answers every question with one chunk.
type oneHit struct{ asked []retrieval.LargeQuery }

func (s *oneHit) SearchLarge(_ context.Context, q retrieval.LargeQuery) ([]retrieval.LargeHit, error) {
	s.asked = append(s.asked, q)
	c := chunk.Chunk{ID: "1", Path: "a.md", Text: "the price now"}
	return []retrieval.LargeHit{{Chunk: c, Marks: retrieval.Marks{BM25: 1, WordRank: 1}, Score: 1, Around: []chunk.Chunk{c}}}, nil
}

// TestLargeBasesAreAskedInTheStore: what the shelf calls large is searched there,
// and what it is told is small again is left alone.
func TestLargeBasesAreAskedInTheStore(t *testing.T) {
	t.Parallel()
	store := &oneHit{}
	k := &kit{library: &retrieval.Library{}, log: zap.NewNop(), settings: settings{maxChunks: 3}}
	cfg := k.shelfConfig(store)
	if cfg.MaxChunks != 3 || cfg.Large == nil {
		t.Fatalf("configured %+v", cfg)
	}
	cfg.Large(knowledge.Base{Org: "default", Name: "b", Language: "en", Chunks: 9})
	cfg.Large(knowledge.Base{Org: "default", Name: "c"})
	s, err := k.searcher(worker.Agent{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	q := retrieval.Query{Org: "default", Text: "prices", Bases: []retrieval.Attachment{{Base: "b"}}}
	r, err := s.Search(t.Context(), q)
	if err != nil || len(r.Passages) != 1 || r.Passages[0].Text != "the price now" || len(store.asked) != 1 || store.asked[0].Terms[0] != "price" {
		t.Fatalf("%+v, %v, asked %+v", r, err, store.asked)
	}
	q.Bases[0].Base = "c"
	if _, err := s.Search(t.Context(), q); !errors.Is(err, retrieval.ErrNotReady{Base: "c"}) {
		t.Fatalf("a base that is gone: %v", err)
	}
	if cfg := (&kit{}).shelfConfig(struct{}{}); cfg.Large != nil {
		t.Fatal("a store that cannot search is asked to")
	}
}
