package room_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/livekit/protocol/auth"
	"github.com/livekit/protocol/livekit"
	"github.com/twitchtv/twirp"

	"headstart/worker/caller"
	"headstart/worker/devserver"
	"headstart/worker/devserver/devservertest"
	"headstart/worker/room"
	"headstart/worker/room/audio"
)

func TestKeysBothWays(t *testing.T) {
	t.Parallel()
	server := devservertest.Start(t)
	a := join(t, server, room.Config{})
	c := dial(t, server, caller.Config{Kind: caller.Phone, Number: "+34600111222"})
	next[room.CallerJoined](t, a)
	if err := a.SendDTMF(within(t), "12E"); err == nil || !strings.Contains(err.Error(), `'E'`) {
		t.Fatalf("key E: %v", err)
	}
	if err := a.SendDTMF(within(t), "1*D"); err != nil {
		t.Fatal(err)
	}
	var heard []caller.Key
	for deadline := time.After(patience); len(heard) < 3; {
		select {
		case e := <-c.Events():
			if key, ok := e.(caller.Key); ok {
				heard = append(heard, key)
			}
		case <-deadline:
			t.Fatalf("the caller heard %+v", heard)
		}
	}
	for i, want := range []caller.Key{{Digit: "1", Code: 1}, {Digit: "*", Code: 10}, {Digit: "D", Code: 15}} {
		if heard[i].Digit != want.Digit || heard[i].Code != want.Code || heard[i].Identity != a.Identity() {
			t.Fatalf("key %d is %+v, want %+v", i, heard[i], want)
		}
	}
	if d := heard[2].At.Sub(heard[0].At); d < 500*time.Millisecond {
		t.Fatalf("three keys in %v", d)
	}
	if err := c.DTMF(within(t), "0#A"); err != nil {
		t.Fatal(err)
	}
	for _, digit := range []string{"0", "#", "A"} {
		if diff := cmp.Diff(room.DTMF{Digit: digit}, next[room.DTMF](t, a)); diff != "" {
			t.Fatalf("key (-want +got):\n%s", diff)
		}
	}
}

// remove throws a participant out of the room of the test.
func remove(t *testing.T, server *devserver.Server, identity string) {
	t.Helper()
	token, err := auth.NewAccessToken(server.APIKey, server.APISecret).
		SetVideoGrant(&auth.VideoGrant{RoomAdmin: true, Room: t.Name()}).ToJWT()
	if err != nil {
		t.Fatalf("sign token: %v", err)
	}
	ctx, err := twirp.WithHTTPRequestHeaders(within(t), http.Header{"Authorization": {"Bearer " + token}})
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	api := livekit.NewRoomServiceProtobufClient("http"+strings.TrimPrefix(server.URL, "ws"), client)
	if _, err := api.RemoveParticipant(ctx, &livekit.RoomParticipantIdentity{Room: t.Name(), Identity: identity}); err != nil {
		t.Fatalf("remove participant: %v", err)
	}
}

