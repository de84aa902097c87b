package encodertest

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"strconv"
	"time"

	"headstart/worker/child"
)

const (
	startWithin = time.Minute // measured: under a second; a busy machine is slower
	askEvery    = 50 * time.Millisecond
	askWithin   = 10 * time.Second
)

// encoder runs as a child of this process.
type encoder struct {
	url   string // http://127.0.0.1:port
	child *child.Child
}

// start runs an encoder on a free port and returns when it has answered.
func start(ctx context.Context, at installed, delay time.Duration) (*encoder, error) {
	return child.Tries(ctx, func() (*encoder, error) { return startOnce(ctx, at, delay) })
}

func startOnce(ctx context.Context, at installed, delay time.Duration) (*encoder, error) {
	program, err := exec.LookPath(at.command[0])
	if err != nil {
		return nil, err
	}
	port, err := child.FreePort()
	if err != nil {
		return nil, err
	}
	e := &encoder{url: fmt.Sprintf("http://127.0.0.1:%d", port)}
	cmd := exec.Command(program, at.command[1:]...)
	cmd.Dir = at.folder
	// Nothing is inherited: NODE_OPTIONS would be obeyed.
	cmd.Env = []string{"PORT=" + strconv.Itoa(port), "DELAY_MS=" + strconv.FormatInt(delay.Milliseconds(), 10)}
	if e.child, err = child.Start("encoder", cmd, nil); err != nil {
		return nil, err
	}
	return e, e.awaitReady(ctx)
}

// awaitReady asks for a vector until one comes: the model is loaded by then.
func (e *encoder) awaitReady(ctx context.Context) error {
	client := &http.Client{Timeout: askWithin, Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	return e.child.Await(ctx, child.Patience{Within: startWithin, Every: askEvery}, func(ctx context.Context) error {
		_, err := ask(ctx, client, e.url, []string{"ready?"})
		return err
	})
}
