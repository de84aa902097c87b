package dispatch_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/livekit/protocol/livekit"
	"github.com/livekit/protocol/logger"
	lksdk "github.com/livekit/server-sdk-go/v2"
	"github.com/twitchtv/twirp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"headstart/worker/devserver"
	"headstart/worker/devserver/devservertest"
	"headstart/worker/dispatch"
)

// realWithin bounds each wait on the real server.
const realWithin = time.Minute

func init() { lksdk.SetLogger(logger.GetDiscardLogger()) }

// realWorker runs a client against a real server until the test ends.
func realWorker(t *testing.T, s *devserver.Server, name string, h dispatch.Host) *observer.ObservedLogs {
	t.Helper()
	core, log := observer.New(zap.DebugLevel)
	c, err := dispatch.New(dispatch.Config{
		URL: s.URL, APIKey: s.APIKey, APISecret: s.APISecret, AgentName: name, Version: "test",
	}, h, zap.New(core))
	if err != nil {
		t.Fatalf("make client: %v", err)
	}
	base := context.WithoutCancel(t.Context())
	accept, drain := context.WithCancelCause(base)
	calls, kill := context.WithCancelCause(base)
	ended := make(chan error, 1)
	go func() { ended <- c.Run(accept, calls) }()
	t.Cleanup(func() {
		drain(dispatch.ErrDraining)
		kill(errors.New("test is over"))
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	until(t, "the worker is registered", c.Registered)
	return log
}

// until polls a real peer; there is no clock to fake.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(realWithin)
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("not within %s: %s", realWithin, what)
		}
	}
}

func receive[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(realWithin):
		t.Fatalf("not within %s: %s", realWithin, what)
		panic("unreachable")
	}
}

// leaveFirst is the metadata of a job that leaves before it is done.
const leaveFirst = "leave first"

// roomHost takes the jobs of one room and joins it as the agent.
type roomHost struct {
	room string
	jobs chan dispatch.Assignment
	end  chan struct{} // each token ends a job
	over chan error    // the cause when the context ended first
	seen chan lksdk.ParticipantKind
}

func newRoomHost(room string) *roomHost {
	return &roomHost{
		room: room,
		jobs: make(chan dispatch.Assignment, 32),
		end:  make(chan struct{}),
		over: make(chan error, 4),
		seen: make(chan lksdk.ParticipantKind, 32),
	}
}

func (h *roomHost) Admit(j dispatch.Job) (dispatch.Answer, bool) {
	return dispatch.Answer{Name: "Clara"}, j.Room == h.room
}

func (h *roomHost) Load() (float64, bool) { return 0.1, false }

func (h *roomHost) Run(ctx context.Context, a dispatch.Assignment) error {
	room := lksdk.NewRoom(&lksdk.RoomCallback{})
	if err := room.JoinWithToken(a.URL, a.Token); err != nil {
		return err
	}
	defer room.Disconnect()
	h.seen <- room.LocalParticipant.Kind()
	h.jobs <- a
	select {
	case <-h.end:
		if a.Metadata != leaveFirst {
			a.Done(nil)
			return nil
		}
		room.Disconnect()
		<-ctx.Done()
		h.over <- context.Cause(ctx)
		return nil
	case <-ctx.Done():
		h.over <- context.Cause(ctx)
		return nil
	}
}

func api(s *devserver.Server) (*lksdk.RoomServiceClient, *lksdk.AgentDispatchClient) {
	return lksdk.NewRoomServiceClient(s.URL, s.APIKey, s.APISecret),
		lksdk.NewAgentDispatchServiceClient(s.URL, s.APIKey, s.APISecret)
}

func makeRoom(t *testing.T, rooms *lksdk.RoomServiceClient, name string) {
	t.Helper()
	if _, err := rooms.CreateRoom(t.Context(), &livekit.CreateRoomRequest{Name: name}); err != nil {
		t.Fatalf("create room: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), realWithin)
		defer cancel()
		_, err := rooms.DeleteRoom(ctx, &livekit.DeleteRoomRequest{Room: name})
		var twerr twirp.Error
		if err != nil && !(errors.As(err, &twerr) && twerr.Code() == twirp.NotFound) {
			t.Errorf("delete room: %v", err)
		}
	})
}

func TestRealAutomaticDispatch(t *testing.T) {
	t.Parallel()
	s := devservertest.Start(t)
	h := newRoomHost("automatic")
	log := realWorker(t, s, "", h)
	rooms, _ := api(s)
	makeRoom(t, rooms, "automatic")
	a := receive(t, "a job", h.jobs)
	if kind := receive(t, "the agent", h.seen); kind != lksdk.ParticipantAgent {
		t.Fatalf("joined as kind %v, want agent", kind)
	}
	if a.Room != "automatic" || a.RoomSID == "" || a.Identity != "agent-"+a.ID || !strings.HasPrefix(a.ID, "AJ_") {
		t.Fatalf("assignment %+v", a.Job)
	}
	who, err := rooms.GetParticipant(t.Context(), &livekit.RoomParticipantIdentity{Room: "automatic", Identity: a.Identity})
	if err != nil {
		t.Fatalf("get participant: %v", err)
	}
	if _, ok := who.GetAttributes()["lk.agent.name"]; !ok || who.GetName() != "Clara" {
		t.Fatalf("the agent is %q with %v", who.GetName(), who.GetAttributes())
	}
	close(h.end)
	until(t, "the job has ended", func() bool { return log.FilterMessage("job ended").Len() == 1 })
}

