package retrieval

import "context"

// searchVectors returns the best chunks of each base by the cosine of their
// vectors with the question's, none below weak, ranked over all bases, and the
// best cosine of all. Every chunk is looked at: the answer is exact.
func searchVectors(ctx context.Context, segments []*Segment, question []float32, weak float64, pool int) ([]candidate, float64, error) {
	var found []candidate
	cosine := 0.0
	for i, seg := range segments {
		if seg.vectors == nil {
			continue
		}
		list, best, err := seg.nearest(ctx, int32(i), question, weak, pool)
		if err != nil {
			return nil, 0, err
		}
		cosine = max(cosine, best)
		found = append(found, list...)
	}
	return rank(found), cosine, nil
}

// nearest looks at the context between two blocks, not before the first: an
// answer of the embedder that came in the last instant is used if the base is
// small.
func (s *Segment) nearest(ctx context.Context, at int32, question []float32, weak float64, pool int) ([]candidate, float64, error) {
	top := newTop(pool)
	cosine := 0.0
	for from := 0; from < len(s.chunks); from += ctxBlock {
		if from > 0 && ctx.Err() != nil {
			return nil, 0, context.Cause(ctx)
		}
		for doc := from; doc < min(from+ctxBlock, len(s.chunks)); doc++ {
			near := float64(dot(question, s.vectors[doc*s.dim:(doc+1)*s.dim]))
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
