package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"headstart/memory"
	"headstart/memory/golden"
	"headstart/retrieval"
	"headstart/turn"
	"headstart/worker"
	v1 "headstart/worker/api/v1"
	"headstart/worker/calllog"
)

// student learns what calls taught, from a model and with an embedder.
type student struct {
	model    memory.Model
	embedder retrieval.Embedder // nil leaves facts without vectors
}

// Learn implements worker.Learner.
func (s student) Learn(ctx context.Context, l memory.Lesson) (memory.Learned, error) {
	return memory.Learn(ctx, l, s.model, s.embedder)
}

// memory lets an agent with a memory policy remember and recall.
func (k *kit) memory(a worker.Agent, s *worker.Served, embedder retrieval.Embedder) error {
	if a.Memory == nil {
		return nil
	}
	s.Recollect = func(ctx context.Context, held []memory.Held) (turn.Recaller, error) {
		k.reembed(ctx, embedder, held)
		return memory.NewIndex(memory.Reading{
			Language: a.Language, Embedder: embedder, Calibration: k.calibrationOf(a, embedder), At: time.Now(),
		}, held)
	}
	calibration := func() *retrieval.Calibration { return k.calibrationOf(a, embedder) }
	k.recalls = append(k.recalls, recalling{a.Name, a.Language, embedder, calibration})
	if !a.Remembers() {
		return nil
	}
	model, err := k.extractor(a, s.Model)
	if err != nil {
		return err
	}
	s.Learner = student{model, embedder}
	return nil
}

// calibrationOf is what was measured of the embedder on a base that the agent
// reads, nil where none was: a contact has no questions to measure it on, and facts
// are in the language of the base.
func (k *kit) calibrationOf(a worker.Agent, embedder retrieval.Embedder) *retrieval.Calibration {
	for _, d := range a.Docs {
		base, ok := k.library.Get(k.org(), d.Base)
		if !ok {
			continue
		}
		if c := base.Calibration(); c != nil && c.Embedder == embedder.Name() {
			return c
		}
	}
	return nil
}

// extractor is who is asked what a call taught: the agent's own model.
func (k *kit) extractor(a worker.Agent, model turn.Model) (memory.Model, error) {
	switch {
	case k.settings.proposer != nil:
		return k.settings.proposer, nil
	case a.LLM.Provider == "extractive":
		return nil, errors.New("memory.remember: llm.provider extractive cannot tell what a call taught; name another model, or leave remember empty")
	}
	return turn.Extractor{Model: model}, nil
}

// reembed gives those facts vectors that have none of this model, which another
// embedder or a crash left them without. It may fail: their words find them.
func (k *kit) reembed(ctx context.Context, embedder retrieval.Embedder, held []memory.Held) {
	if retrieval.Weight(embedder) == 0 {
		return
	}
	var missing []*memory.Held
	for i := range held {
		if f := &held[i]; f.Model != embedder.Name() || len(f.Vector) != embedder.Dim() {
			missing = append(missing, f)
		}
	}
	if err := memory.Embed(ctx, embedder, missing); err != nil {
		k.log.Warn("facts recalled by their words alone", zap.Int("facts", len(missing)), zap.Error(err))
	}
}

// remembering tells of each agent by its slug whether it keeps what calls teach.
func remembering(agents []worker.Agent) func(agent string) bool {
	keeps := map[string]bool{}
	for _, a := range agents {
		keeps[a.Name] = a.Remembers()
	}
	return func(agent string) bool { return keeps[agent] }
}

// memoryQuota is how many facts an org may hold.
func memoryQuota(db database) func(ctx context.Context, org string) (*int, error) {
	return func(ctx context.Context, org string) (*int, error) {
		quota, err := db.Quota(ctx, org)
		if err != nil {
			return nil, fmt.Errorf("read quota of %s: %w", org, err)
		}
		return quota.MemoryFacts, nil
	}
}

// How long a start waits for erasures to be applied again, and how long between
// two tries of a store that does not answer.
const (
	firstReapply = 5 * time.Second
	reapplyEvery = 10 * time.Second
)

// reapply erases who is in the ledger again: the database may be a backup's.
func (srv *server) reapply(ctx context.Context) {
	again, err := srv.desk.Reapply(ctx)
	if err != nil {
		srv.log.Error("erasures not applied again yet", zap.Error(err))
		return
	}
	srv.forgot = true
	if again > 0 {
		srv.log.Warn("contacts of a restored database were erased again", zap.Int("contacts", again))
	}
}

// reapplyUntilDone tries again, beside the calls, what a start could not do.
func (srv *server) reapplyUntilDone(ctx context.Context) {
	for !srv.forgot {
		select {
		case <-ctx.Done():
			return
		case <-time.After(reapplyEvery):
			srv.reapply(ctx)
		}
	}
}

// recalling is an agent with a memory, and what its questions are read with.
type recalling struct {
	agent, language string
	embedder        retrieval.Embedder
	calibration     func() *retrieval.Calibration
}

// evalMemory asks a golden as calls of an agent would ask.
func (srv *server) evalMemory(ctx context.Context, agent string, questions []golden.Question) (golden.Report, error) {
	for _, r := range srv.recalls {
		if agent == "" || agent == r.agent {
			reader := golden.Reader{
				Org: calllog.DefaultOrg, Language: r.language, Embedder: r.embedder, Calibration: r.calibration(), At: time.Now(),
			}
			return reader.Ask(ctx, srv.db, questions)
		}
	}
	return golden.Report{}, fmt.Errorf("evaluate memory of %q: %w", agent, v1.ErrNoAgent)
}
