package room_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"headstart/worker/caller"
	"headstart/worker/devserver/devservertest"
	"headstart/worker/room"
	"headstart/worker/room/audio"
)

func TestKnowsWhoIsOnTheLine(t *testing.T) {
	t.Parallel()
	server := devservertest.Start(t)
	a := join(t, server, room.Config{})
	c := dial(t, server, caller.Config{
		Kind: caller.Phone, Identity: "sip_anna", Name: "Anna", Number: "+34600111222", Trunk: "+34910000000", Metadata: "m",
		Attributes: map[string]string{"sip.callID": "SCL_1", "sip.ruleID": "SDR_1", "x": "y"}, CanUpdateMetadata: true,
	})
	want := room.Caller{
		Identity: "sip_anna", Name: "Anna", Kind: "SIP", Metadata: "m", CanUpdateMetadata: true,
		Attributes: map[string]string{
			"sip.callID": "SCL_1", "sip.callStatus": "active", "sip.phoneNumber": "+34600111222",
			"sip.ruleID": "SDR_1", "sip.trunkPhoneNumber": "+34910000000", "x": "y",
		},
		SIP: room.SIP{CallID: "SCL_1", Phone: "+34600111222", TrunkPhone: "+34910000000", Status: "active"},
	}
	if diff := cmp.Diff(want, next[room.CallerJoined](t, a).Caller); diff != "" {
		t.Fatalf("caller (-want +got):\n%s", diff)
	}
	if err := c.SetAttributes(within(t), map[string]string{"sip.callStatus": "hangup"}); err != nil {
		t.Fatal(err)
	}
	got := next[room.AttributesChanged](t, a)
	if diff := cmp.Diff(map[string]string{"sip.callStatus": "hangup"}, got.Changed); diff != "" || got.Caller.SIP.Status != "hangup" {
		t.Fatalf("status %q, changed (-want +got):\n%s", got.Caller.SIP.Status, diff)
	}
}

func TestTokenThatCannotUpdateIsKnown(t *testing.T) {
	t.Parallel()
	server := devservertest.Start(t)
	a := join(t, server, room.Config{})
	dial(t, server, caller.Config{})
	if c := next[room.CallerJoined](t, a).Caller; c.CanUpdateMetadata || c.Kind != "STANDARD" {
		t.Fatalf("caller %+v", c)
	}
}

func TestChatAndKeysOfTheCallerOnly(t *testing.T) {
	t.Parallel()
	server := devservertest.Start(t)
	a := join(t, server, room.Config{})
	c := dial(t, server, caller.Config{Identity: "anna"})
	if got := next[room.CallerJoined](t, a).Caller.Identity; got != "anna" {
		t.Fatalf("caller %q", got)
	}
	other := dial(t, server, caller.Config{Identity: "ben"})
	if err := other.Chat(within(t), "let me in"); err != nil {
		t.Fatal(err)
	}
	if err := other.DTMF(within(t), "9"); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Say(within(t), sine(1000, 16000, 200*time.Millisecond), 16000); err != nil {
		t.Fatal(err)
	}
	if err := c.Chat(within(t), "¿Abren mañana?"); err != nil {
		t.Fatal(err)
	}
	if err := c.DTMF(within(t), "1#"); err != nil {
		t.Fatal(err)
	}
	if err := other.Hangup(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(room.Chat{Text: "¿Abren mañana?"}, next[room.Chat](t, a)); diff != "" {
		t.Fatalf("chat (-want +got):\n%s", diff)
	}
	for _, digit := range []string{"1", "#"} {
		if diff := cmp.Diff(room.DTMF{Digit: digit}, next[room.DTMF](t, a)); diff != "" {
			t.Fatalf("key (-want +got):\n%s", diff)
		}
	}
	for range 25 {
		if f := <-a.Audio(); audio.RMS(f) > 200 {
			t.Fatalf("the agent hears the other one, RMS %.0f", audio.RMS(f))
		}
	}
}

func TestTranscriptsAndState(t *testing.T) {
	t.Parallel()
	server := devservertest.Start(t)
	a := join(t, server, room.Config{})
	c := dial(t, server, caller.Config{Identity: "anna"})
	next[room.CallerJoined](t, a)
	<-a.Audio() // the caller's track is known
	for _, err := range []error{
		a.SetState(within(t), "thinking"),
		a.TranscribeCaller(within(t), "S1", "do you", false),
		a.TranscribeCaller(within(t), "S1", "do you open tomorrow", true),
		a.TranscribeAgent(within(t), "S2", "We open ", false),
		a.TranscribeAgent(within(t), "S2", "at nine.", false),
		a.TranscribeAgent(within(t), "S2", "", true),
		a.SetState(within(t), "listening"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	var states []string
	var lines []string
	tracks := map[string]string{}
	deadline := time.After(patience)
	for len(states) < 2 || len(lines) < 7 {
		select {
		case e := <-c.Events():
			switch e := e.(type) {
			case caller.AgentState:
				states = append(states, e.State)
			case caller.Transcript:
				lines = append(lines, fmt.Sprintf("%s %s %q final=%v done=%v", e.Identity, e.Segment, e.Text, e.Final, e.Done))
				tracks[e.Segment] = e.Track
			}
		case <-deadline:
			t.Fatalf("after %v: states %q, transcripts %q", patience, states, lines)
		}
	}
	me := a.Identity()
	want := []string{
		`anna S1 "do you" final=false done=false`, `anna S1 "do you" final=false done=true`,
		`anna S1 "do you open tomorrow" final=true done=false`, `anna S1 "do you open tomorrow" final=true done=true`,
		me + ` S2 "We open " final=false done=false`, me + ` S2 "We open at nine." final=false done=false`,
		me + ` S2 "We open at nine." final=true done=true`,
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Fatalf("transcripts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"thinking", "listening"}, states); diff != "" {
		t.Fatalf("states (-want +got):\n%s", diff)
	}
	if tracks["S1"] == "" || tracks["S2"] == "" || tracks["S1"] == tracks["S2"] {
		t.Fatalf("tracks %v", tracks)
	}
}
