package api_test

import (
	"context"
	"errors"
	"math"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/livekit/protocol/auth"
	"github.com/livekit/protocol/livekit"
	"go.uber.org/zap"

	"headstart/worker/api"
	"headstart/worker/caller"
	"headstart/worker/devserver"
	"headstart/worker/devserver/devservertest"
	"headstart/worker/room"
	"headstart/worker/room/audio"
)

// reception lets browsers into rooms of a real server, and tells which.
type reception struct {
	server *devserver.Server
	rooms  chan string
}

func (r reception) Token(room string) (token, identity string, err error) {
	r.rooms <- room
	return caller.Token(caller.Config{URL: r.server.URL, APIKey: r.server.APIKey, APISecret: r.server.APISecret, Room: room, Log: zap.NewNop()})
}

func (r reception) Dial(context.Context, string) (api.Visitor, error) {
	return nil, errors.New("nobody types here")
}

// answerCall is an agent in a room.
func answerCall(t *testing.T, server *devserver.Server, name string) *room.Room {
	t.Helper()
	yes := true
	token, err := auth.NewAccessToken(server.APIKey, server.APISecret).
		SetVideoGrant(&auth.VideoGrant{RoomJoin: true, Agent: true, Room: name, CanUpdateOwnMetadata: &yes}).
		SetIdentity("agent").SetKind(livekit.ParticipantInfo_AGENT).ToJWT()
	if err != nil {
		t.Fatal(err)
	}
	r, err := room.Join(t.Context(), room.Config{URL: server.URL, Token: token, APIKey: server.APIKey, APISecret: server.APISecret, Log: zap.NewNop()})
	if err != nil {
		t.Fatalf("join: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("agent: %v", err)
		}
	})
	return r
}

// next is the agent's next event of a type.
func next[E room.Event](t *testing.T, agent *room.Room) E {
	t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case e, open := <-agent.Events():
			if want, ok := e.(E); ok {
				return want
			}
			if !open {
				t.Fatalf("room over before a %T", *new(E))
			}
		case <-deadline:
			t.Fatalf("no %T after %v", *new(E), patience)
		}
	}
}

// hearMicrophone waits until the browser's fake microphone beeps.
func hearMicrophone(t *testing.T, agent *room.Room) {
	t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case frame := <-agent.Audio():
			if audio.RMS(frame) > 200 {
				return
			}
		case <-deadline:
			t.Fatalf("the microphone is silent for %v", patience)
		}
	}
}

func tone(d time.Duration, rate int) []int16 {
	pcm := make([]int16, int(d*time.Duration(rate)/time.Second))
	for i := range pcm {
		pcm[i] = int16(8000 * math.Sin(2*math.Pi*330*float64(i)/float64(rate)))
	}
	return pcm
}

func TestACallFromTheBrowser(t *testing.T) {
	t.Parallel()
	server := devservertest.Start(t)
	d := reception{server: server, rooms: make(chan string, 1)}
	pages, err := api.New(api.Config{URL: server.URL, Door: d, Title: "Clínica Norte", Language: "es-ES", VoiceNote: "The demo’s ears know only its recordings: speak to hear the greeting, type to get answers."}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	if !pages.VoiceBuilt() {
		missing(t, "livekit-client is not built into the page: run make web")
	}
	web := httptest.NewServer(pages)
	defer web.Close()
	// Without a network but loopback, browsers join no call unless told.
	c := browse(t, "--use-fake-device-for-media-stream", "--allow-loopback-in-peer-connection")
	c.mood("light")
	c.visit(web.URL, "en-GB", 1200, 760)
	c.picture("call-start")

	c.permit(web.URL, "denied")
	c.click("#call")
	c.await(`document.querySelector('#alert').textContent.includes('may not use the microphone') && document.querySelector('#status').dataset.mic === 'off'`)
	if len(d.rooms) > 0 {
		t.Fatal("a call was made without a microphone")
	}
	c.permit(web.URL, "granted")
	c.click("#call")
	agent := answerCall(t, server, <-d.rooms)
	c.await(`document.querySelector('#status').dataset.mic === 'published' && document.querySelector('#alert').textContent === ''`)
	next[room.CallerJoined](t, agent)
	talkInRoom(t, c, agent)

	c.click("#mute")
	c.await(`document.querySelector('#status').dataset.mic === 'muted' && document.querySelector('#mute').getAttribute('aria-pressed') === 'true'`)
	c.click("#mute")
	c.await(`document.querySelector('#status').dataset.mic === 'published'`)
	c.fits(320, 640)
	c.picture("call-320")
	c.click("#hangup")
	c.await(`document.querySelector('#status').dataset.state === 'ended' && document.querySelector('.aside').textContent === 'You hung up.'`)
	if diff := cmp.Diff(room.CallerLeft{Reason: "CLIENT_INITIATED", Final: true}, next[room.CallerLeft](t, agent)); diff != "" {
		t.Fatalf("left (-want +got):\n%s", diff)
	}
	c.calm()
}

// talkInRoom has both sides speak and type, and looks at what the page shows.
func talkInRoom(t *testing.T, c *chromium, agent *room.Room) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	hearMicrophone(t, agent)
	err := errors.Join(
		agent.SetState(ctx, "listening"),
		agent.TranscribeCaller(ctx, "SG_1", "a qué", false),
		agent.TranscribeCaller(ctx, "SG_1", "¿A qué hora abren?", true),
		agent.SetState(ctx, "speaking"),
		agent.TranscribeAgent(ctx, "SG_a", "Abrimos ", false),
		agent.TranscribeAgent(ctx, "SG_a", "a las ocho.", false),
		agent.Play(ctx, tone(2*time.Second, 24000), 24000),
	)
	if err != nil {
		t.Fatal(err)
	}
	c.await(`document.querySelector('#status').dataset.state === 'speaking'`)
	c.await(`[...document.querySelectorAll('#audio audio')].some((a) => !a.paused && a.currentTime > 0.2)`)
	c.picture("call-speaking")
	if err := agent.TranscribeAgent(ctx, "SG_a", "", true); err != nil {
		t.Fatal(err)
	}
	c.await(`document.querySelector('#transcript .agent[data-final=true]')`)

	c.click("#text")
	c.write("¿Y los domingos?")
	if diff := cmp.Diff(room.Chat{Text: "¿Y los domingos?"}, next[room.Chat](t, agent)); diff != "" {
		t.Fatalf("typed (-want +got):\n%s", diff)
	}
	want := [][2]string{{"visitor", "¿A qué hora abren?"}, {"agent", "Abrimos a las ocho."}, {"visitor", "¿Y los domingos?"}}
	if diff := cmp.Diff(want, lines(c)); diff != "" {
		t.Fatalf("transcript (-want +got):\n%s", diff)
	}
}

