package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"
)

// manner is how a server is asked.
type manner struct {
	what   string // that is waited for
	fields map[string]any
	each   time.Duration   // one request
	all    time.Duration   // with every try; 0 is no limit
	pauses []time.Duration // before each further try
}

// ask sends texts, again where that may help, and returns a unit vector each.
func (e *Embedder) ask(ctx context.Context, m manner, texts []string) ([][]float32, error) {
	began := time.Now()
	body, err := e.body(m, texts)
	if err != nil {
		return nil, fmt.Errorf("write request to embedder %s: %w", e.name, err)
	}
	all := ctx
	if m.all > 0 {
		var cancel context.CancelFunc
		all, cancel = context.WithTimeoutCause(ctx, m.all, &TimeoutError{m.what, m.all})
		defer cancel()
	}
	tries := 1
	vectors, err := e.once(all, m, body, len(texts))
	for err != nil && tries <= len(m.pauses) && wait(all, err, m.pauses[tries-1]) {
		tries++
		vectors, err = e.once(all, m, body, len(texts))
	}
	e.log.Debug("asked for vectors", zap.Int("texts", len(texts)), zap.Int("tries", tries), zap.Duration("took", time.Since(began)), zap.Error(err))
	if ctx.Err() != nil && err != nil {
		return nil, fmt.Errorf("ask embedder %s: %w", e.name, context.Cause(ctx))
	}
	if failed, ok := errors.AsType[*Error](err); ok {
		failed.Tries = tries
	}
	return vectors, err
}

// wait pauses before another try, and tells whether there is any use in one.
func wait(ctx context.Context, err error, pause time.Duration) bool {
	failed, ok := errors.AsType[*Error](err)
	if !ok || !failed.Again || ctx.Err() != nil {
		return false
	}
	timer := time.NewTimer(max(pause, failed.Wait))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (e *Embedder) body(m manner, texts []string) ([]byte, error) {
	fields := maps.Clone(m.fields)
	fields["model"], fields["input"] = e.cfg.Model, texts
	return json.Marshal(fields)
}

// once makes one request.
func (e *Embedder) once(ctx context.Context, m manner, body []byte, texts int) ([][]float32, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, m.each, &TimeoutError{m.what, m.each})
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("write request to embedder %s: %w", e.name, err)
	}
	req.Header.Set("Content-Type", "application/json")
	if e.cfg.Key != "" {
		req.Header.Set("Authorization", "Bearer "+e.cfg.Key)
	}
	// Vectors are the same when they are asked for twice: this entry, which is
	// not sent, lets the pool replace a connection that died while it was idle.
	req.Header["Idempotency-Key"] = nil
	res, err := e.client.Do(req)
	if err != nil {
		return nil, e.again(because(ctx, err))
	}
	defer res.Body.Close()
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return nil, e.refused(res)
	}
	limit := e.largest(texts)
	answer, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	switch {
	case err != nil:
		return nil, e.again(because(ctx, err))
	case int64(len(answer)) > limit:
		return nil, &Error{Embedder: e.name, Err: errTooLarge}
	}
	return e.read(answer, texts)
}

func (e *Embedder) again(err error) error {
	return &Error{Embedder: e.name, Again: true, Err: err}
}

// because prefers the reason why a request was cancelled to how that looks.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// code is what a server calls an error when it is no sentence.
var code = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// refused makes the error of a refusal. Of its body only codes are told.
func (e *Embedder) refused(res *http.Response) error {
	said := []string{fmt.Sprintf("server answered %d %s", res.StatusCode, http.StatusText(res.StatusCode))}
	var body struct {
		Error struct{ Type, Code any }
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, 1<<16))
	if err == nil && json.Unmarshal(text, &body) == nil {
		for _, c := range []any{body.Error.Type, body.Error.Code} {
			if c, ok := c.(string); ok && code.MatchString(c) {
				said = append(said, c)
			}
		}
	}
	return &Error{
		Embedder: e.name, Status: res.StatusCode, Again: retryableStatus(res.StatusCode),
		Wait: asksToWait(res.Header), Err: errors.New(strings.Join(said, ", ")),
	}
}

// maxWait bounds what a server may ask to wait.
const maxWait = 30 * time.Second

// asksToWait reads Retry-After, in seconds or as a date.
func asksToWait(h http.Header) time.Duration {
	said := h.Get("Retry-After")
	if seconds, err := strconv.Atoi(said); err == nil {
		return min(max(0, time.Duration(min(seconds, 3600))*time.Second), maxWait)
	}
	if at, err := http.ParseTime(said); err == nil {
		return min(max(0, time.Until(at)), maxWait)
	}
	return 0
}

// newTransport keeps connections for the quiet time between two calls, and
// pings them, so that a question finds one that is open and alive.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: queryTimeout, KeepAlive: 15 * time.Second}).DialContext,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: 64,
		IdleConnTimeout:     10 * time.Minute,
		TLSHandshakeTimeout: queryTimeout,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 2 * time.Second},
	}
}
