package calibrate_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"headstart/retrieval"
	"headstart/retrieval/calibrate"
	"headstart/retrieval/chunk"
	"headstart/retrieval/embed"
)

// world is a base of documents that each have a word and an axis of their own, and
// questions that lie about both as often as a test wants.
type world struct {
	r       *rand.Rand
	size    int
	vectors map[string][]float32 // of the questions, by their text
	segment *retrieval.Segment
}

func newWorld(t *testing.T, seed uint64, size int) *world {
	t.Helper()
	w := &world{r: rand.New(rand.NewPCG(seed, 8)), size: size, vectors: map[string][]float32{}}
	var chunks []chunk.Chunk
	var vectors []float32
	for i := range size {
		chunks = append(chunks, chunk.Chunk{ID: fmt.Sprintf("%03d", i), Path: word(i), Text: word(i)})
		vectors = append(vectors, w.axis(i)...)
	}
	seg, err := retrieval.Restore("world", "simple", w.Name(), w.Dim(), chunks, vectors)
	if err != nil {
		t.Fatal(err)
	}
	w.segment = seg
	return w
}

// word has no digit, so that it is one term.
func word(i int) string { return "palabra" + string(rune('a'+i/26)) + string(rune('a'+i%26)) }

func (w *world) axis(i int) []float32 {
	v := make([]float32, w.Dim())
	v[i] = 1
	return v
}

// Name, Dim and Embed make the world the embedder of its questions.
func (w *world) Name() string { return "world" }
func (w *world) Dim() int     { return w.size + 1 } // the last axis is of no document

func (w *world) Embed(_ context.Context, texts []string) ([][]float32, error) {
	var list [][]float32
	for _, text := range texts {
		v, ok := w.vectors[text]
		if !ok {
			return nil, fmt.Errorf("no question %q", text)
		}
		list = append(list, v)
	}
	return list, nil
}

// asks makes a question with words, most important first, and cosines by document.
func (w *world) asks(words []int, cosines map[int]float64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d:", len(w.vectors)) // so that no two are one
	for i, doc := range words {
		b.WriteString(strings.Repeat(" "+word(doc), len(words)-i))
	}
	v, left := make([]float32, w.Dim()), 1.0
	for doc, c := range cosines {
		v[doc] = float32(c)
		left -= c * c
	}
	v[w.size] = float32(math.Sqrt(max(0, left)))
	w.vectors[b.String()] = v
	return b.String()
}

// ranked puts a document among others, first as often as good says, else at
// another of the first four places.
func (w *world) ranked(right int, good float64) []int {
	others := slices.DeleteFunc(w.r.Perm(w.size), func(i int) bool { return i == right })
	at := 0
	if w.r.Float64() >= good {
		at = 1 + w.r.IntN(4)
	}
	return slices.Insert(others[:4], min(at, 4), right)
}

// cases are questions whose branches are right first as often as words and vectors
// say. The two err apart from one another.
func (w *world) cases(n int, words, vectors float64) []calibrate.Case {
	var list []calibrate.Case
	for range n {
		right := w.r.IntN(w.size)
		cosines := map[int]float64{}
		for i, doc := range w.ranked(right, vectors) {
			cosines[doc] = 0.5 - 0.04*float64(i)
		}
		list = append(list, known(w.asks(w.ranked(right, words), cosines), fmt.Sprintf("%03d", right)))
	}
	return list
}

// known is a case with one right answer, worth one through its place.
func known(asks, right string) calibrate.Case {
	is := func(c retrieval.RankedChunk) bool { return c.Chunk.ID == right }
	return calibrate.Case{
		Query: retrieval.Query{Text: asks}, Right: is,
		Score: func(chunks []retrieval.RankedChunk) float64 {
			if i := slices.IndexFunc(chunks, is); i >= 0 {
				return 1 / float64(i+1)
			}
			return 0
		},
	}
}

func fit(t *testing.T, w *world, cases []calibrate.Case, off ...string) calibrate.Fitted {
	t.Helper()
	f, err := calibrate.Fit(t.Context(), calibrate.Material{Segment: w.segment, Embedder: w, Cases: cases, OffTopic: off})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Validate(); err != nil || f.Embedder != "world" || f.Dim != w.Dim() || f.Calibration != *w.segment.Calibrated(&f.Calibration).Calibration() {
		t.Fatalf("%+v does not hold for the base: %v", f.Calibration, err)
	}
	return f
}

