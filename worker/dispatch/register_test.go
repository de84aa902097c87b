package dispatch_test

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/livekit/protocol/livekit"
	"go.uber.org/zap"
	"google.golang.org/protobuf/testing/protocmp"

	"headstart/worker/dispatch"
	"headstart/worker/dispatch/dispatchtest"
)

func TestRegistersFirstAndTellsItsStatusAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := &host{places: 4}
		h.load.Store(30)
		w := begin(t, h, nil)
		c := w.server.Conn(t.Context())
		began := time.Now()
		time.Sleep(5100 * time.Millisecond)
		if !w.Registered() {
			t.Fatalf("not registered")
		}
		type row struct {
			After time.Duration
			Load  float32
		}
		var got []row
		for _, r := range c.Received()[1:] {
			got = append(got, row{r.At.Sub(began), r.Message.GetUpdateWorker().GetLoad()})
		}
		want := []row{{0, 0.3}, {2500 * time.Millisecond, 0.3}, {5 * time.Second, 0.3}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("statuses (-want +got):\n%s", diff)
		}
		registration := &livekit.RegisterWorkerRequest{
			Type: livekit.JobType_JT_ROOM, AgentName: "clara", Version: "test",
			AllowedPermissions: &livekit.ParticipantPermission{
				CanPublish: true, CanSubscribe: true, CanPublishData: true, CanUpdateMetadata: true,
			},
		}
		if diff := cmp.Diff(registration, c.Registration, protocmp.Transform()); diff != "" {
			t.Fatalf("registration (-want +got):\n%s", diff)
		}
	})
}

func TestLoadIsReportedBelowOne(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		load float64
		want float32
	}{
		{"idle", 0, 0},
		{"negative", -3, 0},
		{"half", 0.5, 0.5},
		{"one", 1, 0.99},
		{"over", 1.2, 0.99},
		{"infinite", math.Inf(1), 0.99},
		{"not a number", math.NaN(), 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := begin(t, loaded(row.load), nil)
				c := w.server.Conn(t.Context())
				synctest.Wait()
				status := c.Statuses()[0]
				if status.GetLoad() != row.want || status.GetStatus() != livekit.WorkerStatus_WS_AVAILABLE {
					t.Fatalf("got %v, want load %v and available", status, row.want)
				}
			})
		})
	}
}

// loaded is a host of a fixed load, never full.
type loaded float64

func (l loaded) Admit(dispatch.Job) (dispatch.Answer, bool)     { return dispatch.Answer{}, false }
func (l loaded) Run(context.Context, dispatch.Assignment) error { return nil }
func (l loaded) Load() (load float64, full bool)                { return float64(l), false }

func TestWrongKeyEndsTheFirstTry(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		change func(*dispatch.Config)
		hint   string
	}{
		{"secret", func(c *dispatch.Config) { c.APISecret = strings.Repeat("wrong", 8) }, "LIVEKIT_API_SECRET"},
		{"key", func(c *dispatch.Config) { c.APIKey = "APIother" }, "LIVEKIT_API_KEY"},
		{"path", func(c *dispatch.Config) { c.URL = "ws://livekit.test/elsewhere" }, "LIVEKIT_URL"},
	} {
		t.Run(row.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				began := time.Now()
				w := begin(t, &host{}, row.change)
				err := <-w.ended
				var detail *dispatch.ConnectError
				if !errors.Is(err, dispatch.ErrRegistration) || !errors.As(err, &detail) {
					t.Fatalf("got %v, want %v", err, dispatch.ErrRegistration)
				}
				if detail.Tries != 1 || !strings.Contains(detail.Hint, row.hint) {
					t.Fatalf("got %d tries and hint %q, want one and %q", detail.Tries, detail.Hint, row.hint)
				}
				if waited := time.Since(began); waited != 0 {
					t.Fatalf("waited %s, want none", waited)
				}
				if w.Registered() {
					t.Fatalf("registered after a refusal")
				}
			})
		})
	}
}

func TestFirstTriesAreSpent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := dispatchtest.NewServer(t)
		s.Down(true)
		began := time.Now()
		cfg := config(s)
		cfg.FirstTries = 4
		w := beginAt(t, s, cfg, &host{})
		err := <-w.ended
		if !errors.Is(err, dispatch.ErrUnreachable) || !strings.Contains(err.Error(), "ws://livekit.test/prefix/agent") {
			t.Fatalf("got %v, want %v with the address", err, dispatch.ErrUnreachable)
		}
		var after []time.Duration
		for _, at := range s.Dials() {
			after = append(after, at.Sub(began))
		}
		want := []time.Duration{0, 2 * time.Second, 6 * time.Second, 12 * time.Second}
		if diff := cmp.Diff(want, after); diff != "" {
			t.Fatalf("dials (-want +got):\n%s", diff)
		}
	})
}

// A server that is starting, or a proxy before it, says 503 for a while.
func TestServerErrorsAreTriedAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := dispatchtest.NewServer(t)
		s.Refuse(http.StatusServiceUnavailable)
		w := beginAt(t, s, config(s), &host{places: 1})
		time.Sleep(time.Second)
		s.Refuse(0)
		s.Conn(t.Context())
		synctest.Wait()
		if !w.Registered() || len(s.Dials()) != 2 {
			t.Fatalf("registered %v after %d dials, want true after 2", w.Registered(), len(s.Dials()))
		}
	})
}

func TestRegistrationWithoutAnswerIsTriedAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := dispatchtest.NewServer(t)
		s.Mute(true)
		began := time.Now()
		beginAt(t, s, config(s), &host{places: 1})
		time.Sleep(11 * time.Second)
		s.Mute(false)
		s.Conn(t.Context())
		if waited := time.Since(began); waited != 12*time.Second {
			t.Fatalf("registered after %s, want 12s: 10 without an answer, 2 of pause", waited)
		}
	})
}

func TestClosedPortIsUnreachable(t *testing.T) {
	t.Parallel()
	const address = "127.0.0.1:1" // one that was free a moment ago may be taken
	c, err := dispatch.New(dispatch.Config{
		URL: "http://" + address, APIKey: "k", APISecret: "s", FirstTries: 2,
		Jitter: func(time.Duration) time.Duration { return 0 },
	}, &host{}, zap.NewNop())
	if err != nil {
		t.Fatalf("make client: %v", err)
	}
	err = c.Run(t.Context(), t.Context())
	if !errors.Is(err, dispatch.ErrUnreachable) || !strings.Contains(err.Error(), address) {
		t.Fatalf("got %v, want %v and the address", err, dispatch.ErrUnreachable)
	}
	if err := c.Run(t.Context(), t.Context()); err == nil {
		t.Fatalf("a client ran twice")
	}
}

func TestValidateJoinsComplaints(t *testing.T) {
	t.Parallel()
	_, err := dispatch.New(dispatch.Config{URL: "livekit.test", Kind: "publisher", WriteWithin: -1, Tries: -1},
		&host{}, zap.NewNop())
	if err == nil {
		t.Fatalf("no complaint")
	}
	for _, want := range []string{"livekit url", "api key", "api secret", "publisher", "write within", "tries"} {
		if !strings.Contains(err.Error(), want) {
			t.Fatalf("%q is not in %v", want, err)
		}
	}
}
