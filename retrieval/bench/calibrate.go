package bench

import (
	"context"
	"fmt"

	"headstart/retrieval"
	"headstart/retrieval/beir"
	"headstart/retrieval/calibrate"
)

// Calibrate fits the weights of the two branches to half of the questions, asked the way
// that the others are.
func (c *Collection) Calibrate(ctx context.Context, half Half, w Way) (calibrate.Fitted, error) {
	s, ok := c.ranker.(*shelf)
	if !ok {
		return calibrate.Fitted{}, fmt.Errorf("only what is searched in memory can be calibrated here, not %s", c.Store)
	}
	m := calibrate.Material{Segment: s.segment, Embedder: c.Embedder, Depth: w.depth()}
	if w.Progress != nil {
		m.Progress = func(done, all int) { w.Progress("calibrate", done, all) }
	}
	for _, q := range half.Of(c.Questions) {
		m.Cases = append(m.Cases, calibrate.Case{
			Query: w.query(q),
			Score: func(chunks []retrieval.RankedChunk) float64 { return beir.Score(q.Judged, found(chunks)).NDCG10 },
			Right: func(c retrieval.RankedChunk) bool { return q.Judged[c.Chunk.ID] > 0 },
		})
	}
	return calibrate.Fit(ctx, m)
}