// score asks questions of the base as it is with a calibration.
func score(t *testing.T, w *world, c retrieval.Calibration, arm retrieval.Arm, cases []calibrate.Case) float64 {
	t.Helper()
	if arm != retrieval.Fused { // one that counts nothing is not asked
		c.WordsWeight, c.VectorsWeight = 1, 1
	}
	var lib retrieval.Library
	lib.Put("o", w.segment.Calibrated(&c))
	s := retrieval.NewSearcher(&lib, w)
	sum := 0.0
	for _, one := range cases {
		q := one.Query
		q.Org, q.Bases = "o", []retrieval.Attachment{{Base: "world"}}
		r, err := s.Rank(t.Context(), retrieval.Ranking{Query: q, Depth: 30, Arm: arm})
		if err != nil {
			t.Fatal(err)
		}
		sum += one.Score(r.Chunks)
	}
	return sum / float64(len(cases))
}

// TestNeverWorseThanTheBetterBranch: however good either branch is, on questions
// that it was not fitted to the calibration loses no more than noise to the better
// branch; where both are good and err apart, it gains.
func TestNeverWorseThanTheBetterBranch(t *testing.T) {
	t.Parallel()
	gained := 0
	for seed, good := range [][2]float64{{1, 0}, {0, 1}, {0.9, 0.2}, {0.3, 0.8}, {0.5, 0.5}, {0.7, 0.6}, {0.2, 0.2}, {1, 1}} {
		w := newWorld(t, uint64(seed), 40)
		f := fit(t, w, w.cases(120, good[0], good[1]))
		fresh := w.cases(200, good[0], good[1])
		words, vectors := score(t, w, f.Calibration, retrieval.Words, fresh), score(t, w, f.Calibration, retrieval.Vectors, fresh)
		fused := score(t, w, f.Calibration, retrieval.Fused, fresh)
		if fused < max(words, vectors)-0.02 {
			t.Errorf("%v: fused %.3f, words %.3f, vectors %.3f with %+v", good, fused, words, vectors, f.Calibration)
		}
		if fused > max(words, vectors)+0.05 {
			gained++
		}
		if !f.Weighed || f.Cut || math.Abs(f.All.Words-words) > 0.15 || math.Abs(f.All.Vectors-vectors) > 0.15 {
			t.Errorf("%v: told %+v, measured words %.3f, vectors %.3f", good, f.All, words, vectors)
		}
	}
	if gained < 3 {
		t.Errorf("the fusion gains in %d worlds", gained)
	}
}

// TestOneBranchAlone: a branch that knows nothing is left out where the other
// knows all.
func TestOneBranchAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, 40)
	f := fit(t, w, w.cases(60, 1, 0))
	if f.VectorsWeight != 0 || f.WordsWeight != 1 || f.All.Gain() != 0 || f.HeldOut.Gain() != 0 || f.All.Words != 1 {
		t.Fatalf("%+v", f)
	}
	f = fit(t, w, w.cases(60, 0, 1))
	if f.VectorsWeight < 0.9 || f.All.Gain() < 0 || f.All.Vectors != 1 {
		t.Fatalf("%+v", f)
	}
}

// TestHeldOut: what is told of questions held out is what half of them score with
// the weights of the other half.
func TestHeldOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 5, 40)
	cases := w.cases(80, 0.6, 0.6)
	f := fit(t, w, cases)
	var odd, even []calibrate.Case
	for i, c := range cases {
		if i%2 == 0 {
			odd = append(odd, c)
		} else {
			even = append(even, c)
		}
	}
	// The cut-offs are those of all questions, as they were when the halves were judged.
	other := func(from, on []calibrate.Case) float64 {
		c := fit(t, w, from).Calibration
		c.Weak, c.Strong = f.Weak, f.Strong
		return score(t, w, c, retrieval.Fused, on)
	}
	want := (other(even, odd) + other(odd, even)) / 2
	if math.Abs(f.HeldOut.Fitted-want) > 1e-9 || f.HeldOut.Words != f.All.Words {
		t.Fatalf("told %+v, want %v", f.HeldOut, want)
	}
}

// TestTooFew: what was declared stays.
func TestTooFew(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2, 40)
	f := fit(t, w, w.cases(calibrate.MinCases-1, 1, 0), w.asks(nil, map[int]float64{1: 0.1}))
	if f.Weighed || f.Cut || f.WordsWeight != 1 || f.VectorsWeight != 1 || f.Strong != retrieval.DefaultStrong || f.Weak > retrieval.DefaultWeak {
		t.Fatalf("%+v", f)
	}
	if f.All.Fitted != f.All.Declared || f.HeldOut != f.All {
		t.Fatalf("%+v", f)
	}
	f, err := calibrate.Fit(t.Context(), calibrate.Material{Segment: w.segment, Embedder: w})
	if err != nil || f.Weighed || f.Cut || f.Weak != retrieval.DefaultWeak {
		t.Fatalf("of no question %+v, %v", f, err)
	}
}

