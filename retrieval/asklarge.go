package retrieval

import (
	"context"
	"fmt"
	"slices"
	"time"

	"headstart/retrieval/chunk"
)

// largeWithin bounds the search of a large base whose search has no budget.
const largeWithin = 10 * time.Second

// WithLarge returns a searcher that also reads the bases which its library knows as
// large, from where they are kept.
//
// Their chunks are ranked among those of the bases in memory, by the scores that
// both have, and fused with them once; the statistics of their words are their own,
// and what is below their cut-off is no evidence of them.
// Marks of their hits are of all that was asked at once. While the embedder is waited
// for they are asked for the words alone, so that those can answer alone. One that
// fails leaves the answer to the others, and Degraded says why; where it is the only
// one the search fails.
func (s *Searcher) WithLarge(l Large) *Searcher {
	next := *s
	next.large = l
	return &next
}

// largeAsk is a question that the large bases of a search were asked; nil asks none.
type largeAsk struct {
	places  []int32 // of each base in the query
	answers []*pendingAnswer[[]LargeHit]
}

func (l *largeAsk) cancel() {
	if l == nil {
		return
	}
	for _, p := range l.answers {
		p.cancel()
	}
}

// wait returns what came, by the base's place, and the first failure.
func (l *largeAsk) wait() (map[int32][]LargeHit, error) {
	hits := make(map[int32][]LargeHit, len(l.answers))
	var first error
	for i, p := range l.answers {
		list, err := p.wait()
		if err != nil {
			first = firstOf(first, err)
			continue
		}
		hits[l.places[i]] = list
	}
	return hits, first
}

// largeWords begins to ask the large bases for the words.
func (s *Searcher) largeWords(ctx context.Context, q Query, a *answer, pool int, arm Arm) *largeAsk {
	if arm == Vectors {
		return nil
	}
	return s.askLarge(ctx, q, a, nil, pool, Words)
}

// askLarge begins to ask; nil where no base is large.
func (s *Searcher) askLarge(ctx context.Context, q Query, a *answer, vector []float32, pool int, arm Arm) *largeAsk {
	var l *largeAsk
	for i, seg := range a.reading.segments {
		if !seg.large {
			continue
		}
		if l == nil {
			l = &largeAsk{}
		}
		query := a.reading.large(i, q.Org, vector, arm)
		query.Model = seg.model            // which the vector's fits
		query.Pool, query.K = pool, 2*pool // all candidates of both branches
		if arm != Vectors {
			query.Terms = seg.analyser.Terms(a.lead.text)
		}
		l.places = append(l.places, int32(i))
		l.answers = append(l.answers, within(ctx, largeWithin, "base "+seg.base, func(ctx context.Context) ([]LargeHit, error) {
			return s.large.SearchLarge(ctx, query)
		}))
	}
	return l
}

// large is a question to one base but for its words: a branch that is asked alone
// counts whatever its weight is, and has no cut-off.
func (r *reading) large(i int, org string, vector []float32, arm Arm) LargeQuery {
	query := LargeQuery{Org: org, Base: r.segments[i].base, Vector: vector, Weak: -1, WordsWeight: 1, VectorsWeight: 1}
	switch arm {
	case Fused:
		query.Weak, query.WordsWeight, query.VectorsWeight = r.cutOffs[i].weak, r.weights[i].words, r.weights[i].vectors
	case Words:
		query.VectorsWeight = 0
	case Vectors:
		query.WordsWeight = 0
	}
	if r.segments[i].dim == 0 {
		query.Vector, query.VectorsWeight = nil, 0
	}
	return query
}

// joinLarge takes in what the large bases gave: to words and vectors where there are
// vectors, else to the words.
func (s *Searcher) joinLarge(ctx context.Context, q Query, a *answer, words *largeAsk, pool int, arm Arm) error {
	var hits map[int32][]LargeHit
	var err error
	both := a.question != nil
	if both {
		all := s.askLarge(ctx, q, a, a.question, pool, arm)
		if all == nil {
			return nil
		}
		defer all.cancel()
		hits, err = all.wait()
		both = err == nil
	}
	if !both && words != nil {
		a.Degraded = firstOf(a.Degraded, err)
		var also map[int32][]LargeHit
		also, err = words.wait()
		for i, list := range also {
			if _, there := hits[i]; !there {
				hits = with(hits, i, list)
			}
		}
	}
	alone := !slices.ContainsFunc(a.reading.segments, func(seg *Segment) bool { return !seg.large })
	if alone && len(hits) == 0 && err != nil {
		return fmt.Errorf("search large bases: %w", err)
	}
	if alone && !both && arm != Vectors {
		a.Branches = []Branch{Words}
	}
	if err != nil {
		a.Degraded = firstOf(a.Degraded, err)
	}
	a.takeIn(hits, pool, arm)
	return nil
}

func with(hits map[int32][]LargeHit, at int32, list []LargeHit) map[int32][]LargeHit {
	if hits == nil {
		hits = make(map[int32][]LargeHit)
	}
	hits[at] = list
	return hits
}

// takeIn puts what large bases gave among the candidates of both branches, and what
// they read into segments of their own.
func (a *answer) takeIn(hits map[int32][]LargeHit, pool int, arm Arm) {
	if len(hits) == 0 {
		return
	}
	given := make(map[string]Marks)
	for i := range a.segments { // in order, for ties
		list := hits[int32(i)]
		if len(list) == 0 {
			continue
		}
		seg := a.reading.segments[i].of(list)
		a.segments[i] = seg
		for _, h := range list {
			doc := slices.IndexFunc(seg.chunks, func(c chunk.Chunk) bool { return c.ID == h.Chunk.ID })
			a.offer(candidate{id: h.Chunk.ID, segment: int32(i), doc: int32(doc)}, h.Marks, pool)
			given[h.Chunk.ID] = h.Marks
			if h.VectorRank > 0 {
				a.Cosine = max(a.Cosine, h.Cosine)
				a.Evidence = stronger(a.Evidence, a.reading.cutOffs[i].judge(h.Cosine))
			}
		}
	}
	a.lead.words, a.lead.vectors = rank(a.lead.words, len(a.segments)+1), rank(a.lead.vectors, len(a.segments)+1)
	if arm == Fused && len(a.lead.vectors) > 0 {
		a.lead.vectors = dropFar(a.lead.vectors, max(a.lead.vectors[0].score, slices.Max(append(a.lead.cosines, 0))))
	}
	for _, one := range a.texts() {
		one.given = given
	}
}

// offer makes a chunk a candidate of the branches that offered it.
func (a *answer) offer(c candidate, m Marks, pool int) {
	if m.WordRank > 0 && m.WordRank <= pool {
		c.score = m.BM25
		a.lead.words = append(a.lead.words, c)
	}
	if m.VectorRank > 0 && m.VectorRank <= pool {
		c.score = m.Cosine
		a.lead.vectors = append(a.lead.vectors, c)
	}
}

// of is the part of a large base that hits brought: they and what stands around them.
func (s *Segment) of(hits []LargeHit) *Segment {
	part := &Segment{base: s.base, analyser: s.analyser, model: s.model, dim: s.dim, large: true, partial: true}
	var chunks []chunk.Chunk
	for _, h := range hits {
		chunks = append(append(chunks, h.Chunk), h.Around...)
	}
	part.chunks = inOrder(distinct(chunks))
	part.prints, part.sizes = make([]print, len(part.chunks)), make([]float64, len(part.chunks))
	for i, c := range part.chunks {
		part.prints[i], part.sizes[i] = printOf(c.Indexed()), chunk.Tokens(c.Text)
	}
	return part
}
