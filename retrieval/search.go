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

	large         Large    // nil for none
	reranker      Reranker // nil for none
	reranking     Reranking
	rewriter      Rewriter // nil for none
	rewriteWithin time.Duration
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
// Several bases may be calibrated each in its own way: a chunk counts in the fusion
// what the two branches are worth in its base, is a candidate of the vectors by its
// base's cut-off, and is ranked in each branch among the chunks of all bases.
//
// When ctx ends while the embedder runs it returns at once: with the words' answer
// if the cause is ErrBudgetSpent, else with the cause. See the package comment for
// its other errors. A result without passages has EvidenceNone or what the best
// cosine says, and is a search that found nothing.
func (s *Searcher) Search(ctx context.Context, q Query) (Result, error) {
	r, err := s.reading(q)
	if err != nil {
		return Result{}, err
	}
	rewriting := s.rewrite(ctx, q, r)
	if rewriting != nil {
		defer rewriting.cancel()
	}
	a, err := s.answer(ctx, q, r, Pool, Fused)
	defer func() { a.close() }()
	if err != nil {
		return Result{}, err
	}
	if rewriting != nil {
		a, q = s.instead(ctx, rewriting, q, a)
	}
	return s.handOut(ctx, q, a)
}

// handOut puts what was found in its last order, and into sections.
func (s *Searcher) handOut(ctx context.Context, q Query, a *answer) (Result, error) {
	fused := a.fused()
	if q.Ranks {
		a.places = a.placesOf(fused)
	}
	order := s.rerank(ctx, q, a, fused)
	if ctx.Err() != nil && !errors.Is(context.Cause(ctx), ErrBudgetSpent) {
		return Result{}, fmt.Errorf("search: %w", context.Cause(ctx))
	}
	result := a.Result
	result.Passages = a.passages(order, q.Ranks)
	return result, nil
}

// answer is what a search made of a question, before anything is handed out.
type answer struct {
	Result   // without passages
	reading  *reading
	segments []*Segment        // as they were read: of a large base, what it gave
	question []float32         // the vector of lead; nil without
	all      []*asked          // the plain question first
	lead     *asked            // what is ranked: the plain question, or all at once
	judged   map[string]judged // by the reranker, by id; nil when it was not asked
	places   map[[2]string]int // after the fusion, by base and id; nil when nobody asks for them
}

func (a *answer) close() {
	for _, one := range a.texts() {
		one.close()
	}
}

// texts are all that the words are asked.
func (a *answer) texts() []*asked {
	if len(a.all) > 1 {
		return append(slices.Clip(a.all), a.lead)
	}
	return a.all
}

// answer asks the branches of an arm, and is to be closed whether or not it fails.
func (s *Searcher) answer(ctx context.Context, q Query, r *reading, pool int, arm Arm) (*answer, error) {
	a := &answer{reading: r, segments: slices.Clone(r.segments), Result: Result{Evidence: EvidenceNone}}
	if err := stopped(ctx); err != nil {
		return a, fmt.Errorf("search: %w", err)
	}
	a.all, a.lead = questions(q, r.segments)
	a.Followed = len(a.all) > 1
	if arm != Vectors {
		if err := a.words(ctx, pool); err != nil {
			return a, err
		}
	}
	words := s.largeWords(ctx, q, a, pool, arm)
	defer words.cancel()
	if arm != Words && r.asksVectors() {
		a.Degraded = s.vectors(ctx, a, pool, arm == Fused)
	}
	if err := s.joinLarge(ctx, q, a, words, pool, arm); err != nil {
		return a, err
	}
	return a, a.late(ctx)
}

func (a *answer) words(ctx context.Context, pool int) error {
	for _, one := range a.texts() {
		if err := one.searchWords(ctx, pool); err != nil {
			return fmt.Errorf("search words: %w", err)
		}
	}
	a.Branches = []Branch{Words}
	return nil
}

// late tells whether the search fails for want of its vectors.
func (a *answer) late(ctx context.Context) error {
	switch {
	case a.Degraded == nil:
		return nil
	case ctx.Err() != nil && !errors.Is(context.Cause(ctx), ErrBudgetSpent):
		return fmt.Errorf("search: %w", context.Cause(ctx))
	case a.reading.skip != "":
		return ErrLate{Base: a.reading.skip, Err: a.Degraded}
	}
	return nil
}

// passages hands out sections of what is found, best first.
func (a *answer) passages(found []candidate, ranks bool) []Passage {
	h := newHanding(a.segments, a.reading.k)
	for _, c := range found {
		h.offer(c)
	}
	passages := h.passages(a.all, ranks)
	for _, p := range passages {
		for i := range p.Hits {
			j := a.judged[p.Hits[i].ID]
			p.Hits[i].Reranked, p.Hits[i].Relevance = j.place, j.relevance
			p.Hits[i].Fused = a.places[[2]string{p.Base, p.Hits[i].ID}]
		}
	}
	return passages
}

