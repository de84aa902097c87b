package golden

import (
	"slices"

	"headstart/retrieval"
	"headstart/retrieval/calibrate"
)

// Material is what a calibration is fitted to: the questions that a document answers
// as cases, the others off-topic.
func Material(questions []Question) (cases []calibrate.Case, offTopic []string) {
	for _, q := range questions {
		if q.OffTopic() {
			offTopic = append(offTopic, q.Asks)
			continue
		}
		right := func(c retrieval.RankedChunk) bool { return q.Answers(c.Chunk.Path, c.Chunk.Heading) }
		cases = append(cases, calibrate.Case{
			Query: retrieval.Query{Text: q.Asks, Before: q.Before},
			Right: right,
			Score: func(chunks []retrieval.RankedChunk) float64 { return Gain(1 + slices.IndexFunc(chunks, right)) },
		})
	}
	return cases, offTopic
}
