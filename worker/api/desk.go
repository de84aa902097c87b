package api

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"
)

// Why no visit was opened.
var (
	errFull   = errors.New("every place for typed visits is taken")
	errClosed = errors.New("no visits are taken now")
)

// handOver bounds how long a visit waits for Run to take it.
const handOver = 2 * time.Second

// desk knows the typed visits.
type desk struct {
	config   Config
	log      *zap.Logger
	openings chan opening
	closed   chan struct{} // closed when Run takes no more

	lock   sync.Mutex // guards what follows
	visits map[string]*visit
}

// opening is a visit that asks to be run.
type opening struct {
	visit  *visit
	joined chan error // one place: how joining the room went
}

func newDesk(config Config, log *zap.Logger) *desk {
	return &desk{config: config, log: log, openings: make(chan opening), closed: make(chan struct{}), visits: map[string]*visit{}}
}

// Run holds the typed visits until ctx ends, and returns nil when the last one
// is over, a few seconds later at most. Call it once.
func (p *Pages) Run(ctx context.Context) error {
	var visits sync.WaitGroup
	defer visits.Wait()
	defer close(p.desk.closed)
	for {
		select {
		case <-ctx.Done():
			return nil
		case o := <-p.desk.openings:
			visits.Go(func() {
				o.visit.run(ctx, p.config.Door, o.joined, func() { p.desk.remove(o.visit) })
			})
		}
	}
}

// open joins a room for a visitor who types, and returns when that is done.
func (d *desk) open(ctx context.Context) (*visit, error) {
	v, err := d.reserve()
	if err != nil {
		return nil, err
	}
	joined := make(chan error, 1)
	if err := d.hand(ctx, opening{visit: v, joined: joined}); err != nil {
		d.remove(v)
		return nil, err
	}
	select {
	case err := <-joined: // a visit that is run always tells
		return v, err
	case <-ctx.Done(): // nobody will watch it, and so it ends
		return nil, context.Cause(ctx)
	}
}

func (d *desk) hand(ctx context.Context, o opening) error {
	ctx, cancel := context.WithTimeoutCause(ctx, handOver, fmt.Errorf("%w: not run after %v", errClosed, handOver))
	defer cancel()
	select {
	case d.openings <- o:
		return nil
	case <-d.closed:
		return errClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// reserve takes a place, before anything is joined.
func (d *desk) reserve() (*visit, error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	if len(d.visits) >= d.config.MaxVisits {
		return nil, errFull
	}
	v := newVisit(d.config, d.log)
	d.visits[v.id] = v
	return v, nil
}

func (d *desk) remove(v *visit) {
	d.lock.Lock()
	defer d.lock.Unlock()
	delete(d.visits, v.id)
}

// find returns a visit that is not over.
func (d *desk) find(id string) (*visit, bool) {
	d.lock.Lock()
	defer d.lock.Unlock()
	v, ok := d.visits[id]
	return v, ok
}
