package retrieval

import (
	"cmp"
	"context"
	"slices"

	"headstart/retrieval/chunk"
)

// Fuse fuses two lists of ids, best first, the second with a weight.
func Fuse(a, b []string, weight float64) (ids []string, scores []float64) {
	one, second := func(int32) float64 { return 1 }, func(int32) float64 { return weight }
	for _, c := range fuse(branch{ranked(a), one}, branch{ranked(b), second}) {
		ids, scores = append(ids, c.id), append(scores, c.score)
	}
	return ids, scores
}

func ranked(ids []string) []candidate {
	list := make([]candidate, len(ids))
	for i, id := range ids {
		list[i] = candidate{id: id}
	}
	return list
}

// Top offers candidates in order and returns the ids that are kept.
func Top(limit int, ids []string, scores []float64) []string {
	t := newTop(limit)
	for i, id := range ids {
		t.offer(candidate{id: id, score: scores[i]})
	}
	kept := []string{}
	for _, c := range t.list {
		kept = append(kept, c.id)
	}
	return kept
}

// LargeOf answers as a store would that holds the chunks of a segment.
type LargeOf struct{ Segment *Segment }

// SearchLarge implements Large.
func (l LargeOf) SearchLarge(ctx context.Context, q LargeQuery) ([]LargeHit, error) {
	seg, pool := l.Segment, cmp.Or(q.Pool, max(q.K, Pool))
	a := &asked{segments: []*Segment{seg}}
	defer a.close()
	if len(q.Terms) > 0 && q.WordsWeight > 0 {
		stats := statisticsOf(a.segments)
		var terms []queryTerm
		for _, t := range q.Terms {
			terms = append(terms, queryTerm{t, stats.idf(t)})
		}
		s := borrow(seg.Len())
		a.bm25 = []*scratch{s}
		if err := seg.words.score(ctx, s, terms, stats.mean); err != nil {
			return nil, err
		}
		a.words = seg.best(s, 0, pool)
	}
	if len(q.Vector) > 0 && q.VectorsWeight > 0 {
		if err := a.searchVectors(ctx, func(int) *scan { return newScan(seg, q.Vector) }, []float64{q.Weak}, pool); err != nil {
			return nil, err
		}
	}
	fused := fuse(branch{a.words, func(int32) float64 { return q.WordsWeight }}, branch{a.vectors, func(int32) float64 { return q.VectorsWeight }})
	fused = fused[:min(len(fused), q.K)]
	var hits []LargeHit
	for i, m := range a.marks(fused, false) {
		c := fused[i]
		hits = append(hits, LargeHit{Chunk: seg.chunks[c.doc], Marks: m, Score: c.score, Around: seg.around(int(c.doc))})
	}
	return hits, nil
}

func (s *Segment) around(doc int) []chunk.Chunk {
	var list []chunk.Chunk
	for i := max(0, doc-neighbours); i <= min(len(s.chunks)-1, doc+neighbours); i++ {
		if a, b := s.chunks[i], s.chunks[doc]; a.Path == b.Path && a.Section == b.Section {
			list = append(list, a)
		}
	}
	return list
}

// Distinct are the texts that a search with these scores would keep, by id.
func Distinct(texts map[string]string, scores map[string]float64) []string {
	seg := &Segment{}
	var list []candidate
	for id, text := range texts {
		list = append(list, candidate{id: id, score: scores[id], doc: int32(len(seg.chunks))})
		seg.chunks = append(seg.chunks, chunk.Chunk{ID: id, Text: text})
		seg.prints = append(seg.prints, printOf(text))
	}
	slices.SortFunc(list, better)
	h := hits{segments: []*Segment{seg}}
	kept := []string{}
	for _, c := range list {
		if h.take(c) {
			kept = append(kept, c.id)
		}
	}
	return kept
}

// Jaccard reports whether the index of two texts' shingles reaches least, and
// gives the shingles.
func Jaccard(a, b string, least float64) (bool, []uint64, []uint64) {
	x, y := shinglesOf(a), shinglesOf(b)
	return jaccardFrom(x, y, least), x, y
}

// MayBeLike tells whether the prints of two texts leave it open that they are alike.
func MayBeLike(a, b string) bool {
	x, y := printOf(a), printOf(b)
	return x.mayBeLike(&y)
}
