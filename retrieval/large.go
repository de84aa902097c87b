package retrieval

import (
	"context"

	"headstart/retrieval/chunk"
)

// Large searches the bases that are too large to hold, where they are kept: each
// by one statement over its own words' statistics.
type Large interface {
	// SearchLarge returns the best of one base in fused order, ties by the chunk's id:
	// the K best, or all that match when they are fewer. It returns when ctx ends.
	SearchLarge(ctx context.Context, q LargeQuery) ([]LargeHit, error)
}

// LargeQuery is one question to one large base.
type LargeQuery struct {
	Org, Base string
	// Terms are the question's, analysed in the language of the base, each as often as
	// it was asked. Empty: the vectors answer alone.
	Terms []string
	// Vector is the question's, of unit length, and Model is whose: another than the
	// base's is refused, when it is told. Empty: the words answer alone.
	Vector []float32
	Model  string
	// Weak is the cosine below which a chunk is no candidate of the vectors, and so is
	// one below VectorMargin of the best; at -1 or less every chunk is a candidate.
	Weak float64
	// WordsWeight and VectorsWeight are what the branches count in the fusion, which is
	// reciprocal rank fusion with k 60 as in memory; a branch of weight 0 is not asked.
	WordsWeight, VectorsWeight float64
	// K is how many hits at most.
	K int
	// Pool is how many candidates each branch gives the fusion; 0 is K, and at least the
	// constant Pool.
	Pool int
}

// LargeHit is one chunk that a large base gave.
type LargeHit struct {
	Chunk chunk.Chunk
	// Marks are of both branches, whichever found it. BM25 is as in memory (k1 1.2,
	// b 0.75, without the factor k1+1), Cosine is of the stored vector. A rank is 0
	// where the branch did not offer the chunk.
	Marks
	Score float64 // fused, not relative
	// Around are the chunks of its heading in its file, two either side at most, itself
	// among them, in the order of the file.
	Around []chunk.Chunk
}
