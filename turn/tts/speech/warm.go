package speech

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// warmFor is how long a connection that was used is taken for open: well under
// what servers and our own pool keep an idle one.
const warmFor = 45 * time.Second

// lastUse is when a connection was last used, in unix nanoseconds.
type lastUse struct{ at atomic.Int64 }

func (l *lastUse) touch()       { l.at.Store(time.Now().UnixNano()) }
func (l *lastUse) recent() bool { return time.Since(time.Unix(0, l.at.Load())) < warmFor }

// Warm opens a connection to the server, so that the next clause does not wait
// for one. It has nothing said, and does nothing when one was just used.
func (v *Voice) Warm(ctx context.Context) error {
	if v.used.recent() {
		return nil
	}
	v.used.touch()
	ctx, cancel := context.WithTimeoutCause(ctx, v.cfg.Connect, fmt.Errorf("no answer within %v", v.cfg.Connect))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, v.cfg.BaseURL+"/models", nil)
	if err != nil {
		return fmt.Errorf("open connection: %w", err)
	}
	if v.cfg.Key != "" {
		req.Header.Set("Authorization", "Bearer "+v.cfg.Key)
	}
	resp, err := v.client.Do(req)
	if err != nil {
		return fmt.Errorf("open connection: %w", err)
	}
	defer resp.Body.Close()
	// Whatever it says: the connection is there. It is kept only once it was read.
	_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20))
	return err
}
