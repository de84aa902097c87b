package worker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/livekit/protocol/livekit"
	lksdk "github.com/livekit/server-sdk-go/v2"
	"go.uber.org/zap"

	"headstart/turn"
	"headstart/worker"
	"headstart/worker/caller"
	"headstart/worker/dispatch"
)

func TestWhyACallerLeft(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		reason          string
		final, dialling bool
		want            *turn.End
	}{
		{"CLIENT_INITIATED", true, false, &turn.End{Reason: "caller_hung_up", By: "caller"}},
		{"ROOM_DELETED", true, false, &turn.End{Reason: "supervisor_ended", By: "supervisor"}},
		{"USER_REJECTED", true, true, &turn.End{Reason: "busy", By: "caller"}},
		{"USER_REJECTED", true, false, &turn.End{Reason: "caller_hung_up", By: "caller"}},
		{"USER_UNAVAILABLE", false, true, &turn.End{Reason: "no_answer", By: "platform"}},
		{"SIP_TRUNK_FAILURE", false, true, &turn.End{Reason: "dial_failed", By: "platform"}},
		{"CLIENT_INITIATED", true, true, &turn.End{Reason: "dial_failed", By: "platform"}},
		{"MEDIA_FAILURE", false, true, &turn.End{Reason: "dial_failed", By: "platform"}},
		{"ROOM_DELETED", true, true, &turn.End{Reason: "supervisor_ended", By: "supervisor"}},
		{"CONNECTION_TIMEOUT", false, false, nil},
		{"PARTICIPANT_REMOVED", false, false, nil},
		{"UNKNOWN_REASON", false, true, nil},
	} {
		if diff := cmp.Diff(tt.want, worker.EndOfLeaving(tt.reason, tt.final, tt.dialling)); diff != "" {
			t.Errorf("%s, final %v, dialling %v (-want +got):\n%s", tt.reason, tt.final, tt.dialling, diff)
		}
	}
}

func TestWhyARoomIsGone(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		reason string
		came   bool
		want   turn.End
	}{
		{"ROOM_DELETED", true, turn.End{Reason: "supervisor_ended", By: "supervisor"}},
		{"ROOM_DELETED", false, turn.End{Reason: "supervisor_ended", By: "supervisor"}},
		{"ROOM_CLOSED", true, turn.End{Reason: "supervisor_ended", By: "supervisor"}},
		{"ROOM_CLOSED", false, turn.End{Reason: "no_answer", By: "platform"}},
		{"PARTICIPANT_REMOVED", true, turn.End{Reason: "supervisor_ended", By: "supervisor"}},
		{"DUPLICATE_IDENTITY", true, turn.End{Reason: "error", By: "platform"}},
		{"SERVER_SHUTDOWN", true, turn.End{Reason: "error", By: "platform"}},
	} {
		if diff := cmp.Diff(tt.want, worker.EndOfRoom(tt.reason, tt.came)); diff != "" {
			t.Errorf("%s, somebody came %v (-want +got):\n%s", tt.reason, tt.came, diff)
		}
	}
}

func TestWhyACallWasEndedFromOutside(t *testing.T) {
	t.Parallel()
	drained := turn.End{Reason: "drained", By: "platform"}
	for _, tt := range []struct {
		cause error
		want  turn.End
	}{
		{drained, drained},
		{fmt.Errorf("told: %w", turn.End{Reason: "error", By: "platform"}), turn.End{Reason: "error", By: "platform"}},
		{dispatch.ErrTerminated, turn.End{Reason: "supervisor_ended", By: "supervisor"}},
		{errors.New("anything else"), drained},
	} {
		if diff := cmp.Diff(tt.want, worker.EndOf(tt.cause)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tt.cause, diff)
		}
	}
}

func (b *bench) rooms() *lksdk.RoomServiceClient {
	return lksdk.NewRoomServiceClient(b.server.URL, b.server.APIKey, b.server.APISecret)
}

func TestARoomThatIsDeletedInMidSpeechIsNoError(t *testing.T) {
	t.Parallel()
	b := newBench(t, "deleted", func(_ *worker.Config, s *worker.Served) { // it goes on for as long as a busy machine needs
		s.Agent.Greeting.Say = strings.Repeat(greeting+" ", 20)
		if err := s.Prepare(t.Context(), s.Voice, zap.NewNop()); err != nil {
			t.Errorf("prepare agent: %v", err)
		}
	})
	ana := b.dial("phone", phone)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := ana.WaitSound(ctx, ana.Dialed()); err != nil { // the greeting goes on for long
		t.Fatalf("no greeting: %v", err)
	}
	<-time.After(700 * time.Millisecond) // into it, by a word or two
	if _, err := b.rooms().DeleteRoom(ctx, &livekit.DeleteRoomRequest{Room: ana.Room()}); err != nil {
		t.Fatalf("delete room: %v", err)
	}
	entries := b.log("phone")
	if ended := first[turn.CallEnded](entries); ended.Reason != "supervisor_ended" || ended.EndedBy != "supervisor" {
		t.Fatalf("ended %+v", ended)
	}
	if failures := all[turn.Failure](entries); len(failures) > 0 {
		t.Fatalf("errors %+v", failures)
	}
	if agent := first[turn.TurnAgent](entries); !agent.Interrupted || agent.Text == "" {
		t.Fatalf("the part that was heard: %+v", agent)
	}
	checkOrder(t, entries)
}

