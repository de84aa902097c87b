package encodertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"time"
)

const (
	startTries  = 3           // a port is free when chosen, not when bound
	startWithin = time.Minute // measured: under a second; a busy machine is slower
	askEvery    = 50 * time.Millisecond
	askWithin   = 10 * time.Second
	stopWithin  = 20 * time.Second
	keptOutput  = 8 << 10
)

// child is an encoder that runs as a child of this process.
type child struct {
	url  string // http://127.0.0.1:port
	cmd  *exec.Cmd
	out  *tail
	done chan struct{} // closed when the child has ended and was waited for
	err  error         // how it ended; written before done closes, read after
}

// start runs an encoder on a free port and returns when it has answered.
func start(ctx context.Context, at installed, delay time.Duration) (*child, error) {
	var failures []error
	for range startTries {
		c, err := startOnce(ctx, at, delay)
		if err == nil {
			return c, nil
		}
		failures = append(failures, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(failures...)
}

func startOnce(ctx context.Context, at installed, delay time.Duration) (*child, error) {
	program, err := exec.LookPath(at.command[0])
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	c := &child{url: fmt.Sprintf("http://127.0.0.1:%d", port), out: &tail{}, done: make(chan struct{})}
	c.cmd = exec.Command(program, at.command[1:]...)
	c.cmd.Dir = at.folder
	// Nothing is inherited: NODE_OPTIONS would be obeyed.
	c.cmd.Env = []string{"PORT=" + strconv.Itoa(port), "DELAY_MS=" + strconv.FormatInt(delay.Milliseconds(), 10)}
	c.cmd.Stdout, c.cmd.Stderr, c.cmd.WaitDelay, c.cmd.SysProcAttr = c.out, c.out, endWithin, alone()
	started := make(chan error, 1)
	go c.watch(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("run %s: %w", program, err)
	}
	if err := c.waitReady(ctx); err != nil {
		return nil, errors.Join(err, c.stop())
	}
	return c, nil
}

func freePort() (int, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("choose port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// watch starts the child and waits for it on one thread, kept for the child's
// whole life: Linux kills the child when that thread ends.
func (c *child) watch(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(c.done)
	c.err = c.cmd.Start()
	started <- c.err
	if c.err == nil {
		c.err = c.cmd.Wait()
	}
}

// waitReady asks for a vector until one comes: the model is loaded by then.
func (c *child) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startWithin, fmt.Errorf("no answer after %s", startWithin))
	defer cancel()
	client := &http.Client{Timeout: askWithin, Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		_, err := ask(ctx, client, c.url, []string{"ready?"})
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-c.done:
			return fmt.Errorf("encoder ended (%v); its last lines:\n%s", c.err, c.out)
		case <-ctx.Done():
			return fmt.Errorf("wait for encoder: %w: %w; its last lines:\n%s", context.Cause(ctx), err, c.out)
		}
	}
}

// stop ends the child with whatever it started, and waits until it is gone. That it
// has ended already is no error.
func (c *child) stop() error {
	err := killGroup(c.cmd.Process)
	timer := time.NewTimer(stopWithin)
	defer timer.Stop()
	select {
	case <-c.done:
		return nil
	case <-timer.C:
		return errors.Join(err, fmt.Errorf("encoder still there %s after it was killed", stopWithin))
	}
}

// tail keeps the end of what a child writes.
type tail struct {
	mu   sync.Mutex // guards all below: the child's pipe writes, others read
	kept []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	t.kept = t.kept[max(0, len(t.kept)-keptOutput):]
	return len(p), nil
}

// String is what was kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.kept))
}
