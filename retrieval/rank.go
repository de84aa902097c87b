package retrieval

import (
	"context"
	"errors"
	"fmt"
	"time"

	"headstart/retrieval/chunk"
)

// Arm is what of a search is ranked: one of its branches alone, or both.
type Arm = Branch

// Fused is both branches as Search fuses them, with the cut-offs of the vectors. A
// branch alone is ranked whole: Words, or Vectors without any cut-off.
const Fused Arm = "fused"

// Ranking asks for a ranked list in place of passages: what evaluation and
// benchmarks measure.
type Ranking struct {
	Query     // K does not count
	Depth int // chunks at most, and candidates a branch a base when that is more than Pool
	Arm   Arm // empty is Fused
}

// Ranked is a ranked list of chunks: no sections, nothing collapsed.
type Ranked struct {
	Chunks []RankedChunk
	Result // without passages
	// SearchTook is the time of the ranking without EmbedTook, and without what only
	// the telling needs: the marks.
	SearchTook time.Duration
}

// RankedChunk is one chunk of a ranked list.
type RankedChunk struct {
	Base  string
	Chunk chunk.Chunk
	Hit   Hit // Marks are 0 for the branch that the arm leaves out
}

// ErrNoVectors means that vectors were to be ranked alone, and no base of the query
// or no embedder has any.
var ErrNoVectors = errors.New("no vectors to rank")

// Rank ranks the chunks of the bases of a query. It fails as Search does, and also
// when the vectors that it is to rank alone are not there.
func (s *Searcher) Rank(ctx context.Context, q Ranking) (Ranked, error) {
	if q.Arm == "" {
		q.Arm = Fused
	}
	began := time.Now()
	r, err := s.reading(q.Query)
	if err != nil {
		return Ranked{}, err
	}
	if q.Arm == Vectors && !r.asksVectors() {
		return Ranked{}, ErrNoVectors
	}
	a, err := s.answer(ctx, q.Query, r, max(q.Depth, Pool), q.Arm)
	defer a.close()
	if err == nil && q.Arm == Vectors && a.Degraded != nil {
		err = fmt.Errorf("rank vectors: %w", a.Degraded)
	}
	if err != nil {
		return Ranked{}, err
	}
	fused := a.fused()
	fused = fused[:min(len(fused), max(0, q.Depth))]
	ranked := Ranked{Result: a.Result, SearchTook: time.Since(began) - a.EmbedTook}
	ranked.Chunks = a.tell(fused, q.Ranks)
	return ranked, nil
}

// tell writes chunks out with what was asked made of each.
func (a *answer) tell(fused []candidate, ranks bool) []RankedChunk {
	list := make([]RankedChunk, len(fused))
	for i, hit := range hitsOf(a.all, fused, ranks) {
		seg := a.segments[fused[i].segment]
		list[i] = RankedChunk{Base: seg.base, Chunk: seg.chunks[fused[i].doc], Hit: hit}
	}
	return list
}
