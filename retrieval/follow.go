package retrieval

import (
	"slices"
	"strings"
)

const (
	// FollowUp is the most content words of a question that is short enough to lean
	// on what was said before it, whatever its words are.
	FollowUp = 4
	// lookBack is how many turns of the caller a question may lean on.
	lookBack = 2
)

// questions are what a query asks: its text, and when that leans on the turns
// before it, those and the text together. The more the text says by itself, the
// less the turns count: n content words leave them 1/n of its weight. "¿Y eso?" is
// answered by what it points at, "¿y cuánto cuesta la resonancia?" by itself.
func questions(q Query, segments []*Segment) []*asked {
	all := []*asked{{text: q.Text, weight: 1, segments: segments}}
	before := worthTurns(q.Before, segments)
	if len(before) == 0 {
		return all
	}
	content := contentOf(q.Text, segments)
	if content <= FollowUp || pointsBack(q.Text, segments) {
		all = append(all, &asked{text: strings.Join(append(before, q.Text), "\n"), weight: 1 / float64(max(1, content)), segments: segments})
	}
	return all
}

// worthTurns are the last turns without those that are no query themselves: a
// number that was read out finds nothing and goes to no embedder.
func worthTurns(before []string, segments []*Segment) []string {
	var turns []string
	for _, t := range before[max(0, len(before)-lookBack):] {
		if !slices.ContainsFunc(segments, func(s *Segment) bool { return !s.analyser.Worth(t) }) {
			turns = append(turns, t)
		}
	}
	return turns
}

// contentOf counts the content words of a text, in the language of the base in
// which they are fewest.
func contentOf(text string, segments []*Segment) int {
	least := len(segments[0].analyser.Content(text))
	for _, s := range segments[1:] {
		least = min(least, len(s.analyser.Content(text)))
	}
	return least
}

func pointsBack(text string, segments []*Segment) bool {
	return slices.ContainsFunc(segments, func(s *Segment) bool { return s.analyser.PointsBack(text) })
}
