package room_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/livekit/protocol/livekit"

	"headstart/worker/room"
)

func person(identity, kind string) room.Caller { return room.Caller{Identity: identity, Kind: kind} }

func expect(t *testing.T, what string, want, got []room.Event) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

func TestLinkTakesTheFirstPerson(t *testing.T) {
	t.Parallel()
	l := room.NewLink("")
	for _, kind := range []string{"AGENT", "EGRESS", "INGRESS", "BRIDGE"} {
		expect(t, kind, nil, l.Join(person("x", kind)))
	}
	avatar := person("avatar", "STANDARD")
	avatar.Attributes = map[string]string{"lk.publish_on_behalf": "agent"}
	expect(t, "an avatar", nil, l.Join(avatar))
	expect(t, "a phone", []room.Event{room.CallerJoined{Caller: person("anna", "SIP")}}, l.Join(person("anna", "SIP")))
	expect(t, "a second person", nil, l.Join(person("ben", "STANDARD")))
	expect(t, "the second leaves", nil, l.Depart("ben", livekit.DisconnectReason_CLIENT_INITIATED))
}

func TestLinkTakesTheNamedOne(t *testing.T) {
	t.Parallel()
	l := room.NewLink("ben")
	expect(t, "another", nil, l.Join(person("anna", "SIP")))
	expect(t, "ben", []room.Event{room.CallerJoined{Caller: person("ben", "AGENT")}}, l.Join(person("ben", "AGENT")))
}

func TestLinkReasons(t *testing.T) {
	t.Parallel()
	finals := map[livekit.DisconnectReason]bool{
		livekit.DisconnectReason_CLIENT_INITIATED: true, livekit.DisconnectReason_ROOM_DELETED: true, livekit.DisconnectReason_USER_REJECTED: true,
	}
	for value, name := range livekit.DisconnectReason_name {
		reason := livekit.DisconnectReason(value)
		l := room.NewLink("")
		l.Join(person("anna", "SIP"))
		expect(t, name, []room.Event{room.CallerLeft{Reason: name, Final: finals[reason]}}, l.Depart("anna", reason))
		expect(t, name+" again", nil, l.Depart("anna", reason))
		var back []room.Event
		if !finals[reason] {
			back = []room.Event{room.CallerReturned{Caller: person("anna", "SIP")}}
		}
		expect(t, "another after "+name, nil, l.Join(person("ben", "SIP")))
		expect(t, "back after "+name, back, l.Join(person("anna", "SIP")))
	}
}

func TestLinkOwnReconnectIsNoHangup(t *testing.T) {
	t.Parallel()
	l := room.NewLink("")
	l.Join(person("anna", "SIP"))
	l.Reconnect()
	expect(t, "everybody is reported gone", nil, l.Depart("anna", livekit.DisconnectReason_UNKNOWN_REASON))
	expect(t, "and new", nil, l.Join(person("anna", "SIP")))
	expect(t, "reconnected", nil, l.Reconnected(true))
	l.Reconnect()
	l.Depart("anna", livekit.DisconnectReason_UNKNOWN_REASON)
	expect(t, "reconnected to a room without her", []room.Event{room.CallerLeft{Reason: "UNKNOWN_REASON"}}, l.Reconnected(false))
	l.Join(person("anna", "SIP"))
	l.Reconnect()
	expect(t, "a hang-up meanwhile", []room.Event{room.CallerLeft{Reason: "CLIENT_INITIATED", Final: true}},
		l.Depart("anna", livekit.DisconnectReason_CLIENT_INITIATED))
	expect(t, "reconnected after it", nil, l.Reconnected(false))
}