func TestRealExplicitDispatch(t *testing.T) {
	t.Parallel()
	s := devservertest.Start(t)
	h := newRoomHost("explicit")
	realWorker(t, s, "clara", h)
	rooms, dispatches := api(s)
	makeRoom(t, rooms, "explicit")
	made, err := dispatches.CreateDispatch(t.Context(), &livekit.CreateAgentDispatchRequest{
		AgentName: "clara", Room: "explicit", Metadata: `{"contact":"42"}`,
	})
	if err != nil {
		t.Fatalf("create dispatch: %v", err)
	}
	a := receive(t, "a job", h.jobs)
	if a.Metadata != `{"contact":"42"}` || a.AgentName != "clara" || a.DispatchID != made.GetId() {
		t.Fatalf("job %+v, want the dispatch's metadata and id %s", a.Job, made.GetId())
	}
	_, err = dispatches.DeleteDispatch(t.Context(), &livekit.DeleteAgentDispatchRequest{
		DispatchId: made.GetId(), Room: "explicit",
	})
	if err != nil {
		t.Fatalf("delete dispatch: %v", err)
	}
	if cause := receive(t, "the termination", h.over); !errors.Is(cause, dispatch.ErrTerminated) {
		t.Fatalf("ended by %v, want %v", cause, dispatch.ErrTerminated)
	}
}

// TestRealDoneComesBeforeLeaving leaves 20 rooms after Done. LiveKit terminates
// a job whose agent leaves while it counts it as running, and fails it; none
// of these is, and the control, which leaves first, is.
func TestRealDoneComesBeforeLeaving(t *testing.T) {
	t.Parallel()
	s := devservertest.Start(t)
	const jobs = 20
	h := newRoomHost("leaving")
	log := realWorker(t, s, "leaving", h)
	rooms, dispatches := api(s)
	makeRoom(t, rooms, "leaving")
	runOne := func(metadata string) {
		t.Helper()
		made, err := dispatches.CreateDispatch(t.Context(), &livekit.CreateAgentDispatchRequest{
			AgentName: "leaving", Room: "leaving", Metadata: metadata,
		})
		if err != nil {
			t.Fatalf("create dispatch: %v", err)
		}
		receive(t, "a job", h.jobs)
		// LiveKit's room learns of its agent last; until then it does not care.
		until(t, "the room knows its agent", func() bool {
			d, err := dispatches.GetDispatch(t.Context(), made.GetId(), "leaving")
			return err == nil && len(d.GetState().GetJobs()) == 1
		})
		h.end <- struct{}{}
	}
	for range jobs {
		runOne("done first")
	}
	until(t, "all jobs have ended", func() bool { return log.FilterMessage("job ended").Len() == jobs })
	runOne(leaveFirst)
	if cause := receive(t, "the control's termination", h.over); !errors.Is(cause, dispatch.ErrTerminated) {
		t.Fatalf("the control ended by %v, want %v", cause, dispatch.ErrTerminated)
	}
	terminations := log.FilterMessage("job terminated").Len() + log.FilterMessage("termination of an unknown job").Len()
	if terminations != 1 {
		t.Fatalf("%d terminations, want the control's alone", terminations)
	}
}

func TestRealServerRefusesAWrongSecret(t *testing.T) {
	t.Parallel()
	s := devservertest.Start(t)
	for _, row := range []struct{ name, url, key, secret, hint string }{
		{"secret", s.URL, s.APIKey, strings.Repeat("wrong", 8), "LIVEKIT_API_SECRET"},
		{"key", s.URL, "APIother", s.APISecret, "LIVEKIT_API_KEY"},
		{"path", s.URL + "/elsewhere", s.APIKey, s.APISecret, "LIVEKIT_URL"},
	} {
		c, err := dispatch.New(dispatch.Config{URL: row.url, APIKey: row.key, APISecret: row.secret},
			loaded(0), zap.NewNop())
		if err != nil {
			t.Fatalf("make client: %v", err)
		}
		err = c.Run(t.Context(), t.Context())
		if !errors.Is(err, dispatch.ErrRegistration) || !strings.Contains(err.Error(), row.hint) {
			t.Fatalf("%s: got %v, want %v and the hint %q", row.name, err, dispatch.ErrRegistration, row.hint)
		}
	}
}

// TestRealServerGone stops the server under a worker: it tries, and says so in
// the end.
func TestRealServerGone(t *testing.T) {
	t.Parallel()
	devservertest.Start(t) // found and built, or skipped
	s, err := devserver.Start(t.Context(), devserver.Config{})
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	c, err := dispatch.New(dispatch.Config{
		URL: s.URL, APIKey: s.APIKey, APISecret: s.APISecret, Tries: 3,
		Jitter: func(d time.Duration) time.Duration { return d / 100 },
	}, loaded(0), zap.NewNop())
	if err != nil {
		t.Fatalf("make client: %v", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Run(t.Context(), t.Context()) }()
	until(t, "the worker is registered", c.Registered)
	if err := s.Stop(); err != nil {
		t.Fatalf("stop: %v", err)
	}
	if err := receive(t, "the end", ended); !errors.Is(err, dispatch.ErrUnreachable) {
		t.Fatalf("got %v, want %v", err, dispatch.ErrUnreachable)
	}
}
