package speech_test

import (
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"headstart/turn/provider"
	"headstart/turn/tts/speech"
)

// served answers with bytes that arrive one at a time.
func served(contentType, body string) speech.Config {
	return of(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.Copy(w, iotest.OneByteReader(strings.NewReader(body)))
	}))
}

func TestSamplesSurviveOddReads(t *testing.T) {
	t.Parallel()
	want := []int16{1, -2, 300, -32768}
	raw := string(binary.LittleEndian.AppendUint16([]byte{1, 0, 0xfe, 0xff, 0x2c, 1}, 0x8000))
	wav := "RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\xc0\x5d\x00\x00\x80\xbb\x00\x00\x02\x00\x10\x00LIST\x03\x00\x00\x00abc\x00data\x08\x00\x00\x00" + raw + "trailer"
	for name, cfg := range map[string]speech.Config{
		"pcm":         served("application/octet-stream", raw),
		"odd end":     served("audio/pcm;rate=24000", raw+"x"),
		"wav":         served("audio/wav", wav),
		"wav, unsaid": served("application/octet-stream", wav),
		"sse": served("text/event-stream; charset=utf-8", "event: x\ndata: {\"type\":\"speech.audio.delta\",\"audio\":\"AQD+\"}\n\n"+
			"data: {\"type\":\"speech.audio.delta\",\"delta\":\"/ywBAIA=\"}\n\n: ping\n\ndata: {\"type\":\"speech.audio.done\"}\n\n"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var p player
			if err := voice(t, cfg).Speak(t.Context(), feed("Hola."), p.play); err != nil {
				t.Fatalf("speak: %v", err)
			}
			if diff := cmp.Diff([][]int16{want}, p.clauses); diff != "" {
				t.Fatalf("audio (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatIsNoPCMIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cfg   speech.Config
		again bool
	}{
		"mp3":       {served("audio/mpeg", "ID3\x04 and so on"), false},
		"json":      {served("application/json", `{"error":"x"}`), false},
		"wav 22050": {served("audio/wav", "RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x22\x56\x00\x00\x44\xac\x00\x00\x02\x00\x10\x00data\x00\x00\x00\x00"), false},
		"half wav":  {served("audio/wav", "RIFF\x00\x00"), false},
		"sse cut":   {served("text/event-stream", "data: {\"type\":\"speech.audio.delta\",\"audio\":\"AQD+\"}\n\n"), true},
		"sse error": {served("text/event-stream", "data: {\"error\":{\"message\":\"x\"}}\n\n"), true},
		"sse trash": {served("text/event-stream", "data: {nope\n\n"), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var p player
			err := voice(t, c.cfg).Speak(t.Context(), feed("Hola."), p.play)
			if _, ok := errors.AsType[*provider.Error](err); !ok || retryable(err) != c.again {
				t.Fatalf("got %v, want retryable %v", err, c.again)
			}
		})
	}
}

func FuzzSpeakEndsWhateverTheServerSends(f *testing.F) {
	f.Add("audio/wav", "RIFF\x00\x00\x00\x00WAVEdata\xff\xff\xff\xff\x01")
	f.Add("text/event-stream", "data: {\"type\":\"speech.audio.delta\",\"audio\":\"A\"}\n\n")
	f.Add("", "")
	f.Fuzz(func(t *testing.T, kind, body string) {
		var p player
		err := voice(t, served(kind, body)).Speak(t.Context(), feed("Hola."), p.play)
		if err == nil && len(p.clauses[0]) == 0 {
			t.Fatal("silence passed for speech")
		}
	})
}