// permit answers for the reader what the browser asks about the microphone.
func (c *chromium) permit(origin, setting string) {
	c.t.Helper()
	c.call("Browser.setPermission", map[string]any{"permission": map[string]string{"name": "microphone"}, "setting": setting, "origin": origin}, nil)
}

func TestATypedVisitInARealRoom(t *testing.T) {
	t.Parallel()
	server := devservertest.Start(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	door := api.NewDoor(api.Config{URL: server.URL, APIKey: server.APIKey, APISecret: server.APISecret}, zap.NewNop())
	visitor, err := door.Dial(ctx, t.Name())
	if err != nil {
		t.Fatal(err)
	}
	heard, ended := make(chan api.Event, 64), make(chan error, 1)
	go func() {
		ended <- visitor.Run(ctx, func(e api.Event) { heard <- e })
		close(heard)
	}()
	agent := answerCall(t, server, t.Name())
	if joined := next[room.CallerJoined](t, agent); joined.Caller.Attributes["headstart.medium"] != "text" {
		t.Fatalf("who types came as %+v", joined.Caller)
	}
	events := []api.Event{<-heard} // before the agent says what it does: the two may cross
	if err := agent.SetState(ctx, "listening"); err != nil {
		t.Fatal(err)
	}
	events = append(events, <-heard) // before it says anything: neither goes the way of the other
	if err := visitor.Type(ctx, "¿A qué hora abren?"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(room.Chat{Text: "¿A qué hora abren?"}, next[room.Chat](t, agent)); diff != "" {
		t.Fatalf("typed (-want +got):\n%s", diff)
	}
	err = errors.Join(
		agent.TranscribeCaller(ctx, "SG_1", "hola", true), agent.TranscribeAgent(ctx, "SG_a", "A las ", false),
		agent.TranscribeAgent(ctx, "SG_a", "ocho.", true),
	)
	for e := range heard {
		events = append(events, e)
		if e.Who == api.WhoAgent && e.Final {
			err = errors.Join(err, agent.Hangup(ctx)) // not sooner: it may overtake words
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatalf("run: %v, after %+v", err, events)
	}
	want := []api.Event{{Type: api.TypeAgent, There: true}, listening, says(api.WhoVisitor, "SG_1", "hola", true), says(api.WhoAgent, "SG_a", "A las ocho.", true)}
	if diff := cmp.Diff(want, newest(events)); diff != "" {
		t.Fatalf("heard (-want +got):\n%s", diff)
	}
}

// newest keeps the last event of each segment, and no departure: the room is
// gone with its agent.
func newest(events []api.Event) (kept []api.Event) {
	for i, e := range events {
		more := i+1 < len(events) && events[i+1].Segment == e.Segment && e.Segment != ""
		if !more && (e.Type != api.TypeAgent || e.There) {
			kept = append(kept, e)
		}
	}
	return kept
}
