package retrieval

import (
	"context"
	"fmt"
	"time"
)

// pendingAnswer is an answer that somebody is asked for, under a deadline.
type pendingAnswer[T any] struct {
	over   <-chan struct{} // closed at the deadline
	why    func() error    // over is closed; nil before
	cancel context.CancelFunc
	given  chan given[T]
}

type given[T any] struct {
	value T
	err   error
}

// within begins to ask, and waits for nothing. Its goroutine ends when ask returns,
// whether or not anybody waits.
func within[T any](ctx context.Context, limit time.Duration, what string, ask func(context.Context) (T, error)) *pendingAnswer[T] {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%s was late: not there after %v", what, limit))
	p := &pendingAnswer[T]{
		over: ctx.Done(), why: func() error { return context.Cause(ctx) }, cancel: cancel,
		given: make(chan given[T], 1), // room for a late answer
	}
	go func() {
		var g given[T]
		defer func() {
			if r := recover(); r != nil { // on this goroutine nobody else could
				g.err = fmt.Errorf("panic: %v", r)
			}
			p.given <- g
		}()
		g.value, g.err = ask(ctx)
	}()
	return p
}

// wait waits no longer than the deadline, even for one who does not listen to its
// context.
func (p *pendingAnswer[T]) wait() (T, error) {
	var g given[T]
	select {
	case g = <-p.given:
	case <-p.over:
		select {
		case g = <-p.given: // both came in the same instant
		default:
			return g.value, p.why()
		}
	}
	if why := p.why(); g.err != nil && why != nil {
		return g.value, why
	}
	return g.value, g.err
}
