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
// then the vectors, one fusion over both, each chunk against the floor of its own
// attachment, near-identical chunks once, and what is left as sections, at most the
// most generous K of them. A question that leans on the turns before it is asked
// with them as well, and both are fused: see Query.Before.
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
	all := questions(q, segments)
	defer func() {
		for _, a := range all {
			a.close()
		}
	}()
	for _, a := range all {
		if err := a.searchWords(ctx, Pool); err != nil {
			return Result{}, fmt.Errorf("search words: %w", err)
		}
	}
	result := Result{Evidence: EvidenceNone, Branches: []Branch{Words}, Followed: len(all) > 1}
	if s.asksVectors(segments) {
		result.Degraded = s.vectors(ctx, all, &result)
		if result.Degraded != nil && ctx.Err() != nil && !errors.Is(context.Cause(ctx), ErrBudgetSpent) {
			return Result{}, fmt.Errorf("search: %w", context.Cause(ctx))
		}
	}
	result.Passages = s.passages(all, floors, k)
	return result, nil
}

// passages fuses what was asked and hands out sections of it.
func (s *Searcher) passages(all []*asked, floors []float64, k int) []Passage {
	var branches []branch
	for _, a := range all {
		branches = append(branches, branch{a.words, a.weight}, branch{a.vectors, a.weight * Weight(s.embedder)})
	}
	h := newHanding(all[0].segments, k)
	for _, c := range fuse(branches...) {
		if c.score >= floors[c.segment] {
			h.offer(c)
		}
	}
	return h.passages(all)
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

// vectors runs the vector branch of all that is asked, and writes down its
// evidence and its time. The texts are embedded side by side. The error is of the
// first that has no vectors; the others have theirs.
func (s *Searcher) vectors(ctx context.Context, all []*asked, result *Result) error {
	if err := s.fit(all[0].segments, s.embedder.Dim()); err != nil {
		return err
	}
	began := time.Now()
	answers := make([]<-chan embedded, len(all))
	for i, a := range all {
		answers[i] = s.embed(ctx, a.text)
	}
	var first error
	for i, a := range all {
		question, err := s.await(ctx, answers[i])
		result.EmbedTook = time.Since(began)
		if err == nil {
			err = s.near(ctx, a, question)
		}
		switch {
		case err != nil && first == nil:
			first = err
		case err != nil:
		default:
			result.Branches = []Branch{Words, Vectors}
			result.Cosine = max(result.Cosine, a.cosine)
		}
	}
	if len(result.Branches) > 1 {
		result.Evidence = judge(s.embedder, result.Cosine)
	}
	return first
}

func (s *Searcher) near(ctx context.Context, a *asked, question []float32) error {
	if err := s.fit(a.segments, len(question)); err != nil {
		return err
	}
	_, weak := CutOffs(s.embedder)
	if err := a.searchVectors(ctx, question, weak, Pool); err != nil {
		return fmt.Errorf("search vectors: %w", err)
	}
	return nil
}

func (s *Searcher) fit(segments []*Segment, dim int) error {
	for _, seg := range segments {
		if err := s.fits(seg, dim); err != nil {
			return err
		}
	}
	return nil
}

// fits refuses to compare vectors of two models or of two lengths.
func (s *Searcher) fits(seg *Segment, dim int) error {
	if seg.vectors == nil || seg.model == s.embedder.Name() && seg.dim == dim {
		return nil
	}
	return ErrMismatch{Base: seg.base, Holds: seg.model, HoldsDim: seg.dim, Got: s.embedder.Name(), GotDim: dim}
}

// embedded is the embedder's answer to a question.
type embedded struct {
	vector []float32
	err    error
}

// embed asks for the vector of a question. Its goroutine ends when the embedder
// returns, whether or not anybody waits.
func (s *Searcher) embed(ctx context.Context, text string) <-chan embedded {
	answers := make(chan embedded, 1) // so that a late answer finds room and its goroutine ends
	go func() {
		var a embedded
		defer func() {
			if p := recover(); p != nil { // on this goroutine nobody else could
				a.err = fmt.Errorf("panic: %v", p)
			}
			answers <- a
		}()
		a.vector, a.err = EmbedQuery(ctx, s.embedder, text)
	}()
	return answers
}

// await waits no longer than ctx, even for an embedder that does not listen to it.
func (s *Searcher) await(ctx context.Context, answers <-chan embedded) ([]float32, error) {
	var a embedded
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
