package worker_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"headstart/turn"
	"headstart/worker"
	"headstart/worker/devserver/devservertest"
	"headstart/worker/dispatch"
)

// gateway stands before a real LiveKit server and can take its agents'
// websocket away. The rooms stay.
type gateway struct {
	*httptest.Server
	cut    context.Context // ends the agents' websockets, and refuses new ones
	cutOff context.CancelFunc
}

func newGateway(t *testing.T, target string) *gateway {
	t.Helper()
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	to.Scheme = "http"
	g := &gateway{}
	g.cut, g.cutOff = context.WithCancel(t.Context())
	proxy := httputil.NewSingleHostReverseProxy(to)
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/agent" {
			proxy.ServeHTTP(w, r)
			return
		}
		if g.cut.Err() != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		ctx, end := context.WithCancel(r.Context())
		defer end()
		defer context.AfterFunc(g.cut, end)()
		proxy.ServeHTTP(w, r.WithContext(ctx))
	}))
	t.Cleanup(g.Close)
	return g
}

// events is an observer that keeps what it is told.
type events struct {
	mu   sync.Mutex // guards list: calls write, the test reads
	list []turn.Event
}

func (e *events) observe(ev turn.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, ev)
}

// types are of the events that a store keeps.
func (e *events) types(t *testing.T) (types []string) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, ev := range e.list {
		entry, err := turn.NewEntry(ev)
		if err != nil {
			t.Fatal(err)
		}
		if !entry.Ephemeral {
			types = append(types, entry.Type)
		}
	}
	return types
}

// LiveKit's agent endpoint goes away in the middle of a call, for good. The
// call goes on, with lookups and answers; once the caller has hung up the
// worker gives up.
func TestACallOutlivesTheTries(t *testing.T) {
	t.Parallel()
	b := &bench{t: t, server: devservertest.Start(t), name: t.Name()}
	b.openLogs()
	g := newGateway(t, b.server.URL)
	var told events
	cfg := worker.Config{URL: b.server.URL, APIKey: b.server.APIKey, APISecret: b.server.APISecret, Observe: told.observe}
	var err error
	if b.worker, err = worker.New(cfg, []worker.Served{b.clinic()}, b.book, zap.NewNop()); err != nil {
		t.Fatalf("new worker: %v", err)
	}
	client, err := dispatch.New(dispatch.Config{
		URL: g.URL, APIKey: cfg.APIKey, APISecret: cfg.APISecret, AgentName: b.name, Tries: 2,
		Jitter: func(d time.Duration) time.Duration { return d / 10 },
	}, b.worker, zap.NewNop())
	if err != nil {
		t.Fatalf("new dispatch client: %v", err)
	}
	served := make(chan error, 1)
	go func() { served <- b.worker.Serve(t.Context(), t.Context(), client, time.Minute) }()
	b.eventually("the worker registers", client.Registered)
	ana := b.dial("phone", phone)
	hearTo(t, ana, ana.Dialed())

	g.cutOff()
	b.eventually("the tries are spent", client.Spent)
	asked := time.Now()
	if err := ana.Chat(t.Context(), "¿Qué seguros aceptan para las consultas?"); err != nil {
		t.Fatalf("chat: %v", err)
	}
	hearTo(t, ana, asked)
	select {
	case err := <-served:
		t.Fatalf("the worker ended with a call on: %v", err)
	default:
	}
	if err := ana.Hangup(); err != nil {
		t.Fatalf("hang up: %v", err)
	}
	select {
	case err = <-served:
	case <-time.After(patience):
		t.Fatal("the worker goes on after its last call")
	}
	if !errors.Is(err, dispatch.ErrUnreachable) {
		t.Fatalf("ended with %v, want %v", err, dispatch.ErrUnreachable)
	}
	entries := b.log("phone")
	checkOrder(t, entries)
	if ended := first[turn.CallEnded](entries); ended.Reason != "caller_hung_up" || len(all[turn.DocsSources](entries)) != 1 {
		t.Fatalf("ended %+v, %d searches", ended, len(all[turn.DocsSources](entries)))
	}
	if b.worker.Calls() != 0 || b.worker.Abandoned() != 0 {
		t.Fatalf("%d calls, %d things left behind", b.worker.Calls(), b.worker.Abandoned())
	}
	var logged []string
	for _, e := range entries {
		if !e.Ephemeral {
			logged = append(logged, e.Type)
		}
	}
	if diff := cmp.Diff(logged, told.types(t)); diff != "" {
		t.Fatalf("the observer was told otherwise (-log +told):\n%s", diff)
	}
}
