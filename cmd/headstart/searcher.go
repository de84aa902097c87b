package main

import (
	"fmt"

	"headstart/retrieval"
	"headstart/retrieval/rerank"
	"headstart/worker"
)

// searcher makes what an agent looks documents up with.
func (k *kit) searcher(a worker.Agent, embedder retrieval.Embedder) (*retrieval.Searcher, error) {
	s := retrieval.NewSearcher(k.library, embedder).WithLarge(k.large)
	if a.Rerank == nil {
		return s, nil
	}
	reranker, err := k.reranker(a.Rerank.ModelConfig)
	if err != nil {
		return nil, fmt.Errorf("rerank: %w", err)
	}
	return s.WithReranker(reranker, a.Reranking())
}

func (k *kit) reranker(m worker.ModelConfig) (*rerank.Client, error) {
	keys := map[string]string{"cohere": k.settings.cohereKey, "jina": k.settings.jinaKey, "voyage": k.settings.voyageKey}
	base, key, rest := endpoint(m.Options, keys[m.Provider])
	return rerank.New(rerank.Config{Provider: m.Provider, BaseURL: base, Key: key, Model: m.Model, Options: rest})
}
