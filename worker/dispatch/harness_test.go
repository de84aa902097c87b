package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/livekit/protocol/livekit"
	"go.uber.org/zap"

	"headstart/worker/dispatch"
	"headstart/worker/dispatch/dispatchtest"
)

// host has so many places, decided by one atomic counter, and runs script.
type host struct {
	places  int64
	taken   atomic.Int64
	freed   atomic.Int64 // places given back by Release
	ran     atomic.Int64
	load    atomic.Uint64 // in hundredths
	admit   func(dispatch.Job)
	script  func(context.Context, dispatch.Assignment) error
	answer  dispatch.Answer
	offered chan dispatch.Job // may be nil
}

func (h *host) Admit(j dispatch.Job) (dispatch.Answer, bool) {
	if h.admit != nil {
		h.admit(j)
	}
	if h.offered != nil {
		h.offered <- j
	}
	if h.taken.Add(1) > h.places {
		h.taken.Add(-1)
		return dispatch.Answer{}, false
	}
	answer := h.answer
	answer.Release = func() { h.freed.Add(1); h.taken.Add(-1) }
	return answer, true
}

func (h *host) Run(ctx context.Context, a dispatch.Assignment) error {
	h.ran.Add(1)
	defer h.taken.Add(-1)
	if h.script == nil {
		<-ctx.Done()
		return nil
	}
	return h.script(ctx, a)
}

func (h *host) Load() (float64, bool) {
	return float64(h.load.Load()) / 100, h.taken.Load() >= h.places
}

// worker is a client that runs against a scripted server in a bubble.
type worker struct {
	*dispatch.Client
	server *dispatchtest.Server
	drain  context.CancelCauseFunc // ends accepting
	kill   context.CancelCauseFunc // ends the calls
	ended  chan error              // what Run returned
}

func config(s *dispatchtest.Server) dispatch.Config {
	return dispatch.Config{
		URL: dispatchtest.URL, APIKey: dispatchtest.Key, APISecret: dispatchtest.Secret,
		AgentName: "clara", Version: "test",
		HTTPClient: s.HTTPClient(),
		Jitter:     func(d time.Duration) time.Duration { return d },
	}
}

func begin(t *testing.T, h dispatch.Host, change func(*dispatch.Config)) *worker {
	t.Helper()
	s := dispatchtest.NewServer(t)
	cfg := config(s)
	if change != nil {
		change(&cfg)
	}
	return beginAt(t, s, cfg, h)
}

func beginAt(t *testing.T, s *dispatchtest.Server, cfg dispatch.Config, h dispatch.Host) *worker {
	t.Helper()
	c, err := dispatch.New(cfg, h, zap.NewNop())
	if err != nil {
		t.Fatalf("make client: %v", err)
	}
	base := context.WithoutCancel(t.Context())
	accept, drain := context.WithCancelCause(base)
	calls, kill := context.WithCancelCause(base)
	w := &worker{Client: c, server: s, drain: drain, kill: kill, ended: make(chan error, 1)}
	go func() { w.ended <- c.Run(accept, calls); close(w.ended) }()
	t.Cleanup(func() {
		drain(dispatch.ErrDraining)
		kill(errors.New("test is over"))
		<-w.ended
	})
	return w
}

// bubble runs a test with exact time.
func bubble(t *testing.T, test func(*testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, test)
}

func job(n int) *livekit.Job {
	id := fmt.Sprintf("AJ_%d", n)
	return &livekit.Job{Id: id, Room: &livekit.Room{Name: "room-" + id}, AgentName: "clara"}
}

// take offers a job and assigns it if the worker says yes.
func take(t *testing.T, c *dispatchtest.Conn, j *livekit.Job) {
	t.Helper()
	c.Offer(j)
	synctest.Wait()
	answers := c.Answers(j.GetId())
	if len(answers) == 0 || !answers[len(answers)-1].GetAvailable() {
		t.Fatalf("job %s: answers %v, want a yes", j.GetId(), answers)
	}
	c.Assign(j, "token-"+j.GetId())
	synctest.Wait()
}

const (
	running = livekit.JobStatus_JS_RUNNING
	success = livekit.JobStatus_JS_SUCCESS
	failed  = livekit.JobStatus_JS_FAILED
)
