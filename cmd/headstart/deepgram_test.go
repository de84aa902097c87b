package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/zap"

	"headstart/turn"
	"headstart/turn/tts/aura/auratest"
	"headstart/worker"
)

const deepgramAgent = `name: por-flux
language: es-ES
greeting: {say: "Hola, dígame."}
stt: {provider: flux, options: {base_url: "%[1]s", api_key: k, eot_timeout_ms: 2000}}
llm: {provider: openai, model: m, options: {base_url: "%[1]s/v1", api_key: k}}
voice: {provider: deepgram, model: aura-2-celeste-es, options: {base_url: "%[1]s", api_key: k}}
turn: {eot_threshold: 0.8, eager_eot_threshold: 0.5}
`

// A call whose ears end the turn, and whose voice keeps its socket.
func TestFluxAndAuraOverTheirRealProtocols(t *testing.T) {
	w := newWireOf(t, deepgramAgent, nil)
	entries, after, rms := w.call()
	checkWhole(t, entries)
	if rms < 500 {
		t.Fatalf("the answer has an RMS of %.0f; the fake's tone has over 3000", rms)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.fakes.URL+"/fakes/aura", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var told struct{ Record auratest.Record }
	if err := json.NewDecoder(resp.Body).Decode(&told); err != nil {
		t.Fatal(err)
	}
	if r := told.Record; r.Connections != 1 || len(r.Complaints) > 0 || r.Flushes < 2 || r.Warnings > 0 {
		t.Fatalf("the voice's server %+v, want one connection for greeting, phrases and answer", r)
	}
	t.Logf("first sound %v after the end of speech; stages %+v", after, eventsOf[turn.MetricsTurn](entries))
}

func TestDeepgramsOptions(t *testing.T) {
	t.Parallel()
	const file = "name: a\nlanguage: es-ES\nllm: {provider: extractive}\n"
	for _, tt := range []struct {
		name, file, stt, voice string
		complaints             []string
	}{
		{"defaults", "stt: {provider: flux}\nvoice: {provider: deepgram, voice_id: aura-2-celeste-es}", "deepgram/flux-general-multi", "deepgram/aura-2-celeste-es", nil},
		{"one language", "stt: {provider: flux, model: flux-general-en}\nvoice: {provider: deepgram, model: aura-2-thalia-en}", "deepgram/flux-general-en", "deepgram/aura-2-thalia-en", nil},
		{"the other provider's model", "stt: {provider: deepgram, model: flux-general-en}\nvoice: {provider: builtin}", "", "", []string{"use provider flux"}},
		{"no model", "stt: {provider: flux, model: nova-3}\nvoice: {provider: deepgram}", "", "", []string{"flux-general-multi", "model is empty"}},
		{"unknown options", "stt: {provider: flux, options: {endpointing_ms: 5}}\nvoice: {provider: deepgram, options: {speed: 2}}", "", "", []string{"endpointing_ms", "speed"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a, err := worker.ParseAgent([]byte(file + tt.file))
			if err != nil {
				t.Fatal(err)
			}
			k := &kit{settings: settings{deepgramKey: "k", models: t.TempDir()}, log: zap.NewNop()}
			_, stt, sttErr := k.recogniser(a)
			_, voice, voiceErr := k.voice(a)
			if stt != tt.stt || voice != tt.voice && voice != "builtin-robotic-formant" {
				t.Fatalf("names %q and %q, want %q and %q (%v, %v)", stt, voice, tt.stt, tt.voice, sttErr, voiceErr)
			}
			said := ""
			if err := errors.Join(sttErr, voiceErr); err != nil {
				said = err.Error()
			}
			if said != "" && len(tt.complaints) == 0 {
				t.Fatal(said)
			}
			for _, c := range tt.complaints {
				if !strings.Contains(said, c) {
					t.Fatalf("the complaints do not tell %q: %s", c, said)
				}
			}
		})
	}
}
