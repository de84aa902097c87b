// Package child runs a server that others wrote as a child of this process, on
// loopback, for development and for tests: a LiveKit server, a PostgreSQL, an encoder.
//
// It owns the child's start, the wait until it answers, the last lines that it wrote,
// and its end. What it is, how it is configured and what an answer looks like is its
// user's to say.
//
// How it fails. A child that ends, or is not ready in time, is an error with its last
// lines. One that does not end when it is asked to is killed with all that it started. On
// Linux the kernel kills it when this process dies.
package child

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"time"
)

const (
	tries        = 3
	kept         = 20              // lines
	drainWithin  = 5 * time.Second // for what a killed child leaves, which holds its pipes
	killedWithin = 20 * time.Second
)

// Child is a process of ours. Methods may be called from any goroutine.
type Child struct {
	name  string
	cmd   *exec.Cmd
	lines *Lines
	done  chan struct{} // closed when it has ended and was waited for
	err   error         // how it ended; written before done closes, read after
}

// Start starts a command, under the name that errors give it. Its output is kept, and
// goes on to a writer that may be nil; of its attributes those are set that keep the
// terminal's interrupt from it: whoever started it ends it, with End.
func Start(name string, cmd *exec.Cmd, onward io.Writer) (*Child, error) {
	c := &Child{name: name, cmd: cmd, lines: NewLines(kept, onward), done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = c.lines, c.lines, drainWithin
	bind(cmd)
	started := make(chan error, 1)
	go c.watch(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("run %s: %w", cmd.Path, err)
	}
	return c, nil
}

// watch starts the child and waits for it on one thread, kept for the child's whole
// life: Linux kills the child when that thread ends.
func (c *Child) watch(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(c.done)
	c.err = c.cmd.Start()
	started <- c.err
	if c.err == nil {
		c.err = c.cmd.Wait()
	}
}

// Patience is how long a child may take until it is ready, and how often it is asked.
type Patience struct{ Within, Every time.Duration }

// Await returns when ready has no error any more. A child that ends, or is not ready in
// time, is killed; the error tells why, and its last lines.
func (c *Child) Await(ctx context.Context, p Patience, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, p.Within, fmt.Errorf("no answer after %s", p.Within))
	defer cancel()
	tick := time.NewTicker(p.Every)
	defer tick.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-c.done:
			return fmt.Errorf("%s ended (%v); its last lines:\n%s", c.name, c.err, c.lines)
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("wait for %s: %w (%v); its last lines:\n%s", c.name, context.Cause(ctx), err, c.lines), c.End())
		}
	}
}

// Done is closed when the child has ended, by End or by itself.
func (c *Child) Done() <-chan struct{} { return c.done }

// Pid is the child's process id.
func (c *Child) Pid() int { return c.cmd.Process.Pid }

// LastLines are the last lines that it wrote.
func (c *Child) LastLines() string { return c.lines.String() }

// Ask is a signal that asks a child to end, and how long it may take to.
type Ask struct {
	Signal os.Signal
	Within time.Duration
}

// End asks the child to end in one way after the other, kills it when that did not help,
// and waits until it is gone. That it has ended already is no error.
func (c *Child) End(asks ...Ask) error {
	for _, ask := range asks {
		if err := c.cmd.Process.Signal(ask.Signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
			break // a system that has no such signals
		}
		if c.endsWithin(ask.Within) {
			return nil
		}
	}
	if c.endsWithin(0) {
		return nil // by itself: its number may be another's by now
	}
	err := kill(c.cmd.Process)
	if c.endsWithin(killedWithin) {
		return nil
	}
	return errors.Join(err, fmt.Errorf("end %s: still there %s after it was killed", c.name, killedWithin))
}

func (c *Child) endsWithin(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c.done:
		return true
	default:
	}
	select {
	case <-c.done:
		return true
	case <-timer.C:
		return false
	}
}

// Tries starts something up to three times: a port is free when it is chosen, not when
// it is bound.
func Tries[T any](ctx context.Context, start func() (T, error)) (none T, err error) {
	var failures []error
	for range tries {
		started, err := start()
		if err == nil {
			return started, nil
		}
		failures = append(failures, err)
		if ctx.Err() != nil {
			break
		}
	}
	return none, errors.Join(failures...)
}

// FreePort is a TCP port that was free on loopback just now.
func FreePort() (int, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("choose tcp port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// Bound makes a command that runs to its end die with its context, with all that it
// started. Its output is its user's.
func Bound(cmd *exec.Cmd) *exec.Cmd {
	bind(cmd)
	cmd.Cancel, cmd.WaitDelay = func() error { return kill(cmd.Process) }, drainWithin
	return cmd
}
