package main

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"headstart/turn"
	"headstart/turn/llm/openai/openaitest"
	"headstart/worker"
	"headstart/worker/caller"
	"headstart/worker/devserver/devservertest"
	"headstart/worker/room/audio"
)

// wire is a worker whose providers are reached over their real protocols.
type wire struct {
	t     *testing.T
	srv   *server
	fakes *httptest.Server
}

const wireAgent = `name: por-cable
language: es-ES
greeting: {say: "Hola, dígame."}
stt: {provider: deepgram, options: {base_url: "%[1]s", api_key: k}}
llm: {provider: openai, model: m, options: {base_url: "%[1]s/v1", api_key: k}}
voice: {provider: openai, model: tts-1, voice_id: nova, options: {base_url: "%[1]s/v1", api_key: k}}
`

func newWire(t *testing.T, faults map[string]string) *wire {
	t.Helper()
	return newWireOf(t, wireAgent, faults)
}

// newWireOf serves another agent, in whose file %[1]s is the fakes' address.
func newWireOf(t *testing.T, file string, faults map[string]string) *wire {
	t.Helper()
	live := devservertest.Start(t)
	handler, closeFakes, err := newFakes(fakeOptions{embedMS: 80})
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{t: t, fakes: httptest.NewServer(handler)}
	t.Cleanup(func() { closeFakes(); w.fakes.Close() })
	agent, err := worker.ParseAgent([]byte(strings.ReplaceAll(file, "%[1]s", w.fakes.URL)))
	if err != nil {
		t.Fatal(err)
	}
	s := settings{url: live.URL, apiKey: live.APIKey, apiSecret: live.APISecret, agentName: t.Name(), data: t.TempDir(), models: t.TempDir(), drain: 10 * time.Second, loadThreshold: 1}
	if w.srv, err = openServer(t.Context(), s, []worker.Agent{agent}, true, zap.NewNop()); err != nil {
		t.Fatal(err)
	}
	serving, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- w.srv.serve(serving, context.WithoutCancel(serving)) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-served, w.srv.close()); err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	if err := registered(t.Context(), w.srv, served); err != nil {
		t.Fatal(err)
	}
	for kind, fault := range faults { // only now: the agent's phrases are synthesised
		w.fail(kind, fault)
	}
	return w
}

// fail breaks a provider at run time, as an operator would.
func (w *wire) fail(kind, body string) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.fakes.URL+"/fakes/"+kind, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		w.t.Fatalf("break %s: %s", kind, resp.Status)
	}
}

// call asks one question, hears the answer, hangs up, and returns the log and
// how long after the end of speech the first sound came.
func (w *wire) call() ([]turn.Entry, time.Duration, float64) {
	t := w.t
	t.Helper()
	room := t.Name() + "-" + time.Now().Format("150405.000")
	c, err := caller.Dial(t.Context(), caller.Config{
		URL: w.srv.settings.url, APIKey: w.srv.settings.apiKey, APISecret: w.srv.settings.apiSecret, Room: room,
		Kind: caller.Phone, Number: "+34600123456", AgentName: w.srv.settings.agentName, Log: zap.NewNop(),
	})
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan error, 1)
	go func() { gone <- c.Run(context.WithoutCancel(t.Context())) }()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := c.WaitSound(ctx, c.Dialed()); err != nil {
		t.Fatalf("no greeting: %v", err)
	}
	if err := c.WaitSilent(ctx, time.Second); err != nil {
		t.Fatal(err)
	}
	began, err := c.Say(ctx, drone(), 16000)
	if err != nil {
		t.Fatal(err)
	}
	ended := began.Add(speechEnds)
	sound, err := c.WaitSound(ctx, ended)
	if err != nil {
		t.Fatalf("nothing heard after the question: %v", err)
	}
	if err := c.WaitSilent(ctx, time.Second); err != nil {
		t.Fatal(err)
	}
	rms := audio.RMS(caller.PCM(c.Heard(sound, time.Time{})))
	if err := errors.Join(c.Hangup(), <-gone); err != nil {
		t.Fatal(err)
	}
	_, entries, err := bookLogs{w.srv}.Sealed(ctx, room)
	if err != nil {
		t.Fatal(err)
	}
	return entries, sound.Sub(ended), rms
}

