package calibrate

import "math"

// shares are the shares of the vectors in the fusion that are tried: finer at the
// ends, where one branch only breaks the other's near ties. At a share of 0.016 the
// first of the vectors outweighs one place at the top of the words.
var shares = []float64{
	0, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.07, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5,
	0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.93, 0.95, 0.96, 0.97, 0.98, 0.985, 0.99, 1,
}

// grid is what each question scores with each share.
type grid struct {
	words, vectors []float64   // either branch alone, a question each
	fused          [][]float64 // by share, then by question
}

// weigh fits the weights, and tells what they are worth. as is what each question
// scores as the embedder declares them.
func (f *fitting) weigh(g grid, as []float64) {
	all := every(len(f.Cases), 0, 1)
	f.fitted.Weighed = len(f.Cases) >= MinCases
	f.fitted.All = Means{Words: mean(g.words, all), Vectors: mean(g.vectors, all), Declared: mean(as, all), Fitted: mean(as, all)}
	f.fitted.HeldOut = f.fitted.All
	for i, share := range shares {
		f.fitted.Shares = append(f.fitted.Shares, Share{share, mean(g.fused[i], all)})
	}
	if !f.fitted.Weighed {
		return
	}
	best := g.fit(all)
	f.fitted.WordsWeight, f.fitted.VectorsWeight = 1-shares[best], shares[best]
	f.fitted.All.Fitted = mean(g.fused[best], all)
	f.fitted.HeldOut.Fitted = mean(g.heldOut(all, 2, g.fit), every(len(all), 0, 1))
}

// folds is how many parts a choice is tried on, each with what the others choose.
const folds = 10

// fit is the share that is chosen, unless choosing one loses on questions that it was
// not chosen by, more than one standard error: then what it gained was noise, and
// the better branch stays alone.
func (g grid) fit(of []int) int {
	best, base := g.choose(of), g.better(of)
	if best == base {
		return base
	}
	alone := make([]float64, len(of))
	for i, q := range of {
		alone[i] = g.fused[base][q]
	}
	if gain, noise := difference(g.heldOut(of, folds, g.choose), alone, every(len(of), 0, 1)); gain < -noise {
		return base
	}
	return best
}

// better is the share of the better branch alone: the words, which wait for no
// embedder, unless the vectors are surely better.
func (g grid) better(of []int) int {
	if gain, noise := difference(g.vectors, g.words, of); gain > 0 && gain > noise*doubt(len(of)) {
		return len(shares) - 1
	}
	return 0
}

// choose is the share whose gain over the better branch alone is surest: by its
// mean less its noise. Where no gain is above 0 the branch alone stays.
func (g grid) choose(of []int) int {
	base := g.better(of)
	best, sure := base, 0.0
	for i := range shares {
		gain, noise := difference(g.smooth(i), g.fused[base], of)
		if gain -= noise * doubt(len(of)); gain > sure+1e-9 {
			best, sure = i, gain
		}
	}
	return best
}

// doubt is how many standard errors a gain must exceed: one of many questions, and
// more of few, among which the best of so many shares is good by chance.
func doubt(questions int) float64 { return 1 + MinCases/float64(max(1, questions)) }

// smooth is a share's scores with those of its neighbours: a peak of one share is
// chance.
func (g grid) smooth(i int) []float64 {
	if i == 0 || i == len(shares)-1 {
		return g.fused[i]
	}
	list := make([]float64, len(g.fused[i]))
	for q := range list {
		list[q] = (g.fused[i-1][q] + 2*g.fused[i][q] + g.fused[i+1][q]) / 4
	}
	return list
}

// heldOut is what each question scores with the share that the other parts pick.
func (g grid) heldOut(of []int, parts int, pick func([]int) int) []float64 {
	scores := make([]float64, len(of))
	for part := range parts {
		var others []int
		for i, q := range of {
			if i%parts != part {
				others = append(others, q)
			}
		}
		share := pick(others)
		for _, i := range every(len(of), part, parts) {
			scores[i] = g.fused[share][of[i]]
		}
	}
	return scores
}

// every is from, from+step and so on, below n.
func every(n, from, step int) []int {
	var list []int
	for i := from; i < n; i += step {
		list = append(list, i)
	}
	return list
}

func mean(scores []float64, of []int) float64 {
	sum := 0.0
	for _, i := range of {
		sum += scores[i]
	}
	return sum / float64(max(1, len(of)))
}

// difference is the mean of a less b, and its standard error: of the same
// questions, so that how hard they are does not count.
func difference(a, b []float64, of []int) (gain, noise float64) {
	n := float64(len(of))
	if n < 2 {
		return 0, math.Inf(1)
	}
	gain = mean(a, of) - mean(b, of)
	sum := 0.0
	for _, i := range of {
		d := a[i] - b[i] - gain
		sum += d * d
	}
	return gain, math.Sqrt(sum / (n - 1) / n)
}
