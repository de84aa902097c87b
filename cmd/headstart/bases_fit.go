package main

import (
	"context"
	"errors"
	"fmt"

	"go.uber.org/zap"

	"headstart/retrieval"
	"headstart/worker"
)

// readers are the agents of a process and the bases that they read: whether the
// vectors of those are of the agents' embedders, at the start and while it runs.
type readers struct {
	library *retrieval.Library
	org     string
	all     []reads
	unfit   map[reads]error // as it was told last; written by check, then by look alone
	log     *zap.Logger
}

// reads is a base that an agent reads, and the embedder that it asks about it.
type reads struct {
	agent, base string
	model       string
	dim         int
}

func (k *kit) readers(ctx context.Context, agents []worker.Agent) (*readers, error) {
	r := &readers{library: k.library, org: k.org(), unfit: make(map[reads]error), log: k.log}
	for _, a := range agents {
		bases := a.Bases()
		if len(bases) == 0 {
			continue
		}
		embedder, err := k.documentEmbedder(ctx, a)
		if err != nil {
			return nil, err
		}
		for _, base := range bases {
			r.all = append(r.all, reads{a.Name, base, embedder.Name(), embedder.Dim()})
		}
	}
	return r, nil
}

// mismatch is nil where the base can be compared with, or is not there.
func (r *readers) mismatch(one reads) error {
	model, dim, _ := r.library.Model(r.org, one.base)
	if model == "" || model == one.model && dim == one.dim {
		return nil
	}
	return retrieval.ErrMismatch{Base: one.base, Holds: model, HoldsDim: dim, Got: one.model, GotDim: one.dim}
}

// check refuses bases that are not there, and those with vectors that an agent's
// embedder cannot be compared with: better now than in a call.
func (r *readers) check() error {
	var wrong []error
	for _, one := range r.all {
		if _, _, ok := r.library.Model(r.org, one.base); !ok {
			wrong = append(wrong, usageError{fmt.Errorf("agent %s reads base %s, which is not in the store: push it with headstart docs push DIR --base %s, or say where it is with --base %s=DIR",
				one.agent, one.base, one.base, one.base)})
		}
		if err := r.mismatch(one); err != nil {
			wrong = append(wrong, fmt.Errorf("agent %s: %w", one.agent, err))
		}
	}
	return errors.Join(wrong...)
}

// look tells, once for each change, which bases got vectors of another embedder
// while the agents run, and which can be compared with again. Calls follow by
// themselves: a search asks the vectors of a base, or its words alone, by what the
// base is then.
func (r *readers) look() {
	for _, one := range r.all {
		err := r.mismatch(one)
		if err == r.unfit[one] {
			continue
		}
		r.unfit[one] = err
		if err == nil {
			r.log.Info("base is searched by its vectors again", zap.String("agent", one.agent), zap.String("base", one.base), zap.String("embedder", one.model))
			continue
		}
		r.log.Warn("calls search the base by its words alone: name its embedder in the agent's file and start the worker again",
			zap.String("agent", one.agent), zap.String("base", one.base), zap.Error(err))
	}
}
