package deepgram_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"headstart/turn/stt"
	"headstart/turn/stt/deepgram"
)

func TestMessages(t *testing.T) {
	t.Parallel()
	const s = time.Second
	tests := []struct {
		name    string
		frame   string
		want    []stt.Event
		settles float64
	}{
		{
			name:  "interim",
			frame: `{"type":"Results","channel_index":[0,1],"start":1,"duration":2,"is_final":false,"speech_final":false,"channel":{"alternatives":[{"transcript":"quería saber","confidence":0.9,"languages":["es"],"words":[{"word":"quería","start":1.5,"end":2},{"word":"saber","start":2,"end":2.5}]}]}}`,
			want:  []stt.Event{{Kind: stt.Interim, Text: "quería saber", Language: "es", Confidence: 0.9, Start: 1500 * ms, End: 2500 * ms}},
		},
		{
			name:  "interim without words takes the segment's times",
			frame: `{"type":"Results","start":1,"duration":2,"channel":{"alternatives":[{"transcript":" hola "}]}}`,
			want:  []stt.Event{{Kind: stt.Interim, Text: "hola", Start: s, End: 3 * s}},
		},
		{
			name:    "final",
			frame:   `{"type":"Results","start":1,"duration":2,"is_final":true,"from_finalize":true,"channel":{"alternatives":[{"transcript":"hola"},{"transcript":"ola"}]}}`,
			want:    []stt.Event{{Kind: stt.Final, Text: "hola", Start: s, End: 3 * s}},
			settles: 3,
		},
		{
			name:  "final and endpoint",
			frame: `{"type":"Results","start":1,"duration":2,"is_final":true,"speech_final":true,"channel":{"alternatives":[{"transcript":"hola","words":[{"start":1.25,"end":1.75}]}]}}`,
			want: []stt.Event{
				{Kind: stt.Final, Text: "hola", Start: 1250 * ms, End: 1750 * ms},
				{Kind: stt.EndOfSpeech, Start: 1750 * ms, End: 1750 * ms},
			},
			settles: 3,
		},
		{
			name:    "empty final",
			frame:   `{"type":"Results","start":1,"duration":2,"is_final":true,"channel":{"alternatives":[{"transcript":""}]}}`,
			settles: 3,
		},
		{
			name:    "empty final with the endpoint",
			frame:   `{"type":"Results","start":1,"duration":2,"is_final":true,"speech_final":true,"channel":{"alternatives":[]}}`,
			want:    []stt.Event{{Kind: stt.EndOfSpeech}},
			settles: 3,
		},
		{name: "empty interim", frame: `{"type":"Results","start":1,"duration":2,"channel":{"alternatives":[{"transcript":""}]}}`},
		{
			name:  "start of speech",
			frame: `{"type":"SpeechStarted","channel":[0],"timestamp":1.5}`,
			want:  []stt.Event{{Kind: stt.SpeechStarted, Start: 1500 * ms, End: 1500 * ms}},
		},
		{
			name:  "end of utterance",
			frame: `{"type":"UtteranceEnd","channel":[0,1],"last_word_end":2.5}`,
			want:  []stt.Event{{Kind: stt.EndOfSpeech, Start: 2500 * ms, End: 2500 * ms}},
		},
		{
			name:  "end of an utterance without words",
			frame: `{"type":"UtteranceEnd","channel":[0,1],"last_word_end":-1}`,
			want:  []stt.Event{{Kind: stt.EndOfSpeech}},
		},
		{name: "metadata", frame: `{"type":"Metadata","duration":4.5,"channels":1}`},
		{name: "complaint", frame: `{"type":"Error","description":"out of credits"}`},
		{name: "of the future", frame: `{"type":"TurnInfo","channel":"?"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, settles, err := deepgram.Read([]byte(test.frame))
			if err != nil || settles != test.settles {
				t.Fatalf("settles %v, error %v, want %v", settles, err, test.settles)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Fatalf("events (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMessagesThatAreNone(t *testing.T) {
	t.Parallel()
	for _, frame := range []string{``, `{`, `[]`, `{}`, `{"type":7}`, `{"type":"Results","start":"now"}`, `{"type":"SpeechStarted","timestamp":[]}`} {
		if events, _, err := deepgram.Read([]byte(frame)); err == nil || len(events) > 0 {
			t.Errorf("%s gave %v, want an error", frame, events)
		}
	}
}

func FuzzMessage(f *testing.F) {
	f.Add([]byte(`{"type":"Results","start":1e300,"duration":-1,"is_final":true,"speech_final":true,"channel":{"alternatives":[{"transcript":"a","words":[{"start":-1,"end":1e18}]}]}}`))
	f.Add([]byte(`{"type":"UtteranceEnd","last_word_end":-1}`))
	f.Add([]byte(`{"type":"SpeechStarted","channel":[0],"timestamp":null}`))
	f.Fuzz(func(t *testing.T, frame []byte) {
		events, _, err := deepgram.Read(frame)
		if err != nil && len(events) > 0 {
			t.Fatalf("both %v and %v", events, err)
		}
		for _, e := range events {
			if (e.Kind == stt.Interim || e.Kind == stt.Final) == (e.Text == "") {
				t.Fatalf("event %+v", e)
			}
		}
	})
}

func BenchmarkMessage(b *testing.B) {
	frame := []byte(`{"type":"Results","channel_index":[0,1],"start":1,"duration":2,"is_final":false,"channel":{"alternatives":[{"transcript":"quería saber","confidence":0.9,"words":[{"word":"quería","start":1.5,"end":2},{"word":"saber","start":2,"end":2.5}]}]}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := deepgram.Read(frame); err != nil {
			b.Fatal(err)
		}
	}
}
