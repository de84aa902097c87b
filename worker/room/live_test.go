package room_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/livekit/protocol/auth"
	"github.com/livekit/protocol/livekit"
	"go.uber.org/zap"

	"headstart/worker/caller"
	"headstart/worker/devserver"
	"headstart/worker/devserver/devservertest"
	"headstart/worker/room"
	"headstart/worker/room/audio"
)

// patience bounds every wait for the real server on a busy machine.
const patience = time.Minute

// agentToken is what the server gives an agent with its job.
func agentToken(t *testing.T, server *devserver.Server, name string) string {
	t.Helper()
	yes := true
	token, err := auth.NewAccessToken(server.APIKey, server.APISecret).
		SetVideoGrant(&auth.VideoGrant{RoomJoin: true, Agent: true, Room: name, CanUpdateOwnMetadata: &yes}).
		SetIdentity("agent-" + name).SetKind(livekit.ParticipantInfo_AGENT).ToJWT()
	if err != nil {
		t.Fatalf("sign token: %v", err)
	}
	return token
}

// agent is a joined room under test, with its Run and its events.
type agent struct {
	*room.Room
	ended  chan error
	stop   context.CancelFunc
	passed []room.Event // that next went past: events of two kinds come in any order
}

func join(t *testing.T, server *devserver.Server, config room.Config) *agent {
	t.Helper()
	config.URL, config.APIKey, config.APISecret, config.Log = server.URL, server.APIKey, server.APISecret, zap.NewNop()
	if config.Token == "" {
		config.Token = agentToken(t, server, t.Name())
	}
	ctx, stop := context.WithCancel(t.Context())
	r, err := room.Join(ctx, config)
	if err != nil {
		stop()
		t.Fatalf("join: %v", err)
	}
	a := &agent{Room: r, ended: make(chan error, 1), stop: stop}
	go func() { a.ended <- r.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if _, open := <-a.ended; open {
			close(a.ended)
		}
	})
	return a
}

// next returns the first event of its type that was not returned yet.
func next[E room.Event](t *testing.T, a *agent) E {
	t.Helper()
	return nextWithin[E](t, a, patience)
}

func nextWithin[E room.Event](t *testing.T, a *agent, patience time.Duration) E {
	t.Helper()
	for i, e := range a.passed {
		if want, ok := e.(E); ok {
			a.passed = slices.Delete(a.passed, i, i+1)
			return want
		}
	}
	deadline := time.After(patience)
	for {
		select {
		case e, open := <-a.Events():
			if !open {
				t.Fatalf("events closed before a %T, after %#v", *new(E), a.passed)
			}
			if want, ok := e.(E); ok {
				return want
			}
			a.passed = append(a.passed, e)
		case <-deadline:
			t.Fatalf("no %T after %v, but %#v", *new(E), patience, a.passed)
		}
	}
}

// dial calls the room of the test.
func dial(t *testing.T, server *devserver.Server, config caller.Config) *caller.Caller {
	t.Helper()
	config.URL, config.APIKey, config.APISecret, config.Room, config.Log = server.URL, server.APIKey, server.APISecret, t.Name(), zap.NewNop()
	c, err := caller.Dial(t.Context(), config)
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	ended := make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	go func() { ended <- c.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("caller: %v", err)
		}
	})
	return c
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func TestHangupOfTheCallerIsFinal(t *testing.T) {
	t.Parallel()
	server := devservertest.Start(t)
	a := join(t, server, room.Config{})
	c := dial(t, server, caller.Config{Kind: caller.Phone, Number: "+34600111222"})
	next[room.CallerJoined](t, a)
	if err := c.Hangup(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(room.CallerLeft{Reason: "CLIENT_INITIATED", Final: true}, next[room.CallerLeft](t, a)); diff != "" {
		t.Fatalf("left (-want +got):\n%s", diff)
	}
	if err := a.Leave(); err != nil {
		t.Fatal(err)
	}
	if err := <-a.ended; err != nil {
		t.Fatalf("run after leave: %v", err)
	}
	if err := a.SetState(t.Context(), "idle"); !errors.Is(err, room.ErrLeft) {
		t.Fatalf("set state after leave: %v", err)
	}
	close(a.ended)
}

func TestHangupOfTheAgentEndsTheRoom(t *testing.T) {
	t.Parallel()
	server := devservertest.Start(t)
	a := join(t, server, room.Config{})
	c := dial(t, server, caller.Config{})
	next[room.CallerJoined](t, a)
	if err := a.Hangup(within(t)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(room.RoomClosed{Reason: "ROOM_DELETED"}, next[room.RoomClosed](t, a)); diff != "" {
		t.Fatalf("closed (-want +got):\n%s", diff)
	}
	if err := <-a.ended; err != nil {
		t.Fatalf("run after the room closed: %v", err)
	}
	close(a.ended)
	for e := range c.Events() {
		if diff := cmp.Diff(caller.Event(caller.Closed{Reason: "ROOM_DELETED"}), e); diff == "" {
			return
		}
	}
	t.Fatal("the caller was not told")
}

func TestASecondSessionOfTheCallerIsHeard(t *testing.T) {
	t.Parallel()
	server := devservertest.Start(t)
	a := join(t, server, room.Config{})
	dial(t, server, caller.Config{Identity: "anna"})
	next[room.CallerJoined](t, a)
	<-a.Audio()
	again := dial(t, server, caller.Config{Identity: "anna"})
	if err := again.Answered(within(t)); err != nil {
		t.Fatal(err)
	}
	go func() {
		_, err := again.Say(t.Context(), sine(440, 16000, time.Minute), 16000)
		if err == nil {
			t.Error("a minute went by")
		}
	}()
	deadline := time.After(patience)
	for {
		select {
		case f := <-a.Audio():
			if audio.RMS(f) > 5000 {
				return
			}
		case e := <-a.Events():
			if left, ok := e.(room.CallerLeft); ok && left.Final {
				t.Fatalf("a second session is taken for a hang-up: %+v", left)
			}
		case <-deadline:
			t.Fatal("the second session is not heard")
		}
	}
}

func TestJoinRefused(t *testing.T) {
	t.Parallel()
	server := devservertest.Start(t)
	_, err := room.Join(t.Context(), room.Config{URL: server.URL, Token: "none", Log: zap.NewNop(), JoinWithin: patience})
	if err == nil {
		t.Fatal("joined without a token")
	}
	if _, err := room.Join(t.Context(), room.Config{}); err == nil {
		t.Fatal("joined without a configuration")
	}
}

// TestTwentyCallsLeaveNothing is judged by goleak in TestMain, too.
func TestTwentyCallsLeaveNothing(t *testing.T) {
	t.Parallel()
	server := devservertest.Start(t)
	for i := range 20 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			a := join(t, server, room.Config{})
			c := dial(t, server, caller.Config{})
			next[room.Subscribed](t, a)
			if err := a.Play(within(t), sine(440, 24000, 60*time.Millisecond), 24000); err != nil {
				t.Fatal(err)
			}
			if _, err := c.WaitSound(within(t), c.Dialed()); err != nil {
				t.Fatal(err)
			}
			if n := a.Counters().Abandoned; n != 0 {
				t.Fatalf("%d things abandoned", n)
			}
		})
	}
}
