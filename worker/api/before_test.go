package api_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/zap"

	"headstart/turn/stt"
	"headstart/turn/stt/replay"
	"headstart/worker/api"
	"headstart/worker/devserver/devservertest"
	"headstart/worker/room"
)

// recorded is what the browser's microphone hears, again and again: a question
// about a colonoscopy, of four seconds.
const recorded = "es-2/01-colonoscopia.wav"

// joinLate begins to record, turns the microphone off when everything has been
// said, and joins only then: what is heard was said before.
const joinLate = `(async () => {
	await new Promise((resolve, reject) => {
		const script = document.createElement('script');
		script.src = '/dist/livekit-client.umd.js';
		script.onload = resolve;
		script.onerror = () => reject(new Error('no livekit-client'));
		document.head.append(script);
	});
	await globalThis.room?.disconnect();
	const ask = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
	let microphone;
	navigator.mediaDevices.getUserMedia = async (what) => {
		const stream = await ask(what);
		microphone = stream.getAudioTracks()[0];
		return stream;
	};
	const room = globalThis.room = new LivekitClient.Room({ adaptiveStream: false, dynacast: false, publishDefaults: { preConnectBuffer: true } });
	const spoken = room.localParticipant.setMicrophoneEnabled(true,
		{ echoCancellation: false, noiseSuppression: false, autoGainControl: false });
	await new Promise((done) => setTimeout(done, 6000));
	microphone.enabled = false;
	await room.connect(%q, %q, { rtcConfig: { iceServers: [] } });
	await spoken;
	return room.name;
})()`

// A visitor speaks while the browser still connects. livekit-client records
// that, and sends it once the agent is there: the recogniser hears the words.
func TestWhatTheBrowserRecordedBeforeTheCallIsUnderstood(t *testing.T) { // alone: a recording goes on in real time
	server := devservertest.Start(t)
	d := reception{server: server, rooms: make(chan string, 1)}
	pages, err := api.New(api.Config{URL: server.URL, Door: d, Title: "Clínica Norte", Language: "es-ES"}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	if !pages.VoiceBuilt() {
		missing(t, "livekit-client is not built into the page: run make web")
	}
	web := httptest.NewServer(pages)
	defer web.Close()
	calls, err := filepath.Abs("../../testdata/calls")
	if err != nil {
		t.Fatal(err)
	}
	ears, err := replay.New(replay.Config{Dir: calls, Language: "es"}, zap.NewNop())
	if err != nil {
		t.Fatalf("new recogniser: %v", err)
	}
	c := browse(t, "--use-fake-device-for-media-stream", "--allow-loopback-in-peer-connection",
		"--use-file-for-fake-audio-capture="+filepath.Join(calls, recorded)+"")
	c.visit(web.URL, "es-ES", 800, 600)
	c.permit(web.URL, "granted")
	// A browser that is slow to hand its recording over is not waited for: on a
	// machine that is busy with other things, that is no failure.
	const tries = 6
	for try := range tries {
		name := fmt.Sprint(t.Name(), "-", try)
		token, _, err := d.Token(name)
		if err != nil {
			t.Fatal(err)
		}
		<-d.rooms
		agent := answerCall(t, server, name)
		c.eval(fmt.Sprintf(joinLate, server.URL, token), nil)
		next[room.CallerJoined](t, agent)
		text := understand(t, ears, agent)
		n := agent.Counters()
		switch {
		case strings.Contains(text, "colonoscopia") && n.Broken == 0:
			return
		case n.StaleAudio == 0:
			t.Fatalf("understood %q; counters %+v", text, n)
		}
	}
	t.Fatalf("%d recordings came too late", tries)
}

// understand gives what the agent hears to a recogniser until it has a final text.
func understand(t *testing.T, ears *replay.Recogniser, agent *room.Room) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	sound, final, ended := make(chan stt.Input), make(chan string, 16), make(chan error, 1)
	go func() {
		ended <- ears.Recognise(ctx, sound, func(e stt.Event) {
			if e.Kind == stt.Final {
				final <- e.Text
			}
		})
	}()
	defer func() { cancel(); <-ended }()
	for agent.Counters().StaleAudio == 0 {
		select {
		case pcm := <-agent.Audio():
			select {
			case sound <- stt.Input{PCM: pcm}:
			case <-ctx.Done():
			}
		case text := <-final:
			return text
		case <-ctx.Done():
			return ""
		}
	}
	return ""
}
