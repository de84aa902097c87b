package retrieval

import "slices"

// reading is what one search reads: the bases of its query, each once, and for each
// what its attachment and its calibration say.
type reading struct {
	segments []*Segment
	floors   []float64
	weights  []weights
	cutOffs  []cutOffs
	k        int    // passages at most
	skip     string // the first base that gives up a search without vectors; empty when none does
}

// reading resolves the attachments. A base attached twice counts once, as it was
// attached first; the most passages that any of them asks for are handed out.
func (s *Searcher) reading(q Query) (*reading, error) {
	if len(q.Bases) == 0 || s.library.Silent(q.Org) {
		return nil, ErrNoBase
	}
	r := &reading{}
	for _, a := range q.Bases {
		r.k = max(r.k, a.most())
		if slices.ContainsFunc(r.segments, func(seg *Segment) bool { return seg.base == a.Base }) {
			continue
		}
		seg, ok := s.library.all()[key{q.Org, a.Base}]
		if !ok || seg.large && s.large == nil {
			return nil, ErrNotReady{Base: a.Base}
		}
		r.add(seg, a)
		r.weights = append(r.weights, s.weightsOf(seg.calibration))
		r.cutOffs = append(r.cutOffs, s.cutOffsOf(seg.calibration))
	}
	if q.K > 0 {
		r.k = q.K
	}
	return r, nil
}

func (r *reading) add(seg *Segment, a Attachment) {
	r.segments = append(r.segments, seg)
	r.floors = append(r.floors, a.MinScore)
	if a.Late == LateSkip && r.skip == "" {
		r.skip = a.Base
	}
}

func (a Attachment) most() int {
	if a.K <= 0 {
		return DefaultK
	}
	return a.K
}

// asksVectors spares the embedder a question whose answer would count nothing.
func (r *reading) asksVectors() bool {
	for i, seg := range r.segments {
		if seg.embedded() && r.weights[i].vectors > 0 {
			return true
		}
	}
	return false
}
