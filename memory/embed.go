package memory

import (
	"context"
	"fmt"
	"slices"

	"headstart/retrieval"
)

// embedBatch is the number of texts of one request, small enough for every
// provider's limit.
const embedBatch = 64

// Embed gives facts their vectors, as documents. Either all have theirs or, when it
// fails, none has. Without an embedder (nil), or with one whose vectors count
// nothing, they stay without.
func Embed(ctx context.Context, e retrieval.Embedder, facts []*Held) error {
	if retrieval.Weight(e) == 0 || len(facts) == 0 {
		return nil
	}
	vectors := make([][]float32, 0, len(facts))
	for batch := range slices.Chunk(facts, embedBatch) {
		more, err := embedOnce(ctx, e, batch)
		if err != nil {
			return fmt.Errorf("embed facts with %s: %w", e.Name(), err)
		}
		vectors = append(vectors, more...)
	}
	for i, f := range facts {
		f.Model, f.Vector = e.Name(), slices.Clone(vectors[i]) // the embedder may keep its own
	}
	return nil
}

// embedOnce checks at the boundary what the embedder gave.
func embedOnce(ctx context.Context, e retrieval.Embedder, facts []*Held) ([][]float32, error) {
	texts := make([]string, len(facts))
	for i, f := range facts {
		texts[i] = f.Text
	}
	vectors, err := e.Embed(ctx, texts)
	if err != nil {
		return nil, err
	}
	if len(vectors) != len(facts) {
		return nil, fmt.Errorf("%d vectors for %d facts", len(vectors), len(facts))
	}
	for _, v := range vectors {
		if len(v) != e.Dim() {
			return nil, fmt.Errorf("a vector of %d dimensions, not %d", len(v), e.Dim())
		}
	}
	return vectors, nil
}
