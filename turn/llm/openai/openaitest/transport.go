package openaitest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
)

// Transport reaches a handler without a socket, so that a real client and a
// real server can meet in a synctest bubble, where durations are exact. The
// request's context ends the handler, as a closed connection would.
func Transport(h http.Handler) http.RoundTripper { return &transport{handler: h} }

type transport struct{ handler http.Handler }

// errDropped is what a client sees of a connection that went away.
var errDropped = errors.New("connection dropped by the fake")

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	body, w := io.Pipe()
	a := &answered{header: make(http.Header), body: w, ready: make(chan struct{})}
	stop := context.AfterFunc(ctx, func() { _ = w.CloseWithError(context.Cause(ctx)) })
	go func() {
		defer cancel()
		defer stop()
		got := req.Clone(ctx)
		if got.Body == nil {
			got.Body = http.NoBody
		}
		a.serve(t.handler, got)
	}()
	select {
	case <-req.Context().Done():
	case <-a.ready: // the handler has answered, or is over
	}
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	if a.status == 0 {
		return nil, errDropped
	}
	return &http.Response{
		StatusCode: a.status, Status: http.StatusText(a.status), Header: a.sent, Body: &hungUp{body, cancel},
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1, Request: req,
	}, nil
}

// hungUp ends the handler when the client closes the body.
type hungUp struct {
	*io.PipeReader
	cancel context.CancelFunc
}

func (h *hungUp) Close() error {
	h.cancel()
	return h.PipeReader.Close()
}

// answered is the handler's http.ResponseWriter. Only the handler's goroutine
// writes; status and sent are read after ready is closed.
type answered struct {
	header http.Header
	sent   http.Header
	status int
	body   *io.PipeWriter
	ready  chan struct{}
	once   sync.Once
}

// serve runs the handler and closes what it wrote; a panic drops the connection.
func (a *answered) serve(h http.Handler, req *http.Request) {
	var end error = errDropped
	defer func() {
		_ = recover() // http.ErrAbortHandler: the connection is dropped
		_ = a.body.CloseWithError(end)
		a.once.Do(func() { close(a.ready) })
	}()
	h.ServeHTTP(a, req)
	a.WriteHeader(http.StatusOK)
	if end = io.EOF; req.Context().Err() != nil {
		end = context.Cause(req.Context()) // it ended because the client left
	}
}

// Header implements http.ResponseWriter.
func (a *answered) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answered) WriteHeader(status int) {
	a.once.Do(func() {
		a.status, a.sent = status, a.header.Clone()
		close(a.ready)
	})
}

// Write implements http.ResponseWriter.
func (a *answered) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(p)
}

// Flush implements http.Flusher; nothing is buffered.
func (a *answered) Flush() { a.WriteHeader(http.StatusOK) }
