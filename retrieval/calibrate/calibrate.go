// Package calibrate owns what is fitted to one base and its embedder: the evidence
// cut-offs, from questions that the base answers and questions that it does not, and
// the weights of the two branches in the fusion, from the first.
//
// It is careful rather than sharp: a fusion is preferred to the better branch alone
// only where it gains more than the noise of the questions, and where it also gains
// on questions that it was not fitted to. Where there are too few questions to tell,
// what the embedder declares stays.
//
// It stores nothing and changes no base: what it finds is a retrieval.Calibration.
// It fails with ErrNoVectors, with retrieval.ErrMismatch when the vectors are of another
// embedder, when a search fails and when ctx ends.
package calibrate

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"headstart/retrieval"
)

const (
	// MinCases is how many questions the weights are fitted to at least, and
	// MinOffTopic how many off-topic ones the cut-offs need: fewer leave what was
	// declared.
	MinCases    = 20
	MinOffTopic = 5
)

// ErrNoVectors means that the base has no vectors, or that there is no embedder to
// ask: there is nothing to weigh.
var ErrNoVectors = errors.New("the base has no vectors to weigh")

// Case is one question whose answer is known.
type Case struct {
	Query retrieval.Query // Org and Bases do not count
	// Score is what a ranking is worth, 0 to 1.
	Score func([]retrieval.RankedChunk) float64
	// Right tells a chunk that answers.
	Right func(retrieval.RankedChunk) bool
}

// Material is what a calibration is fitted to.
type Material struct {
	Segment  *retrieval.Segment
	Embedder retrieval.Embedder // that made the segment's vectors
	Cases    []Case
	OffTopic []string // questions that the base does not answer
	Depth    int      // of the rankings; 0 is retrieval.Pool, as in a search
	Progress func(done, all int)
}

// Fitted is what was fitted, and what it is worth.
type Fitted struct {
	retrieval.Calibration
	// Weighed and Cut tell whether there were questions enough to fit the weights and
	// the cut-offs.
	Weighed, Cut bool
	// All are the means of the questions, which the weights were fitted to. HeldOut
	// are means too, each half of the questions judged with the weights of the other.
	All, HeldOut Means
	// Shares is what each share of the vectors scores on all questions.
	Shares []Share
}

// Means are mean scores of the same questions.
type Means struct {
	Words, Vectors float64 // either branch alone
	Declared       float64 // both, as the embedder declares them
	Fitted         float64
}

// Gain is what the fitted weights gain over the better branch alone.
func (m Means) Gain() float64 { return m.Fitted - max(m.Words, m.Vectors) }

// Share is one share of the vectors in the fusion, 0 to 1, and its mean score.
type Share struct{ Vectors, Score float64 }

// Fit fits a calibration.
func Fit(ctx context.Context, m Material) (Fitted, error) {
	if err := fits(m); err != nil {
		return Fitted{}, fmt.Errorf("calibrate base %s: %w", m.Segment.Base(), err)
	}
	f := newFitting(m)
	if err := f.run(ctx); err != nil {
		return Fitted{}, fmt.Errorf("calibrate base %s: %w", m.Segment.Base(), err)
	}
	return f.fitted, nil
}

func fits(m Material) error {
	name, dim := m.Segment.Model()
	switch {
	case m.Embedder == nil || name == "":
		return ErrNoVectors
	case name != m.Embedder.Name() || dim != m.Embedder.Dim():
		return retrieval.ErrMismatch{Base: m.Segment.Base(), Holds: name, HoldsDim: dim, Got: m.Embedder.Name(), GotDim: m.Embedder.Dim()}
	}
	return nil
}

// fitting is one calibration under way.
type fitting struct {
	Material
	fitted Fitted
	steps  int
	done   int
}

func newFitting(m Material) *fitting {
	if m.Depth <= 0 {
		m.Depth = retrieval.Pool
	}
	if m.Progress == nil {
		m.Progress = func(int, int) {}
	}
	m.Embedder = &remembering{Embedder: m.Embedder, said: make(map[string][]float32)}
	f := &fitting{Material: m, steps: len(m.OffTopic) + len(m.Cases)*(len(shares)+2)}
	f.fitted.Calibration = declared(m)
	return f
}

// declared is what holds without a calibration.
func declared(m Material) retrieval.Calibration {
	strong, weak := retrieval.CutOffs(m.Embedder)
	return retrieval.Calibration{
		Embedder: m.Embedder.Name(), Dim: m.Embedder.Dim(), Strong: strong, Weak: weak,
		WordsWeight: 1, VectorsWeight: retrieval.Weight(m.Embedder),
	}
}

func (f *fitting) run(ctx context.Context) error {
	before := f.fitted.Calibration
	vectors, err := f.cut(ctx)
	if err != nil {
		return err
	}
	as, err := f.scores(ctx, &before, retrieval.Fused)
	if err != nil {
		return err
	}
	table := make([][]float64, len(shares))
	for i, share := range shares {
		c := f.fitted.Calibration
		c.WordsWeight, c.VectorsWeight = 1-share, share
		if table[i], err = f.scores(ctx, &c, retrieval.Fused); err != nil {
			return err
		}
	}
	f.weigh(grid{words: table[0], vectors: vectors, fused: table}, as)
	return nil
}

// rank asks a question of the base as it is with a calibration.
func (f *fitting) rank(ctx context.Context, c *retrieval.Calibration, q retrieval.Query, arm retrieval.Arm) (retrieval.Ranked, error) {
	var lib retrieval.Library
	lib.Put(org, f.Segment.Calibrated(c))
	q.Org, q.Bases = org, []retrieval.Attachment{{Base: f.Segment.Base()}}
	r, err := retrieval.NewSearcher(&lib, f.Embedder).Rank(ctx, retrieval.Ranking{Query: q, Depth: f.Depth, Arm: arm})
	if err == nil {
		err = r.Degraded
	}
	f.done++
	f.Progress(f.done, f.steps)
	return r, err
}

// org is of the library that one question is asked of, and of nobody.
const org = "calibrate"

func (f *fitting) scores(ctx context.Context, c *retrieval.Calibration, arm retrieval.Arm) ([]float64, error) {
	list := make([]float64, len(f.Cases))
	for i, one := range f.Cases {
		r, err := f.rank(ctx, c, one.Query, arm)
		if err != nil {
			return nil, fmt.Errorf("ask %q: %w", one.Query.Text, err)
		}
		list[i] = one.Score(r.Chunks)
	}
	return list, nil
}

// remembering asks an embedder once for each question, however many weights the
// question is tried with.
type remembering struct {
	retrieval.Embedder
	mu   sync.Mutex // a follow-up embeds two texts at once
	said map[string][]float32
}

// EmbedQuery keeps what the embedder does with questions.
func (e *remembering) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	e.mu.Lock()
	v, ok := e.said[text]
	e.mu.Unlock()
	if ok {
		return v, nil
	}
	v, err := retrieval.EmbedQuery(ctx, e.Embedder, text)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	e.said[text] = v
	e.mu.Unlock()
	return v, nil
}

// Weight keeps what the embedder declares.
func (e *remembering) Weight() float64 { return retrieval.Weight(e.Embedder) }

// CutOffs keeps what the embedder declares.
func (e *remembering) CutOffs() (strong, weak float64) { return retrieval.CutOffs(e.Embedder) }
