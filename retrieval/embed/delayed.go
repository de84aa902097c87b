package embed

import (
	"context"
	"time"

	"headstart/retrieval"
)

// Delayed returns e with d of waiting before each call: the network that a demo
// or a test does not have. It ends early, with the cause, when ctx does. What e
// declares of its weight and cut-offs holds.
func Delayed(e retrieval.Embedder, d time.Duration) retrieval.Embedder {
	return &delayed{Embedder: e, d: d}
}

type delayed struct {
	retrieval.Embedder
	d time.Duration
}

func (e *delayed) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if err := e.wait(ctx); err != nil {
		return nil, err
	}
	return e.Embedder.Embed(ctx, texts)
}

// EmbedQuery keeps what e does with questions.
func (e *delayed) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	if err := e.wait(ctx); err != nil {
		return nil, err
	}
	return retrieval.EmbedQuery(ctx, e.Embedder, text)
}

func (e *delayed) wait(ctx context.Context) error {
	timer := time.NewTimer(e.d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (e *delayed) Weight() float64 { return retrieval.Weight(e.Embedder) }

func (e *delayed) CutOffs() (strong, weak float64) { return retrieval.CutOffs(e.Embedder) }
