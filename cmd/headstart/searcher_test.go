package main

import (
	"net/http/httptest"
	"strings"
	"testing"

	"headstart/retrieval"
	"headstart/retrieval/chunk"
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
