package retrieval

import (
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