func TestWhoComesBackIsHeardAgain(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*testing.T, *devserver.Server, *caller.Caller) string{
		"removed": func(t *testing.T, server *devserver.Server, c *caller.Caller) string {
			remove(t, server, c.Identity())
			return "PARTICIPANT_REMOVED"
		},
		"dropped": func(t *testing.T, _ *devserver.Server, c *caller.Caller) string {
			if err := c.Drop(); err != nil {
				t.Fatal(err)
			}
			return ""
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := devservertest.Start(t)
			a := join(t, server, room.Config{})
			c := dial(t, server, caller.Config{Identity: "anna", Kind: caller.Phone})
			next[room.CallerJoined](t, a)
			<-a.Audio()
			lost := time.Now()
			reason := lose(t, server, c)
			left := nextWithin[room.CallerLeft](t, a, 2*patience)
			t.Logf("%v after %v", left, time.Since(lost))
			if left.Final || reason != "" && left.Reason != reason {
				t.Fatalf("left %+v, want %s and not final", left, reason)
			}
			other := dial(t, server, caller.Config{Identity: "ben", Kind: caller.Phone})
			again := dial(t, server, caller.Config{Identity: "anna", Kind: caller.Phone})
			if got := next[room.CallerReturned](t, a).Caller.Identity; got != "anna" {
				t.Fatalf("%q is back", got)
			}
			go func() { _, _ = other.Say(t.Context(), sine(3000, 16000, time.Minute), 16000) }()
			go func() { _, _ = again.Say(t.Context(), sine(440, 16000, time.Minute), 16000) }()
			waitLoud(t, a)
			var f []int16
			for f = <-a.Audio(); audio.RMS(f) < 5000; f = <-a.Audio() { // a busy machine leaves gaps
			}
			if power(f, 440) < 5000 || power(f, 3000) > 1000 {
				t.Fatalf("heard are %.0f at 440 Hz and %.0f at 3 kHz", power(f, 440), power(f, 3000))
			}
		})
	}
}

// TestWhoIsBackBeforeTheyAreMissed: the server has not noticed yet that the line broke.
func TestWhoIsBackBeforeTheyAreMissed(t *testing.T) {
	t.Parallel()
	server := devservertest.Start(t)
	a := join(t, server, room.Config{})
	c := dial(t, server, caller.Config{Identity: "anna"})
	next[room.CallerJoined](t, a)
	<-a.Audio()
	if err := c.Drop(); err != nil {
		t.Fatal(err)
	}
	again := dial(t, server, caller.Config{Identity: "anna"})
	go func() { _, _ = again.Say(t.Context(), sine(440, 16000, time.Minute), 16000) }()
	waitLoud(t, a)
}

func TestAHiddenNumberIsNone(t *testing.T) {
	t.Parallel()
	server := devservertest.Start(t)
	a := join(t, server, room.Config{})
	dial(t, server, caller.Config{Kind: caller.Phone, Trunk: "+34910000000", Attributes: map[string]string{"sip.callID": "SCL_1"}})
	want := room.SIP{CallID: "SCL_1", TrunkPhone: "+34910000000", Status: "active"}
	if diff := cmp.Diff(want, next[room.CallerJoined](t, a).Caller.SIP); diff != "" {
		t.Fatalf("call (-want +got):\n%s", diff)
	}
}

// TestAnOutboundCallRings: what is said is the worker's decision; until then
// nothing of ours is on the line but silence.
func TestAnOutboundCallRings(t *testing.T) {
	t.Parallel()
	server := devservertest.Start(t)
	a := join(t, server, room.Config{})
	c := dial(t, server, caller.Config{
		Kind: caller.Phone, Outbound: true, Number: "+34600111222", CanUpdateMetadata: true,
		Attributes: map[string]string{"sip.callStatus": "dialing"},
	})
	if sip := next[room.CallerJoined](t, a).Caller.SIP; !sip.Outbound || sip.Status != "dialing" {
		t.Fatalf("call %+v", sip)
	}
	next[room.Subscribed](t, a)
	for _, status := range []string{"ringing", "active"} {
		if said := a.Counters().FramesSaid; said != 0 {
			t.Fatalf("%d frames are said before the call is answered", said)
		}
		if err := c.SetAttributes(within(t), map[string]string{"sip.callStatus": status}); err != nil {
			t.Fatal(err)
		}
		got := next[room.AttributesChanged](t, a)
		if got.Changed["sip.callStatus"] != status || got.Caller.SIP.Status != status || !got.Caller.SIP.Outbound {
			t.Fatalf("status %q: %+v", status, got)
		}
	}
	answered := time.Now()
	if early, sound := c.FirstSoundAfter(c.Dialed()); sound {
		t.Fatalf("a sound %v before the answer", answered.Sub(early))
	}
	if err := a.Play(within(t), sine(440, 24000, 200*time.Millisecond), 24000); err != nil {
		t.Fatal(err)
	}
	if _, err := c.WaitSound(within(t), answered); err != nil {
		t.Fatal(err)
	}
}

