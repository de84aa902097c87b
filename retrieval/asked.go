package retrieval

// asked is one text put to the bases of a search: what each branch makes of every
// chunk, and the candidates of each. One search writes and reads it; close gives
// its memory back.
type asked struct {
	text     string
	segments []*Segment
	bm25     []*scratch  // a segment each; empty without the branch
	near     []*scan     // a segment each, nil where it has no vectors; empty without the branch
	words    []candidate // best first
	vectors  []candidate // best first
	cosines  []float64   // the best of each segment, below the cut-off too
	// given are the marks of what large bases gave, by id: of all that was asked at once.
	given map[string]Marks
}

func (a *asked) close() {
	for _, s := range a.bm25 {
		s.giveBack()
	}
	a.bm25 = nil
	a.forgetVectors()
}

func (a *asked) forgetVectors() {
	for _, s := range a.near {
		if s != nil {
			s.giveBack()
		}
	}
	a.near = nil
}

// bm25Of is 0 for a chunk that holds none of the words, and without the branch.
func (a *asked) bm25Of(c candidate) (score float64, ok bool) {
	if len(a.bm25) == 0 || a.segments[c.segment].large {
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
	return a.near[c.segment].cosine(int(c.doc)), true
}

// marks are what both branches make of chunks, whichever of them found each; the
// ranks only of what the branch offered, unless all are wanted.
func (a *asked) marks(chunks []candidate, ranks bool) []Marks {
	marks := make([]Marks, len(chunks))
	words, near := placesIn(a.words), placesIn(a.vectors)
	for i, c := range chunks {
		m := &marks[i]
		if given, ok := a.given[c.id]; ok && a.segments[c.segment].large {
			*m = given
			continue
		}
		m.WordRank, m.VectorRank = words[c.id], near[c.id]
		m.BM25, _ = a.bm25Of(c)
		m.Cosine, _ = a.cosineOf(c)
	}
	if ranks {
		a.count(chunks, a.bm25Of, a.countWords, func(i int) *int { return &marks[i].WordRank })
		a.count(chunks, a.cosineOf, a.countVectors, func(i int) *int { return &marks[i].VectorRank })
	}
	return marks
}

// placesIn are the places of a ranked list, from 1, by id.
func placesIn(ranked []candidate) map[string]int {
	at := make(map[string]int, len(ranked))
	for i, c := range ranked {
		at[c.id] = i + 1
	}
	return at
}

// count fills in the ranks that a branch's list does not tell: it counts the chunks
// that come before each. What the branch gives nothing has none.
func (a *asked) count(chunks []candidate, of func(candidate) (float64, bool), all func(*counting), rank func(int) *int) {
	var c counting
	for i, one := range chunks {
		if score, ok := of(one); ok && *rank(i) == 0 {
			one.score = score
			c.few = append(c.few, ranking{one, rank(i)})
		}
	}
	if len(c.few) > 0 {
		c.begin()
		all(&c)
		c.end()
	}
}

func (a *asked) countWords(c *counting) {
	for i, s := range a.bm25 {
		for _, doc := range s.touched {
			c.see(a.segments[i], doc, s.scores[doc])
		}
	}
}

// countVectors takes the true cosine only where the rough one does not tell.
func (a *asked) countVectors(c *counting) {
	for i, s := range a.near {
		if s == nil {
			continue
		}
		off := s.off()
		for doc, rough := range s.rough {
			at := c.behind(float64(rough) + off)
			if at == len(c.few) {
				continue
			}
			if c.scores[at] < float64(rough)-off {
				c.ahead[at]++
				continue
			}
			c.see(a.segments[i], int32(doc), s.cosine(doc))
		}
	}
}
