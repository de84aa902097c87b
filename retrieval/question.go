package retrieval

import (
	"context"
	"fmt"
	"slices"
)

// embedded is the embedder's answer to a question.
type embedded struct {
	vector []float32
	err    error
}

// embed asks for the vector of a question. Its goroutine ends when the embedder
// returns, whether or not anybody waits.
func (s *Searcher) embed(ctx context.Context, text string) <-chan embedded {
	answers := make(chan embedded, 1) // so that a late answer finds room and its goroutine ends
	go func() {
		var a embedded
		defer func() {
			if p := recover(); p != nil { // on this goroutine nobody else could
				a.err = fmt.Errorf("panic: %v", p)
			}
			answers <- a
		}()
		a.vector, a.err = EmbedQuery(ctx, s.embedder, text)
	}()
	return answers
}

// await waits no longer than ctx, even for an embedder that does not listen to it.
func (s *Searcher) await(ctx context.Context, answers <-chan embedded) ([]float32, error) {
	var a embedded
	select {
	case a = <-answers:
	case <-ctx.Done():
		select {
		case a = <-answers: // both came in the same instant
		default:
			return nil, fmt.Errorf("embedder %s was late: %w", s.embedder.Name(), context.Cause(ctx))
		}
	}
	switch {
	case a.err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("embedder %s was late: %w", s.embedder.Name(), context.Cause(ctx))
	case a.err != nil:
		return nil, fmt.Errorf("embed with %s: %w", s.embedder.Name(), a.err)
	}
	question := slices.Clone(a.vector)
	if err := normalise(question); err != nil {
		return nil, fmt.Errorf("embed with %s: %w", s.embedder.Name(), err)
	}
	return question, nil
}
