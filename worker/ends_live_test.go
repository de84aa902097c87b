package worker_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/livekit/protocol/auth"
	"github.com/livekit/protocol/livekit"
	lksdk "github.com/livekit/server-sdk-go/v2"

	"headstart/turn"
	"headstart/worker"
	"headstart/worker/caller"
	"headstart/worker/dispatch"
)

// ringing is somebody whom we called and who has not answered.
func ringing(cfg *caller.Config) {
	phone(cfg)
	cfg.Outbound = true
	cfg.Attributes = map[string]string{"sip.callStatus": "ringing"}
}

// A callee is not reached: each way in which LiveKit's SIP service leaves.
func TestACalleeWhoIsNotReached(t *testing.T) {
	t.Parallel()
	r := newReported(t, "callee", func(cfg *worker.Config, _ *[]worker.Served) { cfg.Return = time.Second }, nil)
	for _, tt := range []struct {
		room  string
		leave func(*caller.Caller) error
		want  turn.End
	}{
		{"busy", as(livekit.DisconnectReason_USER_REJECTED), turn.End{Reason: "busy", By: "caller"}},
		{"silent", as(livekit.DisconnectReason_USER_UNAVAILABLE), turn.End{Reason: "no_answer", By: "platform"}},
		{"trunk", as(livekit.DisconnectReason_UNKNOWN_REASON), turn.End{Reason: "dial_failed", By: "platform"}},
		{"trunk-named", as(livekit.DisconnectReason_SIP_TRUNK_FAILURE), turn.End{Reason: "dial_failed", By: "platform"}},
		{"cut", func(c *caller.Caller) error { // and is not back within the time for that
			_, err := r.rooms().RemoveParticipant(t.Context(), &livekit.RoomParticipantIdentity{Room: c.Room(), Identity: c.Identity()})
			return err
		}, turn.End{Reason: "dial_failed", By: "platform"}},
	} {
		t.Run(tt.room, func(t *testing.T) {
			r := &reported{bench: r.in(t), tap: r.tap}
			callee := r.dial(tt.room, ringing)
			heard, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			if err := callee.Answered(heard); err != nil { // the agent hears the line
				t.Fatal(err)
			}
			if err := tt.leave(callee); err != nil {
				t.Fatalf("leave: %v", err)
			}
			entries := r.ended(tt.room, tt.want, livekit.JobStatus_JS_SUCCESS)
			if said := all[turn.TurnAgent](entries); len(said) > 0 {
				t.Fatalf("said to nobody: %+v", said)
			}
		})
	}
}

func as(reason livekit.DisconnectReason) func(*caller.Caller) error {
	return func(c *caller.Caller) error { return c.HangupAs(reason) }
}

// agentIn waits for the agent of a room and tells its identity.
func (b *bench) agentIn(room string) (identity string) {
	b.t.Helper()
	b.eventually("the agent is in the room", func() bool {
		identity = b.kindIn(room, livekit.ParticipantInfo_AGENT)
		return identity != ""
	})
	return identity
}

// kindIn is who of a kind is in a room, the empty string when nobody is.
func (b *bench) kindIn(room string, kind livekit.ParticipantInfo_Kind) string {
	b.t.Helper()
	list, err := b.rooms().ListParticipants(b.t.Context(), &livekit.ListParticipantsRequest{Room: room})
	if err != nil {
		b.t.Fatalf("list participants: %v", err)
	}
	for _, p := range list.GetParticipants() {
		if p.GetKind() == kind {
			return p.GetIdentity()
		}
	}
	return ""
}

// jobIn waits until LiveKit knows which job the agent of a room has: some seconds.
func (b *bench) jobIn(room string) {
	b.t.Helper()
	dispatches := lksdk.NewAgentDispatchServiceClient(b.server.URL, b.server.APIKey, b.server.APISecret)
	b.eventually("LiveKit knows the agent's job", func() bool {
		list, err := dispatches.ListDispatch(b.t.Context(), &livekit.ListAgentDispatchRequest{Room: room})
		if err != nil {
			b.t.Fatalf("list dispatches: %v", err)
		}
		for _, d := range list.GetAgentDispatches() {
			if len(d.GetState().GetJobs()) > 0 {
				return true
			}
		}
		return false
	})
}

