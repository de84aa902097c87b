package retrieval

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// Evidence cut-offs of an embedder that declares none.
const (
	DefaultStrong = 0.45
	DefaultWeak   = 0.30
)

// weighted is an Embedder that declares what its branch counts in the fusion
// against 1 for the words. At 0 the branch is not asked.
type weighted interface{ Weight() float64 }

// calibrated is an Embedder that declares its evidence cut-offs: a best cosine
// of strong and above is strong evidence, below weak it is none.
type calibrated interface {
	CutOffs() (strong, weak float64)
}

// Weight is what the vectors of e count in the fusion: what it declares with a
// method Weight() float64, else 1. Without an embedder it is 0.
func Weight(e Embedder) float64 {
	if e == nil {
		return 0
	}
	if w, ok := e.(weighted); ok {
		return max(0, w.Weight())
	}
	return 1
}

// CutOffs are the evidence cut-offs of e: what it declares with a method
// CutOffs() (strong, weak float64), else the defaults.
func CutOffs(e Embedder) (strong, weak float64) {
	if c, ok := e.(calibrated); ok {
		return c.CutOffs()
	}
	return DefaultStrong, DefaultWeak
}

// questioner is an Embedder that treats a question unlike a document: its model
// knows the difference, or it asks its server with less patience.
type questioner interface {
	EmbedQuery(ctx context.Context, text string) ([]float32, error)
}

// EmbedQuery is the vector that e gives a question: by its method
// EmbedQuery(ctx, text) ([]float32, error) when it has one, else by Embed, as a
// document. The two give vectors of one space.
func EmbedQuery(ctx context.Context, e Embedder, text string) ([]float32, error) {
	if q, ok := e.(questioner); ok {
		return q.EmbedQuery(ctx, text)
	}
	vectors, err := e.Embed(ctx, []string{text})
	switch {
	case err != nil:
		return nil, err
	case len(vectors) != 1:
		return nil, fmt.Errorf("%d vectors for one text", len(vectors))
	}
	return vectors[0], nil
}

// errNotFinite means that an embedder gave what is no vector.
var errNotFinite = errors.New("vector is not finite")

// normalise makes v a unit vector in place. Embedders owe us that already;
// their rounding does not show in a cosine above 1 then. Zeros stay.
func normalise(v []float32) error {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if math.IsNaN(sum) || math.IsInf(sum, 0) {
		return errNotFinite
	}
	if sum == 0 {
		return nil
	}
	scale := float32(1 / math.Sqrt(sum))
	for i := range v {
		v[i] *= scale
	}
	return nil
}

// EmbedTexts asks an embedder for the unit vectors of texts that a base will hold,
// and refuses what is not as it declares: with ErrMismatch for another length.
func EmbedTexts(ctx context.Context, e Embedder, base string, texts []string) ([][]float32, error) {
	return embed(ctx, e, base, texts)
}

// embed asks e and checks at the boundary what it gave: as many vectors as
// texts, each of the length that e declares.
func embed(ctx context.Context, e Embedder, base string, texts []string) ([][]float32, error) {
	vectors, err := e.Embed(ctx, texts)
	if err != nil {
		return nil, fmt.Errorf("embed with %s: %w", e.Name(), err)
	}
	if len(vectors) != len(texts) {
		return nil, fmt.Errorf("embed with %s: %d vectors for %d texts", e.Name(), len(vectors), len(texts))
	}
	for i, v := range vectors {
		if len(v) != e.Dim() {
			return nil, ErrMismatch{Base: base, Holds: e.Name(), HoldsDim: e.Dim(), Got: e.Name(), GotDim: len(v)}
		}
		vectors[i] = append([]float32(nil), v...) // the embedder may keep its own
		if err := normalise(vectors[i]); err != nil {
			return nil, fmt.Errorf("embed with %s: text %d: %w", e.Name(), i, err)
		}
	}
	return vectors, nil
}
