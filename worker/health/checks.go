package health

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"
)

// Check is something that the process tries to see whether it works.
type Check struct {
	Name  string // a label and a word in a reason: "spool"
	Fatal bool   // a failure makes / and /ready answer 503
	Do    func(context.Context) error
}

// checks repeats the self-checks and keeps what came of them.
type checks struct {
	list   []Check
	every  time.Duration
	within time.Duration
	log    *zap.Logger

	mu     sync.Mutex // guards failed: each check's goroutine writes its own, requests read
	failed []bool     // by place in list; what has not run yet has not failed
}

func newChecks(cfg Config, log *zap.Logger) *checks {
	return &checks{list: cfg.Checks, every: cfg.CheckEvery, within: cfg.CheckWithin, log: log, failed: make([]bool, len(cfg.Checks))}
}

// run repeats all checks, each by itself, until ctx ends.
func (c *checks) run(ctx context.Context) {
	var all sync.WaitGroup
	for i := range c.list {
		all.Go(func() { c.repeat(ctx, i) })
	}
	all.Wait()
}

func (c *checks) repeat(ctx context.Context, i int) {
	pause := time.NewTimer(c.every)
	defer pause.Stop()
	for {
		c.once(ctx, i)
		pause.Reset(c.every)
		select {
		case <-pause.C:
		case <-ctx.Done():
			return
		}
	}
}

// once runs a check and tells what came of it after within at the latest. It
// returns when the check has returned: a disk that hangs cannot be told to stop.
// When ctx has ended a check that hangs is left behind after within.
func (c *checks) once(ctx context.Context, i int) {
	limited, cancel := context.WithTimeoutCause(ctx, c.within, fmt.Errorf("no answer within %s", c.within))
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- c.list[i].Do(limited) }()
	select {
	case err := <-done:
		c.tell(ctx, i, err)
		return
	case <-limited.Done():
	}
	c.tell(ctx, i, context.Cause(limited))
	select {
	case err := <-done: // late: what it says counts, unless it only says that it was late
		if err == nil {
			c.tell(ctx, i, nil)
		}
		return
	case <-ctx.Done():
	}
	patience := time.NewTimer(c.within)
	defer patience.Stop()
	select {
	case <-done:
	case <-patience.C:
		c.log.Warn("self-check left behind", zap.String("check", c.list[i].Name), zap.Duration("after", c.within))
	}
}

// tell keeps an outcome, and logs it when it is another than the last one.
// What failed because the process ends has not failed.
func (c *checks) tell(ctx context.Context, i int, err error) {
	if ctx.Err() != nil {
		return
	}
	c.mu.Lock()
	before := c.failed[i]
	c.failed[i] = err != nil
	c.mu.Unlock()
	switch name := zap.String("check", c.list[i].Name); {
	case err != nil && !before:
		c.log.Error("self-check fails", name, zap.Bool("fatal", c.list[i].Fatal), zap.Error(err))
	case err == nil && before:
		c.log.Info("self-check passes again", name)
	}
}

// passes tells whether the check did not fail last time.
func (c *checks) passes(i int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.failed[i]
}

// fatal lists the checks that make the process unfit, in the order of the Config.
func (c *checks) fatal() []string {
	var names []string
	for i, check := range c.list {
		if check.Fatal && !c.passes(i) {
			names = append(names, check.Name)
		}
	}
	return names
}
