package embedtest

import (
	"bytes"
	"errors"
	"io"
	"net/http"
)

// Transport reaches a handler without a socket, so that a real client and a
// real server can meet in a synctest bubble, where durations are exact. The
// request's context ends the handler, as a closed connection would.
func Transport(h http.Handler) http.RoundTripper { return transport{h} }

type transport struct{ handler http.Handler }

// errDropped is what a client sees of a connection that went away.
var errDropped = errors.New("connection dropped by the fake")

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	done := make(chan error, 1)
	a := &answered{header: make(http.Header)}
	got := req.Clone(req.Context())
	if got.Body == nil {
		got.Body = http.NoBody
	}
	go func() {
		defer func() {
			if recover() != nil { // http.ErrAbortHandler: the connection is dropped
				done <- errDropped
			}
		}()
		t.handler.ServeHTTP(a, got)
		a.WriteHeader(http.StatusOK)
		done <- nil
	}()
	select {
	case <-req.Context().Done():
		return nil, req.Context().Err()
	case err := <-done:
		if err == nil {
			err = req.Context().Err() // the handler gave up because the client did
		}
		if err != nil {
			return nil, err
		}
	}
	return &http.Response{
		StatusCode: a.status, Status: http.StatusText(a.status), Header: a.header,
		Body: io.NopCloser(&a.body), ContentLength: int64(a.body.Len()),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
	}, nil
}

// answered is the handler's http.ResponseWriter. Its goroutine alone writes; the
// client reads once that is over.
type answered struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (a *answered) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answered) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

// Write implements http.ResponseWriter.
func (a *answered) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(p)
}
