package health_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"headstart/worker/health"
)

// still is a worker whose state does not change.
type still health.Status

func (s still) Status() health.Status { return health.Status(s) }

func get(t *testing.T, s *health.Server, path string) (status int, body string) {
	t.Helper()
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	return w.Code, w.Body.String()
}

func TestLiveAndReady(t *testing.T) {
	t.Parallel()
	const (
		spent        = "LiveKit cannot be reached: every try was spent\n"
		unregistered = "not registered with LiveKit\n"
	)
	for _, tt := range []struct {
		name        string
		now         health.Status
		live, ready string // "OK", or the reasons of a 503
	}{
		{"starting", health.Status{}, "OK", unregistered},
		{"idle", health.Status{Registered: true}, "OK", "OK"},
		{"in calls", health.Status{Registered: true, Calls: 3, Load: 0.6}, "OK", "OK"},
		{"full", health.Status{Registered: true, Full: true}, "OK", "full\n"},
		{"draining", health.Status{Registered: true, Full: true, Draining: true}, "OK", "draining\n"},
		{"link lost", health.Status{Calls: 2}, "OK", unregistered},
		{"link lost while draining", health.Status{Draining: true, Full: true}, "OK", "draining\n" + unregistered},
		{"tries spent, a call on", health.Status{Spent: true, Calls: 1}, spent, spent},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := health.Unbound(t, health.Config{}, still(tt.now), zap.NewNop())
			for path, want := range map[string]string{"/": tt.live, "/ready": tt.ready} {
				wantStatus := http.StatusServiceUnavailable
				if want == "OK" {
					wantStatus = http.StatusOK
				}
				if status, body := get(t, s, path); status != wantStatus || body != want {
					t.Errorf("%s: %d %q, want %d %q", path, status, body, wantStatus, want)
				}
			}
		})
	}
}

func TestWorkerInLiveKitsShape(t *testing.T) {
	t.Parallel()
	s := health.Unbound(t, health.Config{AgentName: "clinica", Version: "1.2.3"}, still{Calls: 3, Load: 0.25}, zap.NewNop())
	status, body := get(t, s, "/worker")
	want := `{"agent_name":"clinica","worker_type":"JT_ROOM","worker_load":0.25,"active_jobs":3,"sdk_version":"1.2.3","protocol_version":1}` + "\n"
	if diff := cmp.Diff(want, body); status != http.StatusOK || diff != "" {
		t.Fatalf("%d (-want +got):\n%s", status, diff)
	}
}

func TestUnknownPathsAndMethods(t *testing.T) {
	t.Parallel()
	s := health.Unbound(t, health.Config{}, still{}, zap.NewNop())
	if status, _ := get(t, s, "/else"); status != http.StatusNotFound {
		t.Fatalf("/else: %d", status)
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Fatalf("POST /: %d", w.Code)
	}
}

// checked is a server whose checks run until the test ends.
func checked(t *testing.T, checks ...health.Check) *health.Server {
	t.Helper()
	s := health.Unbound(t, health.Config{Checks: checks}, still{Registered: true}, zap.NewNop())
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { s.RunChecks(ctx); close(done) }()
	t.Cleanup(func() { stop(); <-done })
	return s
}

func answers(t *testing.T, s *health.Server, path string, after time.Duration, status int, body string) {
	t.Helper()
	time.Sleep(after)
	synctest.Wait()
	if gotStatus, got := get(t, s, path); gotStatus != status || got != body {
		t.Fatalf("%s: %d %q, want %d %q", path, gotStatus, got, status, body)
	}
}

func TestOnlyAFatalCheckCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		broken.Store(true)
		s := checked(t,
			health.Check{Name: "spool", Fatal: true, Do: func(context.Context) error {
				if broken.Load() {
					return errors.New("no space left on device")
				}
				return nil
			}},
			health.Check{Name: "store", Do: func(context.Context) error { return errors.New("no route to host") }},
		)
		for _, path := range []string{"/", "/ready"} {
			answers(t, s, path, 0, 503, "self-check fails: spool\n")
		}
		broken.Store(false)
		answers(t, s, "/", 4999*time.Millisecond, 503, "self-check fails: spool\n")
		answers(t, s, "/", time.Millisecond, 200, "OK") // the store is still away, and calls go on
		answers(t, s, "/ready", 0, 200, "OK")
		broken.Store(true)
		answers(t, s, "/", 5*time.Second, 503, "self-check fails: spool\n")
	})
}

func TestACheckThatHangsFailsAndIsNotStartedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int64
		hang := make(chan struct{})
		s := checked(t, health.Check{Name: "spool", Fatal: true, Do: func(context.Context) error {
			runs.Add(1)
			<-hang // a disk does not listen to contexts
			return nil
		}})
		answers(t, s, "/", 1999*time.Millisecond, 200, "OK")
		answers(t, s, "/", time.Millisecond, 503, "self-check fails: spool\n")
		answers(t, s, "/", time.Hour, 503, "self-check fails: spool\n")
		if n := runs.Load(); n != 1 {
			t.Fatalf("%d checks hang", n)
		}
		close(hang)
		answers(t, s, "/", 0, 200, "OK")
		answers(t, s, "/", 5*time.Second, 200, "OK")
		if n := runs.Load(); n != 2 {
			t.Fatalf("%d checks ran, want a second one after 5s", n)
		}
	})
}

func TestAHangingCheckDelaysTheEndByTwoSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		s := health.Unbound(t, health.Config{Checks: []health.Check{{Name: "spool", Do: func(context.Context) error { <-hang; return nil }}}},
			still{}, zap.NewNop())
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { s.RunChecks(ctx); close(done) }()
		synctest.Wait()
		stop()
		asked := time.Now()
		<-done
		if took := time.Since(asked); took != 2*time.Second {
			t.Fatalf("ended after %s, want 2s", took)
		}
		close(hang)
	})
}

func TestListenAndRun(t *testing.T) {
	t.Parallel()
	s, err := health.Listen(t.Context(), health.Config{Addr: "127.0.0.1:0"}, still{Registered: true}, zap.NewNop())
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	if _, err := health.Listen(t.Context(), health.Config{Addr: s.Addr()}, still{}, zap.NewNop()); err == nil {
		t.Fatal("a port that is taken was taken again")
	}
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- s.Run(ctx) }()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	resp, err := client.Get("http://" + s.Addr() + "/ready")
	if err != nil {
		t.Fatalf("get: %v", err)
	}
	body, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil || resp.StatusCode != 200 || string(body) != "OK" {
		t.Fatalf("%d %q %v", resp.StatusCode, body, err)
	}
	stop()
	if err := errors.Join(<-ran, s.Close()); err != nil {
		t.Fatalf("run: %v", err)
	}
}

func TestClosedWithoutARun(t *testing.T) {
	t.Parallel()
	s, err := health.Listen(t.Context(), health.Config{Addr: "127.0.0.1:0"}, still{}, zap.NewNop())
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	if err := s.Run(t.Context()); err == nil {
		t.Fatal("it runs on a port that it gave back")
	}
}

func TestConfigComplaints(t *testing.T) {
	t.Parallel()
	nothing := func(context.Context) error { return nil }
	for name, cfg := range map[string]health.Config{
		"no address":    {},
		"negative time": {Addr: ":0", CheckEvery: -1},
		"no name":       {Addr: ":0", Checks: []health.Check{{Do: nothing}}},
		"nothing to do": {Addr: ":0", Checks: []health.Check{{Name: "spool"}}},
		"the same name": {Addr: ":0", Checks: []health.Check{{Name: "spool", Do: nothing}, {Name: "spool", Do: nothing}}},
	} {
		if _, err := health.Listen(t.Context(), cfg, still{}, zap.NewNop()); err == nil {
			t.Errorf("%s: was taken", name)
		}
	}
}
