package worker_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/livekit/protocol/livekit"
	"go.uber.org/zap"

	"headstart/turn"
	"headstart/worker"
	"headstart/worker/devserver/devservertest"
	"headstart/worker/dispatch"
	"headstart/worker/dispatch/dispatchtest"
)

// reported is a bench whose job reports are read on their way to LiveKit.
type reported struct {
	*bench
	tap *dispatchtest.Tap
}

// host changes assignments before its worker has them.
type host struct {
	*worker.Worker
	change func(*dispatch.Assignment)
}

func (h host) Run(ctx context.Context, a dispatch.Assignment) error {
	h.change(&a)
	return h.Worker.Run(ctx, a)
}

// newReported starts a worker whose jobs are changed before it has them.
func newReported(t *testing.T, name string, configure func(*worker.Config, *[]worker.Served), change func(*reported, *dispatch.Assignment)) *reported {
	t.Helper()
	r := &reported{bench: &bench{t: t, server: devservertest.Start(t), name: name, served: make(chan error, 1)}}
	r.tap = dispatchtest.NewTap(t, r.server.URL)
	r.openLogs()
	cfg := worker.Config{URL: r.server.URL, APIKey: r.server.APIKey, APISecret: r.server.APISecret, MaxCalls: 8, Region: "ES"}
	agents := []worker.Served{r.clinic()}
	if configure != nil {
		configure(&cfg, &agents)
	}
	var err error
	if r.worker, err = worker.New(cfg, agents, r.book, zap.NewNop()); err != nil {
		t.Fatalf("new worker: %v", err)
	}
	h := host{r.worker, func(a *dispatch.Assignment) {
		a.URL = r.server.URL
		if change != nil {
			change(r, a)
		}
	}}
	client, err := dispatch.New(dispatch.Config{URL: r.tap.URL, APIKey: cfg.APIKey, APISecret: cfg.APISecret, AgentName: name}, h, zap.NewNop())
	if err != nil {
		t.Fatalf("new dispatch client: %v", err)
	}
	accept, drain := context.WithCancel(t.Context())
	now, stop := context.WithCancel(t.Context())
	r.drain, r.stop = drain, stop
	go func() { r.served <- r.worker.Serve(accept, now, client, time.Minute) }()
	t.Cleanup(func() {
		drain()
		stop()
		if err := <-r.served; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("serve: %v", err)
		}
	})
	r.eventually("the worker registers", client.Registered)
	return r
}

// ended holds that the room's call ended so, once, and that its job was
// reported so, once; it returns the log.
func (r *reported) ended(room string, end turn.End, status livekit.JobStatus) []turn.Entry {
	r.t.Helper()
	entries := r.log(room)
	checkOrder(r.t, entries)
	var ends []turn.End
	for _, e := range all[turn.CallEnded](entries) {
		ends = append(ends, turn.End{Reason: e.Reason, By: e.EndedBy})
	}
	if diff := cmp.Diff([]turn.End{end}, ends); diff != "" {
		r.t.Fatalf("ends of the call in %s (-want +got):\n%s", room, diff)
	}
	job := first[turn.CallStarted](entries).Job
	want := []livekit.JobStatus{livekit.JobStatus_JS_RUNNING, status}
	r.eventually("the end of the job is reported", func() bool { return len(r.tap.Updates()[job]) >= len(want) }) // after the seal
	if diff := cmp.Diff(want, r.tap.Updates()[job]); diff != "" {
		r.t.Fatalf("reports of job %s (-want +got):\n%s", job, diff)
	}
	return entries
}

// breaker stands before a LiveKit server and breaks the signalling of who is in
// a room, so that it cannot be taken up again, only begun anew.
type breaker struct {
	*httptest.Server

	mu     sync.Mutex // guards what follows
	broken bool
	lines  []net.Conn // of who signals
}

// lineOf is the key of a request's connection.
type lineOf struct{}

func newBreaker(t *testing.T, target string) *breaker {
	t.Helper()
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	to.Scheme = "http"
	b := &breaker{}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	var open sync.WaitGroup
	b.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		open.Add(1)
		defer open.Done()
		if strings.HasPrefix(r.URL.Path, "/rtc") && !b.admit(r) {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	b.Config.ConnContext = func(ctx context.Context, line net.Conn) context.Context {
		return context.WithValue(ctx, lineOf{}, line)
	}
	b.Start()
	t.Cleanup(func() { b.breakAll(); b.Close(); open.Wait() })
	return b
}

func (b *breaker) admit(r *http.Request) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.broken && r.FormValue("reconnect") == "1" {
		return false
	}
	b.lines = append(b.lines, r.Context().Value(lineOf{}).(net.Conn))
	return true
}

// breakAll cuts the connections that are there.
func (b *breaker) breakAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.broken = true
	for _, line := range b.lines {
		_ = line.Close() // one that is closed already is as well
	}
	b.lines = nil
}