// TestCutOffs: between questions that the base answers and those that it does not.
func TestCutOffs(t *testing.T) {
	t.Parallel()
	type span struct{ from, to float64 }
	cases := []struct {
		name         string
		on, off      span
		weak, strong span
	}{
		{"far apart", span{0.6, 0.8}, span{0.1, 0.2}, span{0.21, 0.59}, span{0.34, 0.59}},
		{"low as a whole", span{0.15, 0.3}, span{0.01, 0.05}, span{0.05, 0.15}, span{0.08, 0.15}},
		{"high as a whole", span{0.9, 0.95}, span{0.7, 0.8}, span{0.8, 0.9}, span{0.83, 0.9}},
		{"mixed", span{0.3, 0.7}, span{0.2, 0.5}, span{0.3, 0.34}, span{0.47, 0.6}},
	}
	for _, c := range cases {
		w := newWorld(t, 3, 40)
		var list []calibrate.Case
		var off []string
		at := func(s span, i int) float64 { return s.from + (s.to-s.from)*float64(i)/39 }
		for i := range 40 {
			list = append(list, known(w.asks([]int{i}, map[int]float64{i: at(c.on, i)}), fmt.Sprintf("%03d", i)))
			off = append(off, w.asks(nil, map[int]float64{i: at(c.off, i)}))
		}
		f := fit(t, w, list, off...)
		if in := func(s span, x float64) bool { return x >= s.from && x <= s.to }; !f.Cut || !in(c.weak, f.Weak) || !in(c.strong, f.Strong) || f.Weak > f.Strong {
			t.Errorf("%s: weak %.3f, strong %.3f", c.name, f.Weak, f.Strong)
		}
	}
}

// TestWeakLeavesAnswersIn: an answer that is not the nearest chunk of its question is
// a candidate all the same.
func TestWeakLeavesAnswersIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 4, 40)
	var list []calibrate.Case
	for i := range 30 {
		list = append(list, known(w.asks(nil, map[int]float64{i: 0.22, 39: 0.3}), fmt.Sprintf("%03d", i)))
	}
	if f := fit(t, w, list); f.Weak > 0.22+1e-6 || f.Weak < 0.2 || f.Strong != retrieval.DefaultStrong {
		t.Fatalf("weak %.3f, strong %.3f", f.Weak, f.Strong)
	}
}

func TestProgressReachesItsEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 6, 40)
	last, all, steps := 0, 0, 0
	_, err := calibrate.Fit(t.Context(), calibrate.Material{
		Segment: w.segment, Embedder: w, Cases: w.cases(3, 1, 1), OffTopic: []string{w.asks(nil, nil)},
		Progress: func(done, of int) { last, all, steps = done, of, steps+1 },
	})
	if err != nil || last != all || steps != all {
		t.Fatalf("%d of %d in %d steps, %v", last, all, steps, err)
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 7, 40)
	bare, err := retrieval.Restore("bare", "simple", "", 0, []chunk.Chunk{{ID: "a", Path: "a", Text: "a"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]calibrate.Material{
		"no vectors":  {Segment: bare, Embedder: w},
		"no embedder": {Segment: w.segment},
	} {
		if _, err := calibrate.Fit(t.Context(), m); !errors.Is(err, calibrate.ErrNoVectors) {
			t.Fatalf("%s: %v", name, err)
		}
	}
	var mismatch retrieval.ErrMismatch
	if _, err := calibrate.Fit(t.Context(), calibrate.Material{Segment: w.segment, Embedder: embed.Hashing(w.Dim() + 1)}); !errors.As(err, &mismatch) || mismatch.GotDim != w.Dim()+1 {
		t.Fatalf("another embedder: %v", err)
	}
	m := calibrate.Material{Segment: w.segment, Embedder: w, Cases: []calibrate.Case{known("unknown", "000")}}
	if _, err := calibrate.Fit(t.Context(), m); err == nil || !strings.Contains(err.Error(), "unknown") {
		t.Fatalf("an embedder that fails: %v", err)
	}
	ended, end := context.WithCancelCause(t.Context())
	end(errors.New("enough"))
	m.Cases = w.cases(1, 1, 1)
	if _, err := calibrate.Fit(ended, m); err == nil || !strings.Contains(err.Error(), "enough") {
		t.Fatalf("ended: %v", err)
	}
}
