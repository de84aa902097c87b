package retrieval

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// Reranker judges how well texts answer a question, each by reading both together.
type Reranker interface {
	// Rerank returns a score a text, in order, the higher the better: of one question's
	// texts, and comparable to nothing else. It returns when ctx ends.
	Rerank(ctx context.Context, question string, texts []string) ([]float64, error)
}

// Reranking is when a reranker is asked, for what, and how long it may take.
type Reranking struct {
	// Pool is how many of the best chunks of the fused order are judged, all of them
	// before any is cut off; 0 is Pool.
	Pool int
	// K is how many passages the agent is handed at most; 0 is DefaultK.
	K int
	// Within is how long it may take; 0 is a second. The search's own context ends it
	// sooner.
	Within time.Duration
	// Spoken asks it on spoken channels too, where what it takes is silence.
	Spoken bool
}

// ErrPool means that a reranker could change nothing: it would be handed no more than
// what is handed out anyway.
type ErrPool struct{ Pool, K int }

// Error implements error.
func (e ErrPool) Error() string {
	return fmt.Sprintf("a pool of %d is no larger than the %d passages that are handed out: a reranker finds what stands below them, and there would be nothing; make it several times as large", e.Pool, e.K)
}

func (r Reranking) withDefaults() Reranking {
	r.Pool, r.K, r.Within = cmp.Or(r.Pool, Pool), cmp.Or(r.K, DefaultK), cmp.Or(r.Within, time.Second)
	return r
}

// Validate refuses a pool that is no larger than K.
func (r Reranking) Validate() error {
	if r = r.withDefaults(); r.Pool <= r.K {
		return ErrPool{r.Pool, r.K}
	}
	return nil
}

// WithReranker returns a searcher that has the fused order judged once more, on the
// channels that it is for. When it is late or fails the fused order stands, and
// Result.Unranked says why.
func (s *Searcher) WithReranker(r Reranker, how Reranking) (*Searcher, error) {
	if err := how.Validate(); err != nil {
		return nil, fmt.Errorf("set up reranker: %w", err)
	}
	next := *s
	next.reranker, next.reranking = r, how.withDefaults()
	return &next, nil
}

// judged is what the reranker made of a chunk.
type judged struct {
	place     int // from 1
	relevance float64
}

// rerank puts the best of the fused order into the reranker's, and what it was not
// asked for after them. It reads a chunk as both branches do.
func (s *Searcher) rerank(ctx context.Context, q Query, a *answer, fused []candidate) []candidate {
	if s.reranker == nil || len(fused) < 2 || !q.Written && !s.reranking.Spoken {
		return fused
	}
	if s.reranking.Pool <= a.reading.k {
		a.Unranked = ErrPool{s.reranking.Pool, a.reading.k}
		return fused
	}
	pool := fused[:min(len(fused), s.reranking.Pool)]
	texts := make([]string, len(pool))
	for i, c := range pool {
		texts[i] = a.segments[c.segment].chunks[c.doc].Indexed()
	}
	scores, err := s.judge(ctx, q.Text, texts)
	if err != nil {
		a.Unranked = fmt.Errorf("rerank: %w", err)
		return fused
	}
	return append(a.reorder(pool, scores), fused[len(pool):]...)
}

func (s *Searcher) judge(ctx context.Context, question string, texts []string) ([]float64, error) {
	p := within(ctx, s.reranking.Within, "reranker", func(ctx context.Context) ([]float64, error) {
		return s.reranker.Rerank(ctx, question, texts)
	})
	defer p.cancel()
	scores, err := p.wait()
	if err == nil && len(scores) != len(texts) {
		err = fmt.Errorf("%d scores for %d texts", len(scores), len(texts))
	}
	return scores, err
}

// reorder sorts by what was judged; ties stand as they were fused.
func (a *answer) reorder(pool []candidate, scores []float64) []candidate {
	order := make([]int, len(pool))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(scores[y], scores[x]) })
	list := make([]candidate, len(pool))
	a.judged = make(map[string]judged, len(pool))
	for place, i := range order {
		list[place] = pool[i]
		a.judged[pool[i].id] = judged{place + 1, scores[i]}
	}
	return list
}
