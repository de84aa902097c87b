package retrieval

import (
	"context"
	"math"
	"sync"

	"headstart/retrieval/analyse"
)

// BM25 as Lucene computes it since version 8: its default k1 and b, and without
// the factor (k1+1), which changes no order.
const (
	bm25K1 = 1.2
	bm25B  = 0.75
)

// posting says how often a term stands in one chunk.
type posting struct{ doc, count int32 }

// index is the words of one segment.
type index struct {
	postings map[string][]posting // by term, in the order of the chunks
	lengths  []int32              // terms of each chunk
	total    int64                // terms of all
}

// indexer fills an index, chunk by chunk.
type indexer struct {
	index
	analyser *analyse.Analyser
	counts   map[string]int32 // of the chunk at hand
	order    []string         // its terms as they first came
}

func newIndexer(a *analyse.Analyser) *indexer {
	return &indexer{analyser: a.Remembering(), index: index{postings: make(map[string][]posting)}, counts: make(map[string]int32)}
}

func (b *indexer) add(text string) {
	clear(b.counts)
	b.order = b.order[:0]
	terms := b.analyser.Terms(text)
	for _, t := range terms {
		if b.counts[t]++; b.counts[t] == 1 {
			b.order = append(b.order, t)
		}
	}
	doc := int32(len(b.lengths))
	for _, t := range b.order {
		b.postings[t] = append(b.postings[t], posting{doc, b.counts[t]})
	}
	b.lengths = append(b.lengths, int32(len(terms)))
	b.total += int64(len(terms))
}

// statistics are those of the bases of one search together: a term that is rare
// elsewhere and common here is common.
type statistics struct {
	segments []*Segment
	chunks   float64
	mean     float64 // terms of a chunk
}

func statisticsOf(segments []*Segment) statistics {
	s := statistics{segments: segments}
	var total int64
	for _, seg := range segments {
		s.chunks += float64(seg.Len())
		total += seg.words.total
	}
	s.mean = max(1, float64(total)/max(1, s.chunks))
	return s
}

// idf is ln(1 + (N - df + 0.5) / (df + 0.5)), never negative.
func (s statistics) idf(term string) float64 {
	df := 0.0
	for _, seg := range s.segments {
		df += float64(len(seg.words.postings[term]))
	}
	return math.Log(1 + (s.chunks-df+0.5)/(df+0.5))
}

// queryTerm is a term of a question with what one chunk that holds it is worth.
type queryTerm struct {
	term   string
	weight float64 // idf × times asked
}

// terms are the terms of a question in the language of a base, each once, in
// the order of the question: sums of floats depend on it.
func (s statistics) terms(a *analyse.Analyser, text string) []queryTerm {
	at := make(map[string]int)
	var terms []queryTerm
	var idfs []float64
	for _, t := range a.Terms(text) {
		if i, ok := at[t]; ok {
			terms[i].weight += idfs[i]
			continue
		}
		at[t] = len(terms)
		idf := s.idf(t)
		idfs = append(idfs, idf)
		terms = append(terms, queryTerm{t, idf})
	}
	return terms
}

// searchWords scores every chunk that holds a word of the text, and keeps the
// best of each base, ranked over all bases.
func (a *asked) searchWords(ctx context.Context, pool int) error {
	stats := statisticsOf(a.segments)
	terms := make(map[string][]queryTerm) // by language
	var found []candidate
	for i, seg := range a.segments {
		language := seg.analyser.Language()
		if _, ok := terms[language]; !ok {
			terms[language] = stats.terms(seg.analyser, a.text)
		}
		s := borrow(seg.Len())
		a.bm25 = append(a.bm25, s)
		if err := seg.words.score(ctx, s, terms[language], stats.mean); err != nil {
			return err
		}
		found = append(found, seg.best(s, int32(i), pool)...)
	}
	a.words = rank(found, len(a.segments))
	return nil
}

// scratch holds one score a chunk, all zero between uses. It may be longer than
// its segment.
type scratch struct {
	scores  []float64
	touched []int32
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func borrow(n int) *scratch {
	s := scratches.Get().(*scratch)
	if len(s.scores) < n {
		s.scores = make([]float64, n)
	}
	return s
}

// most tells whether the chunks that were touched are so many of n that going through
// all in order is quicker than through them as they came.
func (s *scratch) most(n int) bool { return len(s.touched) > n/8 }

func (s *scratch) giveBack() {
	if s.most(len(s.scores)) {
		clear(s.scores)
	} else {
		for _, doc := range s.touched {
			s.scores[doc] = 0
		}
	}
	s.touched = s.touched[:0]
	scratches.Put(s)
}

func (x *index) score(ctx context.Context, s *scratch, terms []queryTerm, mean float64) error {
	for _, t := range terms {
		for list := x.postings[t.term]; len(list) > 0; {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			n := min(ctxBlock, len(list))
			x.add(s, list[:n], t.weight, mean)
			list = list[n:]
		}
	}
	return nil
}

func (s *Segment) best(scores *scratch, at int32, pool int) []candidate {
	best := newTop(pool)
	least := best.least(math.SmallestNonzeroFloat64) // a chunk that was not touched has 0
	offer := func(doc int32, score float64) {
		best.offer(candidate{score: score, id: s.chunks[doc].ID, segment: at, doc: doc})
		least = best.least(least)
	}
	if scores.most(s.Len()) {
		for doc, score := range scores.scores[:s.Len()] {
			if score >= least {
				offer(int32(doc), score)
			}
		}
		return best.list
	}
	for _, doc := range scores.touched {
		if score := scores.scores[doc]; score >= least {
			offer(doc, score)
		}
	}
	return best.list
}

func (x *index) add(s *scratch, list []posting, weight, mean float64) {
	for _, p := range list {
		if s.scores[p.doc] == 0 {
			s.touched = append(s.touched, p.doc)
		}
		tf := float64(p.count)
		s.scores[p.doc] += weight * tf / (tf + bm25K1*(1-bm25B+bm25B*float64(x.lengths[p.doc])/mean))
	}
}
