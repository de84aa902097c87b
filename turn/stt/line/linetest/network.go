// Package linetest is what adapters on a line are tested with: a network of
// pipes for bubbles, where no socket may be, and a call that is fed in real
// time. It owns no vendor's protocol: the handler is the vendor. It fails the
// test when an adapter holds the caller up.
package linetest

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
)

// wire is a network of pipes, for bubbles, where no socket may be.
type wire struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (w *wire) Accept() (net.Conn, error) {
	select {
	case c := <-w.conns:
		return c, nil
	case <-w.done:
		return nil, net.ErrClosed
	}
}

func (w *wire) Close() error {
	w.once.Do(func() { close(w.done) })
	return nil
}

func (w *wire) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func (w *wire) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case w.conns <- far:
		return near, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Serve makes an HTTP client whose every connection reaches the handler.
func Serve(t *testing.T, handler http.Handler) *http.Client {
	t.Helper()
	w := &wire{conns: make(chan net.Conn), done: make(chan struct{})}
	server := &http.Server{Handler: handler}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(w) })
	t.Cleanup(func() {
		_ = server.Close()
		serving.Wait()
	})
	return &http.Client{Transport: &http.Transport{DialContext: w.dial, DisableKeepAlives: true}}
}

// Bursting makes a client of Serve's whose connections panic as soon as armed is
// set and something is written.
func Bursting(client *http.Client, armed *atomic.Bool) *http.Client {
	transport := client.Transport.(*http.Transport).Clone()
	dial := transport.DialContext
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		return burstingConn{conn, armed}, err
	}
	return &http.Client{Transport: transport}
}

type burstingConn struct {
	net.Conn
	armed *atomic.Bool
}

func (c burstingConn) Write(b []byte) (int, error) {
	if c.armed.Load() {
		panic("bug")
	}
	return c.Conn.Write(b)
}
