package beir

import (
	"cmp"
	"math"
	"slices"
)

// Found is one document of a ranking.
type Found struct {
	ID    string
	Score float64
}

// Scores are what rankings score: of one query, or the mean of several.
type Scores struct {
	NDCG10, Recall10, Recall100 float64
	// MRR is one through the place of the first relevant document, however deep the
	// ranking goes (trec_eval's recip_rank).
	MRR float64
}

// Score reads one ranking against the judgements of its query, as trec_eval does:
// by falling score whatever the order of the list, and of equal scores the greater
// id first; a document that nobody judged is not relevant; a relevant one that was
// not found, or is not even in the corpus, still counts in what could have been
// reached. A query without a relevant document scores 0.
//
// nDCG takes a judgement as its gain, and the logarithm of the place plus one, to
// base 2, as its discount.
func Score(judged map[string]int, ranking []Found) Scores {
	gains := gainsOf(judged, ranking)
	relevant := ideal(judged)
	if len(relevant) == 0 {
		return Scores{}
	}
	return Scores{
		NDCG10:    dcg(gains, 10) / dcg(relevant, 10),
		Recall10:  float64(hits(gains, 10)) / float64(len(relevant)),
		Recall100: float64(hits(gains, 100)) / float64(len(relevant)),
		MRR:       reciprocal(gains),
	}
}

// gainsOf are the gains in the order in which trec_eval reads a ranking.
func gainsOf(judged map[string]int, ranking []Found) []int {
	sorted := slices.Clone(ranking)
	slices.SortFunc(sorted, func(a, b Found) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.ID, a.ID))
	})
	gains := make([]int, len(sorted))
	for i, f := range sorted {
		gains[i] = max(0, judged[f.ID])
	}
	return gains
}

// ideal are the gains of the relevant documents, best first.
func ideal(judged map[string]int) []int {
	var gains []int
	for _, g := range judged {
		if g > 0 {
			gains = append(gains, g)
		}
	}
	slices.SortFunc(gains, func(a, b int) int { return cmp.Compare(b, a) })
	return gains
}

func dcg(gains []int, k int) float64 {
	sum := 0.0
	for i, g := range gains[:min(k, len(gains))] {
		sum += float64(g) / math.Log2(float64(i+2))
	}
	return sum
}

func hits(gains []int, k int) int {
	n := 0
	for _, g := range gains[:min(k, len(gains))] {
		if g > 0 {
			n++
		}
	}
	return n
}

func reciprocal(gains []int) float64 {
	if i := slices.IndexFunc(gains, func(g int) bool { return g > 0 }); i >= 0 {
		return 1 / float64(i+1)
	}
	return 0
}

// Mean is the mean of the scores of queries, each counting the same; zero of none.
func Mean(list []Scores) Scores {
	var m Scores
	for _, s := range list {
		m.NDCG10 += s.NDCG10
		m.Recall10 += s.Recall10
		m.Recall100 += s.Recall100
		m.MRR += s.MRR
	}
	n := float64(max(1, len(list)))
	return Scores{m.NDCG10 / n, m.Recall10 / n, m.Recall100 / n, m.MRR / n}
}
