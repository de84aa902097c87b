package embed

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"headstart/retrieval"
)

// sharedFor is how long a question's vector is kept for the other lookup of the
// same turn, which may ask a moment later. It is far below the time until
// anybody says the same again: nothing is saved between turns.
const sharedFor = time.Second

// Shared returns e with each question asked once for all who ask it at the same
// time: a turn's search and its recall share one request. One of them that gives
// up does not end the request of the other. What e declares of its weight and
// cut-offs holds, and documents go to e as they are.
func Shared(e retrieval.Embedder) retrieval.Embedder {
	return &shared{Embedder: e, questions: map[string]*question{}}
}

type shared struct {
	retrieval.Embedder

	mu        sync.Mutex // guards questions and what their fields say
	questions map[string]*question
}

// question is one request to the embedder, and its answer.
type question struct {
	waiting  int
	cancel   context.CancelCauseFunc
	answered chan struct{} // closed when what follows is there
	vector   []float32
	err      error
	at       time.Time
}

// EmbedQuery joins the request for the same text, or makes it.
func (e *shared) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	q := e.join(ctx, text)
	select {
	case <-q.answered:
	case <-ctx.Done():
	}
	return e.leave(ctx, text, q)
}

func (e *shared) join(ctx context.Context, text string) *question {
	e.mu.Lock()
	defer e.mu.Unlock()
	for key, old := range e.questions {
		if !old.at.IsZero() && (time.Since(old.at) >= sharedFor || old.err != nil) {
			delete(e.questions, key)
		}
	}
	q, ok := e.questions[text]
	if !ok {
		// It ends when the last of those who wait for it has left.
		asking, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
		q = &question{cancel: cancel, answered: make(chan struct{})}
		e.questions[text] = q
		go e.ask(asking, text, q)
	}
	q.waiting++
	return q
}

func (e *shared) ask(ctx context.Context, text string, q *question) {
	defer q.cancel(nil)
	vector, err := e.answer(ctx, text)
	e.mu.Lock()
	defer e.mu.Unlock()
	q.vector, q.err, q.at = vector, err, time.Now()
	close(q.answered)
}

// answer asks the embedder. One that panics fails the question and not the process.
func (e *shared) answer(ctx context.Context, text string) (vector []float32, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return retrieval.EmbedQuery(ctx, e.Embedder, text)
}

// leave takes the answer when it is there; the last one to go without it ends
// the request.
func (e *shared) leave(ctx context.Context, text string, q *question) ([]float32, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	q.waiting--
	if !q.at.IsZero() {
		return slices.Clone(q.vector), q.err
	}
	if q.waiting == 0 {
		q.cancel(context.Cause(ctx))
		if e.questions[text] == q {
			delete(e.questions, text)
		}
	}
	return nil, context.Cause(ctx)
}

// Warm opens the embedder's connection ahead when it has one.
func (e *shared) Warm(ctx context.Context) error {
	if w, ok := e.Embedder.(interface{ Warm(context.Context) error }); ok {
		return w.Warm(ctx)
	}
	return nil
}

func (e *shared) Weight() float64 { return retrieval.Weight(e.Embedder) }

func (e *shared) CutOffs() (strong, weak float64) { return retrieval.CutOffs(e.Embedder) }