func TestWritesThatHangAreAbandoned(t *testing.T) {
	t.Parallel()
	server := devservertest.Start(t)
	a := join(t, server, room.Config{})
	c := dial(t, server, caller.Config{})
	next[room.Subscribed](t, a)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	room.Hang(a.Room, release)
	for i, write := range []func(context.Context) error{
		func(ctx context.Context) error { return a.SetState(ctx, "thinking") },
		func(ctx context.Context) error { return a.SendDTMF(ctx, "1") },
		func(ctx context.Context) error { return a.TranscribeAgent(ctx, "S1", "words", true) },
	} {
		begin := time.Now()
		if err := write(within(t)); err == nil || time.Since(begin) < 1900*time.Millisecond || time.Since(begin) > patience/2 {
			t.Fatalf("write %d ended after %v: %v", i, time.Since(begin), err)
		}
	}
	begin := time.Now() // the voice does not pass through there
	if err := a.Play(within(t), sine(440, 24000, 100*time.Millisecond), 24000); err != nil {
		t.Fatal(err)
	}
	if _, err := c.WaitSound(within(t), begin); err != nil {
		t.Fatal(err)
	}
	if n := a.Counters().Abandoned; n != 3 {
		t.Fatalf("%d writes abandoned, want 3", n)
	}
	left := time.Now()
	a.stop()
	if err := <-a.ended; !errors.Is(err, context.Canceled) || time.Since(left) > patience/2 {
		t.Fatalf("run ended after %v: %v", time.Since(left), err)
	}
	close(a.ended)
}

func TestPacketsEncodedBeforeAreHeard(t *testing.T) {
	t.Parallel()
	server := devservertest.Start(t)
	a := join(t, server, room.Config{})
	c := dial(t, server, caller.Config{})
	if err := c.Answered(within(t)); err != nil {
		t.Fatal(err)
	}
	packets, err := caller.Encode(sine(440, 16000, time.Second), 16000)
	if err != nil {
		t.Fatal(err)
	}
	said := make(chan error, 1)
	go func() { _, err := c.SayPackets(within(t), packets); said <- err }()
	var heard []int16
	deadline := time.After(patience)
	for quiet := 0; quiet < 25; {
		select {
		case f := <-a.Audio():
			if audio.RMS(f) > 1000 {
				heard, quiet = append(heard, f...), 0
			} else if len(heard) > 0 {
				quiet++
			}
		case <-deadline:
			t.Fatalf("%d samples are heard", len(heard))
		}
	}
	if err := <-said; err != nil {
		t.Fatal(err)
	}
	expectTone(t, "the agent", heard[len(heard)/10:len(heard)*9/10], 440)
	if d := audio.Duration(int64(len(heard)), audio.HeardRate); d < 960*time.Millisecond || d > 1060*time.Millisecond {
		t.Fatalf("%v of 1s are heard", d)
	}
}

// A room is left while words wait for a connection on which they could be sent:
// nobody waits for them any more.
func TestLeavingWhileWordsWaitLeavesNothing(t *testing.T) {
	t.Parallel()
	server := devservertest.Start(t)
	a := join(t, server, room.Config{})
	if err := room.Mute(a.Room); err != nil {
		t.Fatal(err)
	}
	said := make(chan error, 1)
	go func() { said <- a.TranscribeAgent(t.Context(), "SG_1", "hola", true) }()
	<-time.After(100 * time.Millisecond) // they wait
	if err := a.Leave(); err != nil {
		t.Fatalf("leave: %v", err)
	}
	if err := <-said; !errors.Is(err, room.ErrLeft) {
		t.Fatalf("said: %v", err)
	}
	if err := <-a.ended; err != nil {
		t.Fatalf("run: %v", err)
	}
	close(a.ended)
	if n := a.Counters().Abandoned; n != 0 {
		t.Fatalf("%d things left behind", n)
	}
}
