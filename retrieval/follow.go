package retrieval

import (
	"math"
	"slices"
	"strings"

	"headstart/retrieval/analyse"
)

const (
	// FollowUp is the most content words of a question that is short enough to lean
	// on what was said before it, whatever its words are.
	FollowUp = 4
	// lookBack is how many turns of the caller a question may lean on.
	lookBack = 2
)

// questions are what a query asks: its text, and when that leans on the turns
// before it, those and the text together. lead is what the ranked lists are made of:
// the only question, or both at once.
//
// Both at once is one question to each branch, whose scores remember how sure each
// was, as the ranks of two lists would not. Of the words it is the turns with the
// text several times over; of the vectors it is what lies between the two.
func questions(q Query, segments []*Segment) (all []*asked, lead *asked) {
	plain := &asked{text: q.Text, segments: segments}
	before := strings.Join(leansOn(q, segments), "\n")
	if before == "" {
		return []*asked{plain}, plain
	}
	content := contentOf(q.Text, segments)
	together := &asked{text: before + "\n" + q.Text, segments: segments}
	times := timesOver(content, contentOf(before, segments))
	lead = &asked{text: before + strings.Repeat("\n"+q.Text, times), segments: segments}
	return []*asked{plain, together}, lead
}

// Together is what a search of one base asks, for who asks a base by other means: the
// texts that are embedded, the plain question first and alone where it leans on no
// turn before it; and lead, whose words are asked. Of the vectors what counts is
// Between.
func Together(q Query, language *analyse.Analyser) (texts []string, lead string) {
	all, one := questions(q, []*Segment{{analyser: language}})
	for _, a := range all {
		texts = append(texts, a.text)
	}
	return texts, one.text
}

// Between is the unit vector that lies between unit vectors of one length; zeros
// where they cancel out.
func Between(vectors [][]float32) []float32 {
	unit, _ := sum(vectors)
	return unit
}

// leansOn are the turns that a question leans on, none for one that says all itself.
func leansOn(q Query, segments []*Segment) []string {
	before := worthTurns(q.Before, segments)
	if len(before) == 0 || contentOf(q.Text, segments) > FollowUp && !pointsBack(q.Text, segments) {
		return nil
	}
	return before
}

// timesOver is how many times a question is asked beside the turns before it, by
// their content words. The more it says by itself the less it needs them, and
// together they never count more than it does: "¿y cuánto cuesta la resonancia?" is
// about what it says, whatever was said before, and "¿y eso?" about that alone.
func timesOver(content, before int) int {
	content = max(1, content)
	return min(FollowUp, max(content, (before+content-1)/content))
}

// sum is the unit vector between unit vectors of the same length, and what their sum
// is scaled with to be one; 0 for vectors that cancel out.
func sum(vectors [][]float32) (unit []float32, scale float64) {
	unit = slices.Clone(vectors[0])
	for _, v := range vectors[1:] {
		for i := range unit {
			unit[i] += v[i]
		}
	}
	squares := 0.0
	for _, x := range unit {
		squares += float64(x) * float64(x)
	}
	if squares > 0 {
		scale = 1 / math.Sqrt(squares)
	}
	for i := range unit {
		unit[i] *= float32(scale)
	}
	return unit, scale
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
