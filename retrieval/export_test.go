package retrieval

// Fuse fuses two lists of ids, best first, the second with a weight.
func Fuse(a, b []string, weight float64) (ids []string, scores []float64) {
	for _, c := range fuse(branch{ranked(a), 1}, branch{ranked(b), weight}) {
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

// Dot is the scan's product of two vectors.
var Dot = dot
