package retrieval

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

const (
	// DefaultK is how many passages an attachment asks for when it does not say.
	DefaultK = 8
	// Pool is how many candidates a branch gives of each base: enough that a small
	// base is not crowded out by a large one before it is read.
	Pool = 30
)

// Searcher searches the bases of a library. It is immutable and safe for
// concurrent use.
type Searcher struct {
	library  *Library
	embedder Embedder
}

// NewSearcher returns a searcher of a library. Without an embedder (nil) the
// words answer alone, and that is not degraded.
func NewSearcher(library *Library, embedder Embedder) *Searcher {
	return &Searcher{library: library, embedder: embedder}
}

// Search looks a question up in every base of the query at once: the words,
// then the vectors, one fusion over both, each passage against the floor of its
// own attachment, and at most the most generous K of them.
//
// When ctx ends while the embedder runs it returns at once: with the words' answer
// if the cause is ErrBudgetSpent, else with the cause. See the package comment for
// its other errors. A result without passages has EvidenceNone or what the best
// cosine says, and is a search that found nothing.
func (s *Searcher) Search(ctx context.Context, q Query) (Result, error) {
	segments, floors, k, err := s.bases(q)
	if err != nil {
		return Result{}, err
	}
	if ctx.Err() != nil {
		return Result{}, fmt.Errorf("search: %w", context.Cause(ctx))
	}
	words, err := searchWords(ctx, segments, q.Text, Pool)
	if err != nil {
		return Result{}, fmt.Errorf("search words: %w", err)
	}
	result := Result{Evidence: EvidenceNone, Branches: []Branch{Words}}
	branches := []branch{{words, 1}}
	if s.asksVectors(segments) {
		near, err := s.vectors(ctx, segments, q.Text, &result)
		switch {
		case err == nil:
			branches = append(branches, branch{near, Weight(s.embedder)})
			result.Branches = append(result.Branches, Vectors)
		case ctx.Err() != nil && !errors.Is(context.Cause(ctx), ErrBudgetSpent):
			return Result{}, fmt.Errorf("search: %w", context.Cause(ctx))
		default:
			result.Degraded = err
		}
	}
	result.Passages = passages(fuse(branches...), segments, floors, k)
	return result, nil
}

// bases resolves the attachments, a base attached twice counting once: its
// segments, the floor of each, and the most passages that one of them asks for.
func (s *Searcher) bases(q Query) (segments []*Segment, floors []float64, k int, err error) {
	if len(q.Bases) == 0 {
		return nil, nil, 0, ErrNoBase
	}
	for _, a := range q.Bases {
		k = max(k, a.most())
		if slices.ContainsFunc(segments, func(seg *Segment) bool { return seg.base == a.Base }) {
			continue
		}
		seg, ok := s.library.Get(q.Org, a.Base)
		if !ok {
			return nil, nil, 0, ErrNotReady{Base: a.Base}
		}
		segments = append(segments, seg)
		floors = append(floors, a.MinScore)
	}
	return segments, floors, k, nil
}

func (a Attachment) most() int {
	if a.K <= 0 {
		return DefaultK
	}
	return a.K
}

// asksVectors spares the embedder a question whose answer would count nothing.
func (s *Searcher) asksVectors(segments []*Segment) bool {
	return Weight(s.embedder) > 0 &&
		slices.ContainsFunc(segments, func(seg *Segment) bool { return len(seg.vectors) > 0 })
}

// vectors runs the vector branch, and writes down its evidence and its time.
func (s *Searcher) vectors(ctx context.Context, segments []*Segment, text string, result *Result) ([]candidate, error) {
	for _, seg := range segments {
		if err := s.fits(seg, s.embedder.Dim()); err != nil {
			return nil, err
		}
	}
	began := time.Now()
	question, err := s.embed(ctx, text)
	result.EmbedTook = time.Since(began)
	if err != nil {
		return nil, err
	}
	for _, seg := range segments {
		if err := s.fits(seg, len(question)); err != nil {
			return nil, err
		}
	}
	_, weak := CutOffs(s.embedder)
	near, cosine, err := searchVectors(ctx, segments, question, weak, Pool)
	if err != nil {
		return nil, fmt.Errorf("search vectors: %w", err)
	}
	result.Cosine, result.Evidence = cosine, judge(s.embedder, cosine)
	return near, nil
}

// fits refuses to compare vectors of two models or of two lengths.
func (s *Searcher) fits(seg *Segment, dim int) error {
	if seg.vectors == nil || seg.model == s.embedder.Name() && seg.dim == dim {
		return nil
	}
	return ErrMismatch{Base: seg.base, Holds: seg.model, HoldsDim: seg.dim, Got: s.embedder.Name(), GotDim: dim}
}

// embed asks for the vector of a question and waits no longer than ctx, even for
// an embedder that does not listen to it.
func (s *Searcher) embed(ctx context.Context, text string) ([]float32, error) {
	type answer struct {
		vector []float32
		err    error
	}
	answers := make(chan answer, 1) // so that a late answer finds room and its goroutine ends
	go func() {
		var a answer
		defer func() {
			if p := recover(); p != nil { // on this goroutine nobody else could
				a.err = fmt.Errorf("panic: %v", p)
			}
			answers <- a
		}()
		a.vector, a.err = EmbedQuery(ctx, s.embedder, text)
	}()
	var a answer
	select {
	case a = <-answers:
	case <-ctx.Done():
		select {
		case a = <-answers: // both came in the same instant
		default:
			return nil, fmt.Errorf("embedder %s was late: %w", s.embedder.Name(), context.Cause(ctx))
		}
	}
	switch {
	case a.err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("embedder %s was late: %w", s.embedder.Name(), context.Cause(ctx))
	case a.err != nil:
		return nil, fmt.Errorf("embed with %s: %w", s.embedder.Name(), a.err)
	}
	question := slices.Clone(a.vector)
	if err := normalise(question); err != nil {
		return nil, fmt.Errorf("embed with %s: %w", s.embedder.Name(), err)
	}
	return question, nil
}

// passages takes the first k that reach the floor of their own base.
func passages(fused []candidate, segments []*Segment, floors []float64, k int) []Passage {
	var list []Passage
	for _, c := range fused {
		if c.score < floors[c.segment] {
			continue
		}
		if len(list) == k {
			break
		}
		p := segments[c.segment].passage(c.doc)
		p.Score = c.score
		list = append(list, p)
	}
	return list
}
