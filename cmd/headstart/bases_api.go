package main

import (
	"context"
	"slices"
	"sync"

	"headstart/retrieval"
	"headstart/retrieval/knowledge"
	"headstart/worker"
	v1 "headstart/worker/api/v1"
)

// basesAPI is what /v1 does with documents. Nobody asks before the agents are
// there: the API runs after.
func (srv *server) basesAPI(agents []worker.Agent) *v1.Bases {
	o := &operators{srv: srv, agents: agents}
	return &v1.Bases{Store: srv.db, Embedder: o.embedder, Searcher: o.searcher, Scratch: srv.settings.data}
}

// operators push and search bases with the embedders of the agents here.
type operators struct {
	srv    *server
	agents []worker.Agent
	mu     sync.Mutex // held while an embedder is made: the kit keeps those it has
}

// reader is the first agent that reads a base.
func (o *operators) reader(base string) (worker.Agent, bool) {
	at := slices.IndexFunc(o.agents, func(a worker.Agent) bool { return slices.Contains(a.Bases(), base) })
	if at < 0 {
		return worker.Agent{}, false
	}
	return o.agents[at], true
}

// embedder is that of the base's agent; where none reads it, the one that its
// vectors name, or that of the first agent for a new base.
func (o *operators) embedder(ctx context.Context, b knowledge.Base) (retrieval.Embedder, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if a, ok := o.reader(b.Name); ok {
		return o.srv.kit.documentEmbedder(ctx, a)
	}
	if b.Model != "" {
		return o.named(ctx, b)
	}
	return o.srv.kit.documentEmbedder(ctx, o.agents[0])
}

// named makes the embedder that the vectors of a base name.
func (o *operators) named(ctx context.Context, b knowledge.Base) (retrieval.Embedder, error) {
	flags, err := embedderFlags{}.of(b.Model, b.Dim)
	if err != nil {
		return nil, err
	}
	m, err := flags.config()
	if err != nil {
		return nil, err
	}
	return o.srv.kit.embedder(ctx, worker.Agent{Embedder: m})
}

// searcher searches as the base's agent does, reranker and all; a base that no
// agent here reads is searched with the embedder of its vectors.
func (o *operators) searcher(ctx context.Context, b knowledge.Base) (*retrieval.Searcher, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if a, ok := o.reader(b.Name); ok {
		e, err := o.srv.kit.documentEmbedder(ctx, a)
		if err != nil {
			return nil, err
		}
		return o.srv.kit.searcher(a, e)
	}
	if b.Model == "" {
		return o.srv.kit.searcher(worker.Agent{}, nil)
	}
	e, err := o.named(ctx, b)
	if err != nil {
		return nil, err
	}
	return o.srv.kit.searcher(worker.Agent{}, e)
}