func TestNobodyComes(t *testing.T) {
	t.Parallel()
	b := newBench(t, "absent", func(cfg *worker.Config, _ *worker.Served) { cfg.Absent = time.Second })
	room := t.Name() + "-empty"
	_, err := b.rooms().CreateRoom(t.Context(), &livekit.CreateRoomRequest{Name: room, Agents: []*livekit.RoomAgentDispatch{{AgentName: "absent"}}})
	if err != nil {
		t.Fatalf("create room: %v", err)
	}
	entries := b.log("empty")
	if ended := first[turn.CallEnded](entries); ended.Reason != "no_answer" || ended.EndedBy != "platform" {
		t.Fatalf("ended %+v", ended)
	}
	if said := all[turn.TurnAgent](entries); len(said) > 0 {
		t.Fatalf("a greeting to nobody: %+v", said)
	}
	checkOrder(t, entries)
}

func TestTheAgentIsSilentUntilTheCalleeAnswers(t *testing.T) {
	t.Parallel()
	b := newBench(t, "outbound", nil)
	ana := b.dial("phone", func(cfg *caller.Config) {
		phone(cfg)
		cfg.CanUpdateMetadata = true
		cfg.Attributes = map[string]string{"sip.ruleID": "", "sip.callStatus": "dialing"}
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := ana.Answered(ctx); err != nil { // the agent is there and hears us
		t.Fatal(err)
	}
	quiet, stop := context.WithTimeout(ctx, 2*time.Second)
	defer stop()
	if at, err := ana.WaitSound(quiet, ana.Dialed()); err == nil {
		t.Fatalf("the agent spoke %v after dialling, before the callee answered", at.Sub(ana.Dialed()))
	}
	answered := time.Now()
	if err := ana.SetAttributes(ctx, map[string]string{"sip.callStatus": "active"}); err != nil {
		t.Fatal(err)
	}
	if _, err := ana.WaitSound(ctx, answered); err != nil {
		t.Fatalf("no greeting after the callee answered: %v", err)
	}
	if err := ana.Hangup(); err != nil {
		t.Fatal(err)
	}
	if started := first[turn.CallStarted](b.log("phone")); started.Direction != "outbound" {
		t.Fatalf("started %+v", started)
	}
}

func TestAHiddenNumberIsNobody(t *testing.T) {
	t.Parallel()
	b := newBench(t, "hidden", nil)
	ana := b.dial("phone", func(cfg *caller.Config) { phone(cfg); cfg.Number = "anonymous" })
	hearTo(t, ana, ana.Dialed())
	if err := ana.Hangup(); err != nil {
		t.Fatal(err)
	}
	if started := first[turn.CallStarted](b.log("phone")); started.Contact != nil || started.Channel != "phone" {
		t.Fatalf("started %+v", started)
	}
}

func TestACallerWhoComesBackGoesOn(t *testing.T) {
	t.Parallel()
	b := newBench(t, "returns", nil)
	identity := "sip_+34600123456_back"
	same := func(cfg *caller.Config) { phone(cfg); cfg.Identity = identity }
	ana := b.dial("phone", same)
	hearTo(t, ana, ana.Dialed())
	if _, err := b.rooms().RemoveParticipant(t.Context(), &livekit.RoomParticipantIdentity{Room: ana.Room(), Identity: identity}); err != nil {
		t.Fatalf("cut the line: %v", err)
	}
	again := b.dial("phone", same)
	asked := time.Now()
	if err := again.Chat(t.Context(), "¿Qué seguros aceptan para las consultas?"); err != nil {
		t.Fatalf("chat: %v", err)
	}
	hearTo(t, again, asked)
	if err := again.Hangup(); err != nil {
		t.Fatal(err)
	}
	entries := b.log("phone")
	if len(all[turn.CallStarted](entries)) != 1 || len(all[turn.TurnUser](entries)) != 1 {
		t.Fatalf("the call did not go on: %+v", entries)
	}
	checkOrder(t, entries)
}

func TestKeysOfTheTelephoneAreATurn(t *testing.T) {
	t.Parallel()
	b := newBench(t, "keys", nil)
	ana := b.dial("phone", phone)
	hearTo(t, ana, ana.Dialed())
	pressed := time.Now()
	if err := ana.DTMF(t.Context(), "1234#"); err != nil {
		t.Fatalf("press keys: %v", err)
	}
	hearTo(t, ana, pressed)
	if err := ana.Hangup(); err != nil {
		t.Fatal(err)
	}
	entries := b.log("phone")
	if user := first[turn.TurnUser](entries); user.Text != "1234" || user.Medium != "dtmf" {
		t.Fatalf("turn %+v", user)
	}
	if n := len(all[turn.DTMF](entries)); n != 5 {
		t.Fatalf("%d keys in the log, want 5", n)
	}
}
