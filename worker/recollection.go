package worker

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"headstart/memory"
	"headstart/turn"
)

// loadWithin bounds the loading of a contact's facts, from when the call knows
// who is on the line; while it rings, as a rule.
const loadWithin = 5 * time.Second

// Recollect makes the recall of one call of the facts that are held of its
// contact. It may ask an embedder for vectors that a crash took.
type Recollect func(ctx context.Context, held []memory.Held) (turn.Recaller, error)

// recollection is what one call remembers of its contact: it is loaded while
// the call begins, and read by the conversation's recalls.
type recollection struct {
	contact string
	loaded  chan struct{} // closed once recall or err is there
	recall  turn.Recaller
	err     error
	stop    context.CancelCauseFunc
	erased  atomic.Bool // the contact was forgotten meanwhile
}

// Forget makes the calls that are on with a contact recall nothing any more, and
// counts them. What a model was told already it cannot take back.
func (w *Worker) Forget(contact string) (calls int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for r := range w.recalling {
		if r.contact == contact {
			r.erased.Store(true)
			calls++
		}
	}
	return calls
}

// recalls counts a recollection among those of calls that are on, or no more.
func (w *Worker) recalls(r *recollection, on bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.recalling == nil {
		w.recalling = map[*recollection]bool{}
	}
	if w.recalling[r] = true; !on {
		delete(w.recalling, r)
	}
}

// forgetMemory lets go of what a call remembers.
func (c *call) forgetMemory() {
	if c.memory != nil {
		c.memory.stop(errCallOver)
		c.worker.recalls(c.memory, false)
	}
}

// errCallOver is why what a call still loads is given up.
var errCallOver = errors.New("the call is over")

// recollect begins to load what is held of a contact. It returns nil for nobody,
// and without a memory policy: then nothing is recalled and nothing logged. A
// contact that is being loaded already is not loaded again.
func (c *call) recollect(ctx context.Context, contact *memory.Contact) *recollection {
	if contact == nil || c.served.Agent.Memory == nil || c.served.Recollect == nil || c.worker.cfg.Facts == nil {
		return nil
	}
	if c.memory != nil {
		if c.memory.contact == contact.ID {
			return c.memory
		}
		c.forgetMemory() // the dispatch named another than who came
	}
	loading, stop := context.WithCancelCause(context.WithoutCancel(ctx)) // finish ends it
	r := &recollection{contact: contact.ID, loaded: make(chan struct{}), stop: stop}
	c.memory = r
	c.worker.recalls(r, true)
	c.beside("facts", func() { r.load(loading, c.worker.cfg, c.served.Recollect) })
	return r
}

// load reads the facts, with a deadline of its own.
func (r *recollection) load(ctx context.Context, cfg Config, recollect Recollect) {
	defer close(r.loaded)
	defer func() {
		if p := recover(); p != nil {
			r.err = fmt.Errorf("load facts: panic: %v", p)
		}
	}()
	ctx, cancel := context.WithTimeoutCause(ctx, loadWithin, fmt.Errorf("facts not loaded within %v", loadWithin))
	defer cancel()
	held, err := cfg.Facts.Current(ctx, cfg.Org, r.contact)
	if err == nil {
		r.recall, err = recollect(ctx, held)
	}
	if err != nil {
		r.err = fmt.Errorf("load facts: %w", errors.Join(err, context.Cause(ctx)))
	}
}

// Recall implements turn.Recaller. Whose facts they are was settled when the
// call began: nothing that is asked can change it.
func (r *recollection) Recall(ctx context.Context, q memory.Query) (memory.Recalled, error) {
	select {
	case <-r.loaded:
	case <-ctx.Done():
		return memory.Recalled{}, fmt.Errorf("facts are not loaded yet: %w", context.Cause(ctx))
	}
	switch {
	case r.err != nil:
		return memory.Recalled{}, r.err
	case r.erased.Load():
		return memory.Recalled{}, nil
	}
	return r.recall.Recall(ctx, q)
}
