package locomo

import (
	"context"
	"fmt"
	"slices"

	"headstart/memory"
	"headstart/retrieval"
	"headstart/retrieval/calibrate"
	"headstart/retrieval/chunk"
)

// Half is every other question, counted from 1 over the whole file.
type Half string

// The halves. What is fitted on one is judged on the other.
const (
	All  Half = ""
	Odd  Half = "odd"
	Even Half = "even"
)

// Of keeps the questions of a half.
func (h Half) Of(all []Conversation) []Conversation {
	if h == All {
		return all
	}
	kept := slices.Clone(all)
	n := 0
	for i, c := range kept {
		kept[i].Questions = nil
		for _, q := range c.Questions {
			if n++; n%2 == 1 == (h == Odd) {
				kept[i].Questions = append(kept[i].Questions, q)
			}
		}
	}
	return kept
}

// Calibrate fits the weights of the two branches to the questions that have an
// answer, for what a recall hands out. The facts of all conversations are one base
// there, since a contact of its own has too few questions; what is fitted is then
// used for each contact alone.
func Calibrate(ctx context.Context, all []Conversation, e retrieval.Embedder, progress func(stage string, done, all int)) (calibrate.Fitted, error) {
	if err := Embed(ctx, all, e, progress); err != nil {
		return calibrate.Fitted{}, err
	}
	m := calibrate.Material{Embedder: e, Progress: func(done, all int) { progress("calibrate", done, all) }}
	var chunks []chunk.Chunk
	var vectors []float32
	for i, c := range all {
		for _, f := range c.Facts {
			chunks = append(chunks, chunk.Chunk{ID: within(i, f.ID), Path: within(i, f.ID), Text: f.Text})
			vectors = append(vectors, f.Vector...)
		}
		for _, q := range c.Questions {
			if q.Category != Adversarial && len(q.Evidence) > 0 {
				m.Cases = append(m.Cases, q.asCase(i))
			}
		}
	}
	segment, err := retrieval.Restore("locomo", language, e.Name(), e.Dim(), chunks, vectors)
	if err != nil {
		return calibrate.Fitted{}, err
	}
	m.Segment = segment
	return calibrate.Fit(ctx, m)
}

// within keeps the turns of two conversations apart.
func within(conversation int, turn string) string { return fmt.Sprintf("%03d %s", conversation, turn) }

// asCase is worth 1 when the evidence is among the facts that a recall hands out.
func (q Question) asCase(conversation int) calibrate.Case {
	evidence := make(map[string]bool, len(q.Evidence))
	for _, id := range q.Evidence {
		evidence[within(conversation, id)] = true
	}
	right := func(c retrieval.RankedChunk) bool { return evidence[c.Chunk.ID] }
	return calibrate.Case{
		Query: retrieval.Query{Text: q.Text}, Right: right,
		Score: func(ranked []retrieval.RankedChunk) float64 {
			if slices.ContainsFunc(ranked[:min(len(ranked), memory.BestFacts)], right) {
				return 1
			}
			return 0
		},
	}
}
