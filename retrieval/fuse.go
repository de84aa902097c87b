package retrieval

import (
	"cmp"
	"slices"
)

// rrfK flattens the first ranks of reciprocal rank fusion: 60, as Elastic,
// OpenSearch and the paper have it. A list's nth counts 1/(rrfK+n).
const rrfK = 60

// candidate is a chunk that a branch found.
type candidate struct {
	score   float64 // the branch's own: BM25 or cosine, then the fused one
	id      string
	segment int32 // its base's place in the query
	doc     int32 // its place in the segment
}

// better orders candidates: by score, ties by id, so that one base or many, and
// one run or another, give the same order.
func better(a, b candidate) int {
	if c := cmp.Compare(b.score, a.score); c != 0 {
		return c
	}
	return cmp.Compare(a.id, b.id)
}

// top keeps the best candidates that it is offered.
type top struct {
	limit int
	list  []candidate // best first
}

func newTop(limit int) *top { return &top{limit: limit, list: make([]candidate, 0, limit+1)} }

// wants reports whether a score may enter; it spares the caller the candidate.
func (t *top) wants(score float64) bool {
	return len(t.list) < t.limit || score >= t.list[t.limit-1].score
}

func (t *top) offer(c candidate) {
	if !t.wants(c.score) {
		return
	}
	at, _ := slices.BinarySearchFunc(t.list, c, better)
	if at >= t.limit {
		return
	}
	t.list = slices.Insert(t.list, at, c)
	t.list = t.list[:min(len(t.list), t.limit)]
}

// least is the least score that may enter, and at least a floor.
func (t *top) least(floor float64) float64 {
	if len(t.list) < t.limit {
		return floor
	}
	return max(floor, t.list[t.limit-1].score)
}

// rank orders what the bases gave for one branch. A chunk that came twice counts
// once, at its best: ranks are of chunks, not of copies. What one base gives is in
// order, and holds no chunk twice.
func rank(found []candidate, bases int) []candidate {
	if bases == 1 {
		return found
	}
	slices.SortStableFunc(found, better)
	seen := make(map[string]bool, len(found))
	return slices.DeleteFunc(found, func(c candidate) bool {
		again := seen[c.id]
		seen[c.id] = true
		return again
	})
}

// branch is one ranked list and what it counts for the chunks of each base.
type branch struct {
	ranked []candidate
	weight func(segment int32) float64
}

// fuse joins ranked lists by their ranks, from 1; a chunk that a list does not
// hold, or for which it counts nothing, gets nothing from it. The scores are read
// relative to the best, so the first is 1: they order one answer and compare no two.
func fuse(branches ...branch) []candidate {
	most := 0
	for _, b := range branches {
		most += len(b.ranked)
	}
	at, fused := make(map[string]int, most), make([]candidate, 0, most)
	for _, b := range branches {
		for i, c := range b.ranked {
			weight := b.weight(c.segment)
			if weight <= 0 {
				continue
			}
			j, ok := at[c.id]
			if !ok {
				j = len(fused)
				at[c.id] = j
				c.score = 0
				fused = append(fused, c)
			}
			fused[j].score += weight / float64(rrfK+i+1)
		}
	}
	slices.SortFunc(fused, better)
	if len(fused) > 0 {
		best := fused[0].score
		for i := range fused {
			fused[i].score /= best
		}
	}
	return fused
}
