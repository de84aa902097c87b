package calibrate

import (
	"context"
	"fmt"
	"math"
	"slices"

	"headstart/retrieval"
)

// tail is how many questions of a hundred a cut-off may put on the wrong side.
const tail = 5

// cut fits the cut-offs, and returns what each question scores by the vectors alone.
func (f *fitting) cut(ctx context.Context) ([]float64, error) {
	scores := make([]float64, len(f.Cases))
	var on, right, off []float64
	even := f.fitted.Calibration // an embedder may declare that its vectors are not asked
	even.WordsWeight, even.VectorsWeight = 1, 1
	for i, one := range f.Cases {
		r, err := f.rank(ctx, &even, one.Query, retrieval.Vectors)
		if err != nil {
			return nil, fmt.Errorf("ask %q: %w", one.Query.Text, err)
		}
		scores[i] = one.Score(r.Chunks)
		on = append(on, r.Cosine)
		if cosine, ok := one.nearest(r.Chunks); ok {
			right = append(right, cosine)
		}
	}
	for _, asks := range f.OffTopic {
		r, err := f.rank(ctx, &even, retrieval.Query{Text: asks}, retrieval.Vectors)
		if err != nil {
			return nil, fmt.Errorf("ask %q: %w", asks, err)
		}
		off = append(off, r.Cosine)
	}
	f.fitted.Cut = len(on) >= MinOffTopic && len(off) >= MinOffTopic
	c := &f.fitted.Calibration
	c.Strong, c.Weak = cutOffs(c.Strong, c.Weak, on, right, off)
	return scores, nil
}

// near is how many chunks the vectors may put an answer among to have found it: one
// that is further down is not theirs to keep in.
const near = 10

// nearest is the cosine of the nearest chunk that answers.
func (c Case) nearest(chunks []retrieval.RankedChunk) (float64, bool) {
	for _, found := range chunks[:min(near, len(chunks))] {
		if c.Right(found) {
			return found.Hit.Cosine, true
		}
	}
	return 0, false
}

// cutOffs moves the declared cut-offs to what was measured: on are the best cosines
// of questions that the base answers, right those of the chunks that answer them,
// off the best of questions that it does not answer.
//
// Between the two kinds of questions lies the interval that tells them apart best;
// weak is a third into it and strong two thirds. Weak never leaves out more than one
// answer of twenty, for what is below it is no candidate either, and strong is
// reached by no more than one off-topic question of twenty.
func cutOffs(strong, weak float64, on, right, off []float64) (float64, float64) {
	if len(on) >= MinOffTopic && len(off) >= MinOffTopic {
		low, high := apart(on, off)
		weak, strong = low+(high-low)/3, low+(high-low)*2/3
		weak = min(weak, quantile(on, tail))
		strong = max(strong, quantile(off, 100-tail))
	}
	if len(right) >= MinOffTopic {
		weak = min(weak, quantile(right, tail))
	}
	weak = max(-1, weak)
	return min(1, max(strong, weak)), weak
}

// apart is the interval of cosines in which a cut parts the two kinds best, each
// kind counting the same.
func apart(on, off []float64) (low, high float64) {
	all := slices.Concat(on, off)
	slices.Sort(all)
	best := math.Inf(-1)
	for i := 1; i < len(all); i++ {
		if all[i] == all[i-1] {
			continue
		}
		at := (all[i-1] + all[i]) / 2
		if parted := above(on, at) - above(off, at); parted > best+1e-12 {
			best, low, high = parted, all[i-1], all[i]
		}
	}
	if math.IsInf(best, -1) { // all the same
		return all[0], all[0]
	}
	return low, high
}

// above is the share of cosines that reach a cut.
func above(cosines []float64, cut float64) float64 {
	n := 0
	for _, c := range cosines {
		if c >= cut {
			n++
		}
	}
	return float64(n) / float64(len(cosines))
}

// quantile is the nearest rank: the smallest value that p in a hundred do not exceed.
func quantile(cosines []float64, p int) float64 {
	sorted := slices.Sorted(slices.Values(cosines))
	return sorted[max(0, int(math.Ceil(float64(p)/100*float64(len(sorted))))-1)]
}