// Somebody joins as our agent: LiveKit takes ours out. The call ends as an error
// and is reported failed; ours does not come back, and leaves the caller to whoever
// came.
func TestAnotherTakesTheAgentsPlace(t *testing.T) {
	t.Parallel()
	r := newReported(t, "place", nil, nil)
	ana := r.dial("phone", phone)
	hearTo(t, ana, ana.Dialed())
	r.jobIn(ana.Room()) // so that the job is terminated, too
	yes := true
	token, err := auth.NewAccessToken(r.server.APIKey, r.server.APISecret).SetIdentity(r.agentIn(ana.Room())).SetKind(livekit.ParticipantInfo_AGENT).
		SetVideoGrant(&auth.VideoGrant{RoomJoin: true, Room: ana.Room(), Agent: true, CanPublish: &yes, CanSubscribe: &yes}).SetValidFor(time.Minute).ToJWT()
	if err != nil {
		t.Fatalf("sign token: %v", err)
	}
	thrownOut := make(chan string, 1)
	other := lksdk.NewRoom(&lksdk.RoomCallback{OnDisconnectedWithReason: func(reason lksdk.DisconnectionReason) { thrownOut <- string(reason) }})
	if err := other.JoinWithToken(r.server.URL, token); err != nil {
		t.Fatalf("join as the agent: %v", err)
	}
	defer other.Disconnect()

	entries := r.ended("phone", turn.End{Reason: "error", By: "platform"}, livekit.JobStatus_JS_FAILED)
	failures := all[turn.Failure](entries)
	if len(failures) != 1 || failures[0].Code != turn.CodeRoom || !strings.Contains(failures[0].Message, "DUPLICATE_IDENTITY") {
		t.Fatalf("errors %+v", failures)
	}
	select {
	case reason := <-thrownOut:
		t.Fatalf("ours came back: the other was thrown out by %s", reason)
	default:
	}
	if r.kindIn(ana.Room(), livekit.ParticipantInfo_SIP) == "" || r.kindIn(ana.Room(), livekit.ParticipantInfo_AGENT) == "" {
		t.Fatal("the caller was not left to the other")
	}
}

// The room is deleted between the assignment and the agent's coming. LiveKit
// makes a new one for the agent, which must not wait in it.
func TestAJobWhoseRoomIsGone(t *testing.T) {
	t.Parallel()
	r := newReported(t, "gone", nil, func(r *reported, a *dispatch.Assignment) {
		if _, err := r.rooms().DeleteRoom(r.t.Context(), &livekit.DeleteRoomRequest{Room: a.Room}); err != nil {
			r.t.Errorf("delete room: %v", err)
		}
	})
	room := t.Name() + "-empty"
	if _, err := r.rooms().CreateRoom(t.Context(), &livekit.CreateRoomRequest{Name: room, Agents: []*livekit.RoomAgentDispatch{{AgentName: "gone"}}}); err != nil {
		t.Fatalf("create room: %v", err)
	}
	r.ended("empty", turn.End{Reason: "no_answer", By: "platform"}, livekit.JobStatus_JS_SUCCESS)
	r.eventually("nobody waits in the new room", func() bool { return r.kindIn(room, livekit.ParticipantInfo_AGENT) == "" })
}

// The agent's own connection is made anew. LiveKit ends the job of the
// participant that was there before, and tells no reason; the call goes on all
// the same, and the process can still end it.
func TestOurOwnReconnectEndsNoCall(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		end  func(*reported, *caller.Caller) error
		want turn.End
	}{
		{"hung up", func(_ *reported, c *caller.Caller) error { return c.Hangup() }, turn.End{Reason: "caller_hung_up", By: "caller"}},
		{"stopped", func(r *reported, _ *caller.Caller) error { r.drain(); r.stop(); return nil }, turn.End{Reason: "drained", By: "platform"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var line *breaker
			r := newReported(t, "anew-"+strings.ReplaceAll(tt.name, " ", "-"), nil, func(_ *reported, a *dispatch.Assignment) { a.URL = line.URL })
			line = newBreaker(t, r.server.URL)
			ana := r.dial("phone", phone)
			hearTo(t, ana, ana.Dialed())
			r.jobIn(ana.Room())
			line.breakAll()
			r.eventually("LiveKit ends the job", func() bool { return len(r.tap.Terminated()) > 0 })
			r.agentIn(ana.Room())
			asked := time.Now()
			if err := ana.Chat(t.Context(), "¿Qué seguros aceptan para las consultas?"); err != nil {
				t.Fatalf("chat: %v", err)
			}
			hearTo(t, ana, asked)
			if err := tt.end(r, ana); err != nil {
				t.Fatalf("end: %v", err)
			}
			entries := r.ended("phone", tt.want, livekit.JobStatus_JS_SUCCESS)
			if job := first[turn.CallStarted](entries).Job; !r.tap.Terminated()[job] || len(all[turn.TurnUser](entries)) != 1 {
				t.Fatalf("job %s, terminated %v, turns %+v", job, r.tap.Terminated(), all[turn.TurnUser](entries))
			}
		})
	}
}
