package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"headstart/turn"
	"headstart/turn/llm/openai/openaitest"
)

// heardWithin is what a caller may have to wait for a sound, whatever breaks.
const heardWithin = 6 * time.Second

// TestAProviderThatFails breaks each provider in each way that the fakes know,
// on a real LiveKit server: something is heard in time, the log says what broke,
// and the turn after it is as if nothing had been.
func TestAProviderThatFails(t *testing.T) {
	fallback, unheard, answer := turn.PhraseFallback.In("es"), turn.PhraseUnheard.In("es"), openaitest.DefaultText
	for _, tt := range []struct {
		name, kind, fault string
		code              string // of the failures in the log; empty for none
		said              string // what the caller hears last
	}{
		{"recogniser's socket drops", "stt", `{"faults":[{"kind":"drop","after_ms":600,"times":1}]}`, turn.CodeSTT, answer},
		{"recogniser closes with 1011", "stt", `{"faults":[{"kind":"close","status":1011,"after_ms":600,"times":1}]}`, turn.CodeSTT, answer},
		{"recogniser refuses", "stt", `{"faults":[{"kind":"refuse","status":401}]}`, turn.CodeSTT, unheard},
		{"recogniser is mute while audio flows", "stt", `{"faults":[{"kind":"mute"}]}`, "", unheard},
		{"recogniser's socket takes no more audio", "stt", `{"faults":[{"kind":"stall","times":1}]}`, "", unheard},
		{"model refuses", "llm", `{"fault":"refuse"}`, turn.CodeLLM, fallback},
		{"model answers 500", "llm", `{"fault":"error"}`, turn.CodeLLM, fallback},
		{"model hangs before the first token", "llm", `{"fault":"hang"}`, turn.CodeLLM, fallback},
		{"model stalls after five words", "llm", `{"fault":"stall"}`, turn.CodeLLM, fallback},
		{"model's stream breaks after five words", "llm", `{"fault":"drop"}`, turn.CodeLLM, fallback},
		{"model answers nothing", "llm", `{"fault":"empty"}`, turn.CodeLLM, fallback},
		{"model sends garbage", "llm", `{"fault":"garbage"}`, turn.CodeLLM, fallback},
		{"voice refuses", "tts", `{"fault":"refuse"}`, turn.CodeTTS, fallback},
		{"voice answers 500", "tts", `{"fault":"error"}`, turn.CodeTTS, fallback},
		{"voice hangs", "tts", `{"fault":"hang"}`, turn.CodeTTS, fallback},
		{"voice stalls in mid-clause", "tts", `{"fault":"stall"}`, turn.CodeTTS, fallback},
		{"voice breaks in mid-clause", "tts", `{"fault":"drop"}`, turn.CodeTTS, fallback},
		{"voice gives no audio", "tts", `{"fault":"empty"}`, turn.CodeTTS, fallback},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWire(t, nil)
			w.fail(tt.kind, tt.fault)
			c := w.dial()
			after, rms := c.ask()
			if after > heardWithin || rms < 50 {
				t.Errorf("heard after %v, with an RMS of %.0f", after, rms)
			}
			if strings.Contains(tt.fault, "stall") && tt.kind != "stt" {
				c.hear(c.LastSound().Add(500 * time.Millisecond)) // the beginning was heard; now what follows it
			}
			w.mend(tt.kind)
			_, _ = c.ask()
			entries := c.hangUp()

			agent := eventsOf[turn.TurnAgent](entries)
			var said []string
			for _, a := range agent[1:] { // after the greeting
				said = append(said, a.Text)
			}
			if !contains(said, tt.said) || !contains(said[len(said)-1:], answer) {
				t.Errorf("said %q, want %q and then %q", said, tt.said, answer)
			}
			codes := map[string]bool{}
			for _, f := range eventsOf[turn.Failure](entries) {
				codes[f.Code] = true
			}
			if tt.code != "" && !codes[tt.code] {
				t.Errorf("failures %v, want %s", codes, tt.code)
			}
			t.Logf("| %s | %s after %.1f s |", tt.name, brief(tt.said, answer), after.Seconds())
		})
	}
}

// mend heals a provider.
func (w *wire) mend(kind string) {
	if kind == "stt" {
		w.fail(kind, `{"faults":[]}`)
		return
	}
	w.fail(kind, `{"fault":""}`)
}

func contains(list []string, text string) bool {
	for _, l := range list {
		if strings.Contains(l, text) {
			return true
		}
	}
	return false
}

func brief(said, answer string) string {
	if said == answer {
		return "the answer"
	}
	return fmt.Sprintf("%q", said)
}
