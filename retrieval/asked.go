package retrieval

import (
	"slices"
	"sync"
)

// asked is one text put to the bases of a search: what each branch makes of every
// chunk, and the candidates of each. One search writes and reads it; close gives
// its memory back.
type asked struct {
	text     string
	weight   float64 // what its branches count in the fusion
	segments []*Segment
	bm25     []*scratch  // a segment each; empty without the branch
	near     []*cosines  // a segment each, nil where it has no vectors; empty without the branch
	words    []candidate // best first
	vectors  []candidate // best first
	cosines  []float64   // the best of each segment, below the cut-off too
}

func (a *asked) close() {
	for _, s := range a.bm25 {
		s.giveBack()
	}
	giveBackCosines(a.near)
	a.bm25, a.near = nil, nil
}

// cosines holds the cosine of every chunk of a segment with a question.
type cosines struct{ of []float32 }

var allCosines = sync.Pool{New: func() any { return new(cosines) }}

func borrowCosines(n int) *cosines {
	c := allCosines.Get().(*cosines)
	c.of = slices.Grow(c.of[:0], n)[:n]
	return c
}

func giveBackCosines(list []*cosines) {
	for _, c := range list {
		if c != nil {
			allCosines.Put(c)
		}
	}
}

// bm25Of is 0 for a chunk that holds none of the words, and without the branch.
func (a *asked) bm25Of(c candidate) (score float64, ok bool) {
	if len(a.bm25) == 0 {
		return 0, false
	}
	score = a.bm25[c.segment].scores[c.doc]
	return score, score > 0
}

// cosineOf is not ok without the vector branch, or in a base without vectors.
func (a *asked) cosineOf(c candidate) (cosine float64, ok bool) {
	if len(a.near) == 0 || a.near[c.segment] == nil {
		return 0, false
	}
	return float64(a.near[c.segment].of[c.doc]), true
}

// marks are what both branches make of chunks, whichever of them found each.
func (a *asked) marks(chunks []candidate) []Marks {
	words := a.places(chunks, a.words, a.bm25Of, a.eachWord)
	near := a.places(chunks, a.vectors, a.cosineOf, a.eachVector)
	marks := make([]Marks, len(chunks))
	for i, c := range chunks {
		marks[i] = Marks{WordRank: words[i], VectorRank: near[i]}
		marks[i].BM25, _ = a.bm25Of(c)
		marks[i].Cosine, _ = a.cosineOf(c)
	}
	return marks
}

// eachWord visits the chunks of a segment that hold a word of the question.
func (a *asked) eachWord(segment int, visit func(doc int32, score float64)) {
	if len(a.bm25) == 0 {
		return
	}
	s := a.bm25[segment]
	for _, doc := range s.touched {
		visit(doc, s.scores[doc])
	}
}

// eachVector visits all chunks of a segment.
func (a *asked) eachVector(segment int, visit func(doc int32, score float64)) {
	if len(a.near) == 0 || a.near[segment] == nil {
		return
	}
	for doc, cosine := range a.near[segment].of {
		visit(int32(doc), float64(cosine))
	}
}

// places are the ranks of chunks in one branch, from 1; 0 for what it gives
// nothing. For a chunk in the ranked list that is its place there; for another all
// chunks before it are counted.
func (a *asked) places(chunks, ranked []candidate, of func(candidate) (float64, bool), each func(int, func(int32, float64))) []int {
	at := make(map[string]int, len(ranked))
	for i, c := range ranked {
		at[c.id] = i + 1
	}
	places := make([]int, len(chunks))
	var rest []candidate
	for i, c := range chunks {
		score, ok := of(c)
		if places[i] = at[c.id]; places[i] == 0 && ok {
			c.score = score
			rest = append(rest, c)
		}
	}
	if len(rest) == 0 {
		return places
	}
	counted := a.count(rest, each)
	for i, c := range chunks {
		if places[i] == 0 {
			places[i] = counted[c.id]
		}
	}
	return places
}

// count ranks a few chunks among all, by looking at each of those once.
func (a *asked) count(few []candidate, each func(int, func(int32, float64))) map[string]int {
	slices.SortFunc(few, better)
	scores := make([]float64, len(few)) // side by side: most chunks tie with none
	for i, c := range few {
		scores[i] = -c.score
	}
	before := make([]int, len(few)+1) // chunks that come before few[i] and not before few[i-1]
	for segment, seg := range a.segments {
		each(segment, func(doc int32, score float64) {
			i, _ := slices.BinarySearch(scores, -score)
			for i < len(few) && few[i].score == score && few[i].id <= seg.chunks[doc].ID {
				i++
			}
			before[i]++
		})
	}
	ranks := make(map[string]int, len(few))
	sum := 0
	for i, c := range few {
		sum += before[i]
		ranks[c.id] = sum + 1
	}
	return ranks
}

// dropFar leaves out of a ranked list what is far below the best of its question.
func dropFar(ranked []candidate, best float64) []candidate {
	for i, c := range ranked {
		if c.score < best*VectorMargin {
			return ranked[:i]
		}
	}
	return ranked
}
