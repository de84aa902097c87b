package retrieval

import (
	"context"
	"slices"
	"sync"

	"headstart/retrieval/cosine"
)

// VectorMargin is how near a vector match must come to the best of its question:
// a cosine under 0.6 of it is dropped, whatever the cut-offs let through. Relative,
// because each embedder spreads its cosines otherwise: beside a best of 0.70 a match
// at 0.40 is the noise of its model, and beside a best of 0.45 one at 0.30 may be
// the answer. The words may still find what is dropped here.
const VectorMargin = 0.6

// scan is what one question's vector makes of one segment: the rough cosine of every
// chunk, and the true one of whichever is asked for.
type scan struct {
	question *cosine.Question
	rough    []float32 // a chunk each
	sums     [ctxBlock]int32
	// parts are scans of the same segment that this one adds up, each cosine scale
	// times: of a question that lies between theirs. It has no question of its own.
	parts []*scan
	scale float64
}

var scans = sync.Pool{New: func() any { return new(scan) }}

func newScan(seg *Segment, question []float32) *scan {
	s := scans.Get().(*scan)
	s.question = seg.vectors.Ask(question)
	s.rough = slices.Grow(s.rough[:0], seg.Len())[:seg.Len()]
	return s
}

// newSum is the scan of the question that lies between those of the parts. It costs no
// look at a vector: cosines add up.
func newSum(parts []*scan, scale float64) *scan {
	s := scans.Get().(*scan)
	s.parts, s.scale = parts, scale
	s.rough = slices.Grow(s.rough[:0], len(parts[0].rough))[:len(parts[0].rough)]
	return s
}

// off is how far a rough cosine may be from the true one.
func (s *scan) off() float64 {
	if s.question != nil {
		return s.question.Off()
	}
	off := 1e-6 // the last digits of the sum
	for _, p := range s.parts {
		off += s.scale * p.off()
	}
	return off
}

// cosine is the true one.
func (s *scan) cosine(doc int) float64 {
	if s.question != nil {
		return s.question.True(doc)
	}
	sum := 0.0
	for _, p := range s.parts {
		sum += p.cosine(doc)
	}
	return max(-1, min(1, s.scale*sum))
}

// look takes the rough cosines of a block of chunks.
func (s *scan) look(from, to int) []float32 {
	block := s.rough[from:to]
	if s.question != nil {
		s.question.Rough(from, block, s.sums[:])
		return block
	}
	clear(block)
	for _, p := range s.parts {
		for i, rough := range p.rough[from:to] {
			block[i] += rough
		}
	}
	for i := range block {
		block[i] *= float32(s.scale)
	}
	return block
}

func (s *scan) giveBack() {
	s.question, s.parts = nil, nil
	scans.Put(s)
}

// searchVectors takes the cosine of every chunk with the text's vector, by a scan of
// each segment, and keeps
// the best of each base, none below the base's cut-off, ranked over all bases. Every
// chunk is looked at: the answer is exact.
func (a *asked) searchVectors(ctx context.Context, scanOf func(segment int) *scan, weak []float64, pool int) error {
	a.near = make([]*scan, len(a.segments))
	a.cosines = make([]float64, len(a.segments))
	var found []candidate
	for i, seg := range a.segments {
		if seg.vectors == nil {
			continue
		}
		a.near[i] = scanOf(i)
		list, best, err := seg.nearest(ctx, int32(i), a.near[i], weak[i], pool)
		if err != nil {
			a.forgetVectors()
			return err
		}
		a.cosines[i] = best
		found = append(found, list...)
	}
	a.vectors = rank(found, len(a.segments))
	return nil
}

// nearest looks at the context between two blocks, not before the first: an
// answer of the embedder that came in the last instant is used if the base is
// small. The best is of all chunks, below the cut-off too, and 0 at least.
func (s *Segment) nearest(ctx context.Context, at int32, near *scan, weak float64, pool int) ([]candidate, float64, error) {
	top := newTop(pool)
	best, off := 0.0, near.off()
	for from := 0; from < len(s.chunks); from += ctxBlock {
		if from > 0 && ctx.Err() != nil {
			return nil, 0, context.Cause(ctx)
		}
		block := near.look(from, min(from+ctxBlock, len(s.chunks)))
		least := float32(min(best, top.least(weak)) - off)
		for i, rough := range block {
			if rough < least { // its true cosine neither enters nor is the best
				continue
			}
			doc := from + i
			cosine := near.cosine(doc)
			best = max(best, cosine)
			if cosine >= weak && top.wants(cosine) {
				top.offer(candidate{score: cosine, id: s.chunks[doc].ID, segment: at, doc: int32(doc)})
			}
			least = float32(min(best, top.least(weak)) - off)
		}
	}
	return top.list, best, nil
}

// dropFar leaves out of a ranked list what is far below the best of its question.
func dropFar(ranked []candidate, best float64) []candidate {
	for i, c := range ranked {
		if c.score < best*VectorMargin {
			return ranked[:i]
		}
	}
	return ranked
}
