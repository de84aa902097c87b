package dispatch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/livekit/protocol/livekit"
	"go.uber.org/zap"
)

var errFinished = errors.New("worker has finished")

// Client is a worker's registration with LiveKit.
type Client struct {
	cfg  Config
	url  string
	http *http.Client
	host Host
	log  *zap.Logger

	ran      atomic.Bool
	draining atomic.Bool   // written by drain, read by every answer and status
	spent    atomic.Bool   // written by stayConnected and attach
	poke     chan struct{} // capacity 1: a status is due now
	changed  chan struct{} // capacity 1: a job has gone from jobs
	work     sync.WaitGroup

	mu     sync.Mutex // guards all below
	link   *link      // nil while not registered
	jobs   map[string]*job
	unsent []*livekit.UpdateJobStatus // terminal, in order
}

// New returns a client that has not connected yet.
func New(cfg Config, host Host, log *zap.Logger) (*Client, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("check dispatch configuration: %w", err)
	}
	url, err := cfg.agentURL()
	if err != nil {
		return nil, err
	}
	return &Client{
		cfg:     cfg.withDefaults(),
		url:     url,
		http:    cfg.HTTPClient,
		host:    host,
		log:     log.Named("dispatch"),
		poke:    make(chan struct{}, 1),
		changed: make(chan struct{}, 1),
		jobs:    make(map[string]*job),
	}, nil
}

// Registered tells whether LiveKit can offer jobs at this moment.
func (c *Client) Registered() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.link != nil
}

// Spent tells whether every try to reach LiveKit was spent. Run then gives up
// as soon as no job runs, and goes on trying until then.
func (c *Client) Spent() bool { return c.spent.Load() }

// Announce sends the worker's status now rather than at the next tick: call it
// when the Host's load has changed by itself. It does not block.
func (c *Client) Announce() {
	select {
	case c.poke <- struct{}{}:
	default:
	}
}

// Run registers the worker and serves jobs. When accept ends it takes no more
// jobs, tells LiveKit so at once, and returns nil after the last running job
// has. Jobs run under calls, which must not end with accept: ending it ends
// every job. A Client runs once.
//
// It returns a ConnectError when LiveKit refuses the worker or stays
// unreachable, and ErrStuck when jobs outlive calls by StopWithin.
func (c *Client) Run(accept, calls context.Context) error {
	if c.ran.Swap(true) {
		return errors.New("run dispatch: it has run already")
	}
	if c.http == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		defer transport.CloseIdleConnections()
		c.http = &http.Client{Transport: transport}
	}
	// The connection outlives both contexts: the last reports go over it.
	life, finish := context.WithCancelCause(context.WithoutCancel(calls))
	defer finish(errFinished)
	drained := make(chan error, 1)
	go func() { drained <- c.drain(accept, calls, life, finish) }()
	err := c.stayConnected(life, calls)
	finish(errFinished)
	if stuck := <-drained; stuck != nil {
		return errors.Join(stuck, err)
	}
	c.work.Wait()
	return err
}

// drain waits for the end of accepting, then for the last job, and finishes
// the connection.
func (c *Client) drain(accept, calls, life context.Context, finish context.CancelCauseFunc) error {
	select {
	case <-accept.Done():
	case <-calls.Done():
	case <-life.Done():
		return nil
	}
	c.draining.Store(true)
	c.Announce()
	c.log.Info("draining", zap.NamedError("cause", context.Cause(accept)), zap.Int("jobs", c.count()))
	defer finish(errFinished)
	ended, overdue := calls.Done(), (<-chan time.Time)(nil)
	for c.count() > 0 {
		select {
		case <-c.changed:
		case <-life.Done():
			return nil
		case <-ended:
			timer := time.NewTimer(c.cfg.StopWithin)
			defer timer.Stop()
			ended, overdue = nil, timer.C
		case <-overdue:
			return fmt.Errorf("%w: %v after %s", ErrStuck, c.jobIDs(), c.cfg.StopWithin)
		}
	}
	return nil
}

func (c *Client) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.jobs)
}

func (c *Client) jobIDs() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids := make([]string, 0, len(c.jobs))
	for id := range c.jobs {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// stayConnected connects again and again until life ends, LiveKit refuses the
// worker, or the tries are spent and no job runs.
func (c *Client) stayConnected(life, calls context.Context) error {
	limit, known := c.cfg.FirstTries, false
	for failed := 1; ; failed++ {
		registered, lived, err := c.connect(life, calls)
		if life.Err() != nil {
			return nil
		}
		if registered {
			limit, known = c.cfg.Tries, true
		}
		if lived >= c.cfg.SteadyAfter {
			failed = 0
		}
		var refused *refusedError
		if !known && errors.As(err, &refused) {
			return c.connectError(ErrRegistration, refused.hint, failed, err)
		}
		c.spent.Store(failed >= limit)
		if failed >= limit && c.count() == 0 {
			return c.connectError(ErrUnreachable, "check that the server runs and that LIVEKIT_URL is its address", failed, err)
		}
		pause := c.cfg.pause(failed)
		c.log.Warn("not connected", zap.Error(err), zap.Int("failed", failed), zap.Duration("pause", pause))
		if !wait(life, pause) {
			return nil
		}
	}
}

func (c *Client) connectError(kind error, hint string, tries int, err error) error {
	return &ConnectError{URL: c.url, Tries: tries, Hint: hint, Kind: kind, Err: err}
}

// wait tells whether d went by before ctx ended.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
