// Package devservertest gives a test a real LiveKit server.
//
// It owns when a server starts and ends in a test binary; it never configures
// one beyond devserver's defaults. Where no server can be found or built a
// test skips with the reason, and fails when CI=true. A server that was found
// and does not start is always a failure.
package devservertest

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"headstart/worker/devserver"
)

// buildWithin bounds the first build of the server on a slow machine.
const buildWithin = 10 * time.Minute

// shared is the server of this test binary, alive while a test uses it.
var shared struct {
	mu     sync.Mutex // guards all below: tests start and end side by side
	server *devserver.Server
	users  int
}

// Start returns the server of this test binary, started by the first test that
// asks. It ends with the last test that uses it, so that nothing is left when
// the binary's leak check runs. Use room names of the test's own.
func Start(t testing.TB) *devserver.Server {
	t.Helper()
	cfg := devserver.Config{Progress: func(line string) { t.Log(line) }}
	ctx, cancel := context.WithTimeout(t.Context(), buildWithin)
	defer cancel()
	path, err := devserver.Find(ctx, cfg)
	if err != nil {
		missing(t, err)
	}
	cfg.Binary = path
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.server == nil {
		if shared.server, err = devserver.Start(ctx, cfg); err != nil {
			t.Fatalf("start livekit server: %v", err)
		}
	}
	shared.users++
	t.Cleanup(func() { release(t) })
	return shared.server
}

func missing(t testing.TB, err error) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("no livekit server, and CI=true: %v", err)
	}
	t.Skipf("no livekit server: %v", err)
}

func release(t testing.TB) {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	shared.users--
	if shared.users > 0 {
		return
	}
	if err := shared.server.Stop(); err != nil {
		t.Errorf("stop livekit server: %v", err)
	}
	shared.server = nil
}
