package openai

import (
	"bytes"
	"io"
	"net/http"
	"time"
)

// reusing lets a connection be used again after a streamed answer. The SDK
// closes the body at "[DONE]", a few bytes before its end, and HTTP/1.1 then
// throws the connection away: every turn would pay for a new one.
type reusing struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (r reusing) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := r.RoundTripper.RoundTrip(req)
	if err == nil {
		res.Body = &drained{ReadCloser: res.Body}
	}
	return res, err
}

// CloseIdleConnections passes on what http.Client looks for.
func (r reusing) CloseIdleConnections() {
	if c, ok := r.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// drainFor bounds the wait for the end of a body whose "[DONE]" was read; the
// end is in the same packet as a rule.
const drainFor = 20 * time.Millisecond

type drained struct {
	io.ReadCloser
	done bool
}

func (d *drained) Read(p []byte) (int, error) {
	n, err := d.ReadCloser.Read(p)
	d.done = d.done || bytes.Contains(p[:n], []byte("[DONE]"))
	return n, err
}

func (d *drained) Close() error {
	if d.done {
		late := time.AfterFunc(drainFor, func() { _ = d.ReadCloser.Close() })
		_, _ = io.CopyN(io.Discard, d.ReadCloser, 64)
		late.Stop()
	}
	return d.ReadCloser.Close()
}
