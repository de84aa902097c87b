package port_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"headstart/worker/port"
	"headstart/worker/port/porttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ask sends a request, and returns how its connection ended.
func ask(p *porttest.Pipes) <-chan string {
	ours := p.Dial()
	said := make(chan string, 1)
	go func() {
		_, _ = io.WriteString(ours, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		text, _ := io.ReadAll(ours) // its error is the end of the connection
		said <- string(text)
		_ = ours.Close()
	}()
	synctest.Wait()
	return said
}

func TestServe(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		lasts, ends time.Duration
		ending      bool // ends what lasts
		answered    bool
	}{
		{"nothing is asked", 0, 0, false, false},
		{"a request goes on for a while", time.Second, time.Second, false, true},
		{"a request lasts", time.Minute, 2 * time.Second, false, false},
		{"a request lasts until it is told", time.Minute, 0, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var told bytes.Buffer
				over := make(chan struct{})
				server := &http.Server{ErrorLog: log.New(&told, "", 0), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					select {
					case <-time.After(c.lasts):
					case <-over:
					case <-r.Context().Done():
						return
					}
					_, _ = io.WriteString(w, "answered")
				})}
				p := porttest.Listen()
				ctx, end := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() {
					ended <- port.Serve(ctx, p, server, func() {
						if c.ending {
							close(over)
						}
					})
				}()
				var said <-chan string
				if c.lasts > 0 {
					said = ask(p)
				}
				asked := time.Now()
				end()
				if err := <-ended; err != nil {
					t.Fatal(err)
				}
				// Shutdown looks for the end of requests now and then.
				if took := time.Since(asked); took < c.ends || took > c.ends+500*time.Millisecond {
					t.Fatalf("ended after %v, want %v", took, c.ends)
				}
				if said != nil {
					if text := <-said; strings.Contains(text, "answered") != c.answered {
						t.Fatalf("said %q", text)
					}
				}
				if cut := strings.Contains(told.String(), "requests lasted longer than 2s"); cut != (c.ends == 2*time.Second) {
					t.Fatalf("told %q", told.String())
				}
			})
		})
	}
}

func TestServeALostPort(t *testing.T) {
	t.Parallel()
	p := porttest.Listen()
	_ = p.Close()
	if err := port.Serve(t.Context(), p, &http.Server{}, nil); !errors.Is(err, net.ErrClosed) || !strings.Contains(err.Error(), p.Addr().String()) {
		t.Fatalf("%v", err)
	}
}