// speechEnds is where the sound of drone ends.
const speechEnds = 2500 * time.Millisecond

// drone is one long vowel: sound without a pause in it, which the fake
// recogniser takes for one utterance, and silence after it.
func drone() []int16 {
	const rate, pitch = 16000, 140.0
	pcm := make([]int16, 3*rate)
	phase := 0.0
	for i := range int(speechEnds.Seconds() * rate) {
		at := float64(i) / rate
		phase += 2 * math.Pi * pitch * (1 + 0.03*math.Sin(2*math.Pi*5*at)) / rate
		v := 0.0
		for h := 1.0; h <= 20; h++ {
			v += math.Sin(h*phase) / h
		}
		pcm[i] = int16(4000 * v * (1 + 0.4*math.Sin(2*math.Pi*3*at)) / 2)
	}
	return pcm
}

func eventsOf[E turn.Event](entries []turn.Entry) []E {
	var list []E
	for _, e := range entries {
		var ev E
		if e.Type == ev.EventType() && json.Unmarshal(e.Data, &ev) == nil {
			list = append(list, ev)
		}
	}
	return list
}

func TestProvidersOverTheirRealProtocols(t *testing.T) {
	w := newWire(t, nil)
	entries, after, rms := w.call()
	user, agent := eventsOf[turn.TurnUser](entries), eventsOf[turn.TurnAgent](entries)
	// A gap that a loaded machine makes in the sound begins another utterance
	// at the fake; the first one's words stand in any case.
	if len(user) != 1 || !strings.HasPrefix(user[0].Text, "quería saber a qué hora abren los sábados") {
		t.Fatalf("the caller's turns %+v", user)
	}
	if len(agent) != 2 || agent[1].Text != openaitest.DefaultText || agent[1].Interrupted {
		t.Fatalf("the agent's turns %+v", agent)
	}
	if rms < 500 {
		t.Fatalf("the answer has an RMS of %.0f; the fake's tone has over 3000", rms)
	}
	use := eventsOf[turn.MetricsLLM](entries)
	if len(use) != 1 || use[0].PromptTokens == 0 || use[0].Estimated {
		t.Fatalf("model's use %+v", use)
	}
	t.Logf("first sound %v after the end of speech; stages %+v", after, eventsOf[turn.MetricsTurn](entries))
}

func TestAProviderThatFailsIsHeardAndLogged(t *testing.T) {
	fallback, unheard := turn.PhraseFallback.In("es"), turn.PhraseUnheard.In("es")
	for _, tt := range []struct {
		name, kind, fault string
		code, said        string
		within            time.Duration // of the end of speech
	}{
		{"model refuses", "llm", `{"fault":"refuse"}`, turn.CodeLLM, fallback, 6 * time.Second},
		{"model errs", "llm", `{"fault":"error"}`, turn.CodeLLM, fallback, 6 * time.Second},
		{"model hangs", "llm", `{"fault":"hang"}`, turn.CodeLLM, fallback, 8 * time.Second},
		{"voice refuses", "tts", `{"fault":"refuse"}`, turn.CodeTTS, fallback, 6 * time.Second},
		{"voice hangs", "tts", `{"fault":"hang"}`, turn.CodeTTS, fallback, 8 * time.Second},
		{"recogniser says nothing", "stt", `{"faults":[{"kind":"mute"}]}`, "", unheard, 6 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWire(t, map[string]string{tt.kind: tt.fault})
			entries, after, rms := w.call()
			agent := eventsOf[turn.TurnAgent](entries)
			if last := agent[len(agent)-1]; last.Text != tt.said || last.Kind != turn.KindFallback {
				t.Fatalf("the agent said %+v", last)
			}
			if after > tt.within || rms < 50 {
				t.Fatalf("heard after %v with an RMS of %.0f", after, rms)
			}
			var codes []string
			for _, f := range eventsOf[turn.Failure](entries) {
				codes = append(codes, f.Code)
			}
			if got := strings.Join(codes, " "); got != tt.code {
				t.Fatalf("failures %q, want %q", got, tt.code)
			}
			t.Logf("heard %v after the end of speech", after)
		})
	}
}
