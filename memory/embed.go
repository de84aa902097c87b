package memory

import (
	"context"
	"fmt"

	"headstart/retrieval"
)

// Embed gives facts their vectors, as documents, in one request. Either all have
// theirs or, when it fails, none has. Without an embedder (nil), or with one whose
// vectors count nothing, they stay without.
func Embed(ctx context.Context, e retrieval.Embedder, facts []*Held) error {
	if retrieval.Weight(e) == 0 || len(facts) == 0 {
		return nil
	}
	texts := make([]string, len(facts))
	for i, f := range facts {
		texts[i] = f.Text
	}
	vectors, err := e.Embed(ctx, texts)
	if err != nil {
		return fmt.Errorf("embed facts with %s: %w", e.Name(), err)
	}
	if len(vectors) != len(facts) {
		return fmt.Errorf("embed facts with %s: %d vectors for %d facts", e.Name(), len(vectors), len(facts))
	}
	for _, v := range vectors {
		if len(v) != e.Dim() {
			return fmt.Errorf("embed facts with %s: a vector of %d dimensions, not %d", e.Name(), len(v), e.Dim())
		}
	}
	for i, f := range facts {
		f.Model, f.Vector = e.Name(), append([]float32(nil), vectors[i]...) // the embedder may keep its own
	}
	return nil
}
