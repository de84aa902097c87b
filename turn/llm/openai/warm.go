package openai

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// warmFor is how long a connection that was used is taken for open: well under
// what servers and our own pool keep an idle one.
const warmFor = 45 * time.Second

// warmth remembers when a connection was last used.
type warmth struct{ used atomic.Int64 } // unix nanoseconds

func (w *warmth) touch() { w.used.Store(time.Now().UnixNano()) }

func (w *warmth) fresh() bool { return time.Since(time.Unix(0, w.used.Load())) < warmFor }

// Warm opens a connection to the server, so that the next question does not wait
// for one. It costs no token, and does nothing when a connection was just used.
func (m *Model) Warm(ctx context.Context) error {
	if m.warmth.fresh() {
		return nil
	}
	m.warmth.touch()
	ctx, cancel := context.WithTimeoutCause(ctx, m.cfg.Connect, fmt.Errorf("no answer within %v", m.cfg.Connect))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(m.cfg.BaseURL, "/")+"/models", nil)
	if err != nil {
		return fmt.Errorf("open connection: %w", err)
	}
	if m.cfg.Key != "" {
		req.Header.Set("Authorization", "Bearer "+m.cfg.Key)
	}
	resp, err := m.cfg.Transport.RoundTrip(req)
	if err != nil {
		return fmt.Errorf("open connection: %w", err)
	}
	defer resp.Body.Close()
	// Whatever it says: the connection is there. It is kept only once it was read.
	_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20))
	return err
}
