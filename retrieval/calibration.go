package retrieval

import (
	"errors"
	"fmt"
)

// Calibration is what was measured of one base with one embedder: it takes the
// place of what the embedder declares for every base.
type Calibration struct {
	Embedder string // whose vectors it was measured with; another's drop it
	Dim      int
	// Strong and Weak are the evidence cut-offs, as cosines. A vector candidate below
	// Weak is no candidate.
	Strong, Weak float64
	// WordsWeight and VectorsWeight are what the branches count in the fusion, one
	// against the other: 1 and 1 is 2 and 2. A branch of weight 0 is not asked.
	WordsWeight, VectorsWeight float64
}

// Validate joins what is wrong with it.
func (c Calibration) Validate() error {
	var wrong []error
	if !(c.Weak <= c.Strong && c.Weak >= -1 && c.Strong <= 1) {
		wrong = append(wrong, fmt.Errorf("cut-offs %v and %v: strong is at most 1, weak at most strong", c.Strong, c.Weak))
	}
	if !(c.WordsWeight >= 0 && c.VectorsWeight >= 0 && c.WordsWeight+c.VectorsWeight > 0) {
		wrong = append(wrong, fmt.Errorf("weights %v and %v: none below 0, one above", c.WordsWeight, c.VectorsWeight))
	}
	return errors.Join(wrong...)
}

// Calibrated returns the same base with a calibration, which is dropped when it is
// not of the embedder that made the vectors or is not valid. nil takes the base's away.
func (s *Segment) Calibrated(c *Calibration) *Segment {
	next := *s
	next.calibration = nil
	if c != nil && c.Embedder == s.model && c.Dim == s.dim && c.Validate() == nil {
		kept := *c
		next.calibration = &kept
	}
	return &next
}

// Calibration is what the base was calibrated with, nil where the embedder's own
// declaration holds.
func (s *Segment) Calibration() *Calibration {
	if s.calibration == nil {
		return nil
	}
	c := *s.calibration
	return &c
}

// weights are what the branches count for the chunks of one base, and sum up to 2:
// a chunk that leads both branches counts the same whichever base it is of.
type weights struct{ words, vectors float64 }

// cutOffs are those of one base.
type cutOffs struct{ strong, weak float64 }

func (s *Searcher) weightsOf(c *Calibration) weights {
	w := weights{1, Weight(s.embedder)}
	if c != nil && s.embedder != nil {
		w = weights{c.WordsWeight, c.VectorsWeight}
	}
	scale := 2 / (w.words + w.vectors)
	return weights{w.words * scale, w.vectors * scale}
}

func (s *Searcher) cutOffsOf(c *Calibration) cutOffs {
	if c != nil {
		return cutOffs{c.Strong, c.Weak}
	}
	strong, weak := CutOffs(s.embedder)
	return cutOffs{strong, weak}
}

// judge reads the best cosine of a base.
func (c cutOffs) judge(cosine float64) Evidence {
	switch {
	case cosine >= c.strong:
		return EvidenceStrong
	case cosine >= c.weak:
		return EvidenceWeak
	}
	return EvidenceNone
}

// stronger is the stronger of two.
func stronger(a, b Evidence) Evidence {
	for _, e := range []Evidence{EvidenceStrong, EvidenceWeak} {
		if a == e || b == e {
			return e
		}
	}
	return EvidenceNone
}
