package aura

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"headstart/turn/provider"
)

// Deepgram takes so many Flush messages on a connection in so long.
const (
	mostFlushes = 20
	flushWindow = time.Minute
)

// link is one connection. Whoever took it from the pool owns it.
type link struct {
	conn    *websocket.Conn
	flushes []time.Time // the latest, oldest first
	expiry  *time.Timer // while it is in the pool
}

// flushed notes a Flush.
func (l *link) flushed(now time.Time) {
	l.flushes = append(l.flushes, now)
	if len(l.flushes) > mostFlushes {
		l.flushes = l.flushes[1:]
	}
}

// spent tells whether another Flush would be one too many.
func (l *link) spent(now time.Time) bool {
	return len(l.flushes) == mostFlushes && now.Sub(l.flushes[0]) <= flushWindow
}

// pool keeps connections that no turn uses.
type pool struct {
	keepFor time.Duration

	mu      sync.Mutex // guards what follows
	idle    []*link    // the last one used stands last
	closed  bool
	closing sync.WaitGroup // connections that are being closed
}

// get takes a connection that may be flushed; nil when there is none.
func (p *pool) get() *link {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	for i := len(p.idle) - 1; i >= 0; i-- {
		if l := p.idle[i]; !l.spent(now) {
			p.remove(i)
			return l
		}
	}
	return nil
}

// remove takes the i-th out. mu is held.
func (p *pool) remove(i int) {
	p.idle[i].expiry.Stop()
	p.idle = append(p.idle[:i], p.idle[i+1:]...)
}

func (p *pool) put(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = l.conn.CloseNow() // nobody is left to use it
		return
	}
	l.expiry = time.AfterFunc(p.keepFor, func() { p.expire(l) })
	p.idle = append(p.idle, l)
}

// expire says goodbye on a connection that was not used. The library bounds
// that to 10 s.
func (p *pool) expire(l *link) {
	p.mu.Lock()
	for i, other := range p.idle {
		if other == l && !p.closed {
			p.remove(i)
			p.closing.Add(1)
			p.mu.Unlock()
			_ = l.conn.Close(websocket.StatusNormalClosure, "") // it is let go either way
			p.closing.Done()
			return
		}
	}
	p.mu.Unlock() // a turn was faster
}

func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	for _, l := range p.idle {
		l.expiry.Stop()
		_ = l.conn.CloseNow() // it is let go either way
	}
	p.idle = nil
	p.mu.Unlock()
	p.closing.Wait()
}

// take gives a turn its connection: a kept one, unless a fresh one is wanted.
func (v *Voice) take(ctx context.Context, fresh bool) (l *link, kept bool, err error) {
	if !fresh {
		if l := v.pool.get(); l != nil {
			return l, true, nil
		}
	}
	conn, err := v.dial(ctx)
	if err != nil {
		return nil, false, err
	}
	return &link{conn: conn}, false, nil
}

// maxMessage bounds what the server may send at once: far more than a second of
// audio.
const maxMessage = 1 << 20

func (v *Voice) dial(ctx context.Context) (*websocket.Conn, error) {
	ctx, watch := provider.NewWatch(ctx)
	defer watch.Stop()
	watch.Await("connection", v.cfg.Connect)
	conn, res, err := websocket.Dial(ctx, v.cfg.address(), &websocket.DialOptions{
		HTTPClient: v.cfg.HTTPClient,
		HTTPHeader: http.Header{"Authorization": {"Token " + v.cfg.APIKey}},
	})
	if err != nil {
		return nil, refused(ctx, res, err)
	}
	conn.SetReadLimit(maxMessage)
	return conn, nil
}

// refused makes the error of a handshake that brought no connection.
func refused(ctx context.Context, res *http.Response, err error) error {
	if res == nil || res.StatusCode == http.StatusSwitchingProtocols {
		return failed(ctx, "connect", err)
	}
	var text []byte
	if res.Body != nil {
		text, _ = io.ReadAll(res.Body) // the library has read it already, 1 KiB at most
	}
	return &provider.Error{
		Op: "connect", Status: res.StatusCode, Again: provider.RetryableStatus(res.StatusCode),
		Err: fmt.Errorf("server answered %d %s: %s", res.StatusCode, http.StatusText(res.StatusCode), strings.ToValidUTF8(strings.TrimSpace(string(text)), "")),
	}
}