// placesOf are the places of what is fused, from 1: two bases may hold one id.
func (a *answer) placesOf(fused []candidate) map[[2]string]int {
	places := make(map[[2]string]int, len(fused))
	for i, c := range fused {
		places[[2]string{a.segments[c.segment].base, c.id}] = i + 1
	}
	return places
}

// fused is what was found, in one order, each chunk at or above its base's floor.
func (a *answer) fused() []candidate {
	words, vectors := a.weights()
	fused := fuse(branch{a.lead.words, words}, branch{a.lead.vectors, vectors})
	return slices.DeleteFunc(fused, func(c candidate) bool { return c.score < a.reading.floors[c.segment] })
}

// weights are what each branch counts for the chunks of a base: a branch that
// answers alone counts the same in every base.
func (a *answer) weights() (words, vectors func(int32) float64) {
	none, one := func(int32) float64 { return 0 }, func(int32) float64 { return 1 }
	switch {
	case !slices.Contains(a.Branches, Vectors):
		return one, none
	case !slices.Contains(a.Branches, Words):
		return none, one
	}
	w := a.reading.weights
	return func(i int32) float64 { return w[i].words }, func(i int32) float64 { return w[i].vectors }
}

// vectors runs the vector branch of all that is asked, and writes down its
// evidence and its time. The texts are embedded side by side. The error is of the
// first that has no vectors; the others have theirs.
func (s *Searcher) vectors(ctx context.Context, a *answer, pool int, cut bool) error {
	if err := s.fit(a.reading.segments, s.embedder.Dim()); err != nil {
		return err
	}
	began := time.Now()
	answers := make([]<-chan embedded, len(a.all))
	for i, one := range a.all {
		answers[i] = s.embed(ctx, one.text)
	}
	var first error
	var answered [][]float32
	for i, one := range a.all {
		question, err := s.await(ctx, answers[i])
		a.EmbedTook = time.Since(began)
		if err == nil {
			err = s.near(ctx, a.reading, one, question, pool, cut)
		}
		if err != nil {
			first = firstOf(first, err)
			continue
		}
		answered = append(answered, question)
		a.witness(one)
	}
	if len(answered) == 0 {
		return first
	}
	a.Branches = append(a.Branches, Vectors)
	a.question = answered[0]
	return firstOf(first, s.nearAll(ctx, a, answered, pool, cut))
}

// nearAll asks the vectors all that was answered at once.
func (s *Searcher) nearAll(ctx context.Context, a *answer, answered [][]float32, pool int, cut bool) error {
	if len(a.all) == 1 {
		return nil // it is the only question
	}
	var scale float64
	a.question, scale = sum(answered)
	return s.rankNear(ctx, a.reading, a.lead, pool, cut, func(segment int) *scan { return newSum(a.scansOf(segment), scale) })
}

func firstOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// witness takes the evidence of one question's cosines.
func (a *answer) witness(one *asked) {
	for i, cosine := range one.cosines {
		if a.reading.segments[i].vectors == nil {
			continue
		}
		a.Cosine = max(a.Cosine, cosine)
		a.Evidence = stronger(a.Evidence, a.reading.cutOffs[i].judge(cosine))
	}
}

// scansOf are those of a segment, of each question that has a vector.
func (a *answer) scansOf(segment int) (scans []*scan) {
	for _, one := range a.all {
		if len(one.near) > 0 {
			scans = append(scans, one.near[segment])
		}
	}
	return scans
}

func (s *Searcher) near(ctx context.Context, r *reading, one *asked, question []float32, pool int, cut bool) error {
	if err := s.fit(one.segments, len(question)); err != nil {
		return err
	}
	return s.rankNear(ctx, r, one, pool, cut, func(segment int) *scan { return newScan(one.segments[segment], question) })
}

func (s *Searcher) rankNear(ctx context.Context, r *reading, one *asked, pool int, cut bool, scanOf func(segment int) *scan) error {
	weak := make([]float64, len(r.cutOffs))
	for i, c := range r.cutOffs {
		if weak[i] = c.weak; !cut {
			weak[i] = -1
		}
	}
	if err := one.searchVectors(ctx, scanOf, weak, pool); err != nil {
		return fmt.Errorf("search vectors: %w", err)
	}
	if cut {
		one.vectors = dropFar(one.vectors, slices.Max(one.cosines))
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

// Fits refuses, with ErrMismatch, a query of which a base holds vectors of another
// embedder than the searcher's. A call goes on by the words then, and says so; who
// looks at what vectors find wants to be told before.
func (s *Searcher) Fits(q Query) error {
	if s.embedder == nil || len(q.Bases) == 0 {
		return nil
	}
	r, err := s.reading(q)
	if err != nil {
		return err
	}
	return s.fit(r.segments, s.embedder.Dim())
}

// fits refuses to compare vectors of two models or of two lengths.
func (s *Searcher) fits(seg *Segment, dim int) error {
	if !seg.embedded() || seg.model == s.embedder.Name() && seg.dim == dim {
		return nil
	}
	return ErrMismatch{Base: seg.base, Holds: seg.model, HoldsDim: seg.dim, Got: s.embedder.Name(), GotDim: dim}
}
