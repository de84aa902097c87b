package retrieval

import "context"

// VectorMargin is how near a vector match must come to the best of its question:
// a cosine under 0.6 of it is dropped, whatever the cut-offs let through. Relative,
// because each embedder spreads its cosines otherwise: beside a best of 0.70 a match
// at 0.40 is the noise of its model, and beside a best of 0.45 one at 0.30 may be
// the answer. The words may still find what is dropped here.
const VectorMargin = 0.6

// searchVectors takes the cosine of every chunk with the text's vector, and keeps
// the best of each base, none below the base's cut-off or far below the best of all,
// ranked over all bases. Every chunk is looked at: the answer is exact.
func (a *asked) searchVectors(ctx context.Context, question []float32, weak []float64, pool int) error {
	near := make([]*cosines, len(a.segments))
	best := make([]float64, len(a.segments))
	var found []candidate
	for i, seg := range a.segments {
		if seg.vectors == nil {
			continue
		}
		near[i] = borrowCosines(seg.Len())
		list, cosine, err := seg.nearest(ctx, int32(i), question, near[i].of, weak[i], pool)
		if err != nil {
			giveBackCosines(near)
			return err
		}
		best[i] = cosine
		found = append(found, list...)
	}
	a.near, a.cosines = near, best
	a.vectors = rank(found)
	return nil
}

// nearest looks at the context between two blocks, not before the first: an
// answer of the embedder that came in the last instant is used if the base is
// small.
func (s *Segment) nearest(ctx context.Context, at int32, question, all []float32, weak float64, pool int) ([]candidate, float64, error) {
	top := newTop(pool)
	cosine := 0.0
	for from := 0; from < len(s.chunks); from += ctxBlock {
		if from > 0 && ctx.Err() != nil {
			return nil, 0, context.Cause(ctx)
		}
		for doc := from; doc < min(from+ctxBlock, len(s.chunks)); doc++ {
			all[doc] = dot(question, s.vectors[doc*s.dim:(doc+1)*s.dim])
			near := float64(all[doc])
			cosine = max(cosine, near)
			if near >= weak && top.wants(near) {
				top.offer(candidate{score: near, id: s.chunks[doc].ID, segment: at, doc: int32(doc)})
			}
		}
	}
	return top.list, cosine, nil
}

// dot is the cosine of two unit vectors of one length. Eight sums run side by
// side, so that no addition waits for the one before.
func dot(a, b []float32) float32 {
	var s0, s1, s2, s3, s4, s5, s6, s7 float32
	for len(a) >= 8 && len(b) >= 8 {
		x, y := a[:8:8], b[:8:8]
		s0 += x[0] * y[0]
		s1 += x[1] * y[1]
		s2 += x[2] * y[2]
		s3 += x[3] * y[3]
		s4 += x[4] * y[4]
		s5 += x[5] * y[5]
		s6 += x[6] * y[6]
		s7 += x[7] * y[7]
		a, b = a[8:], b[8:]
	}
	for i := range min(len(a), len(b)) {
		s0 += a[i] * b[i]
	}
	return ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))
}
