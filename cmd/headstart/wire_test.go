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
	return newWireIn(t, file, faults, func(*settings) {})
}

// newWireIn serves it with other settings.
func newWireIn(t *testing.T, file string, faults map[string]string, change func(*settings)) *wire {
	t.Helper()
	return newWireLooking(t, true, file, faults, change)
}

// newWireLooking serves an agent that looks up while the caller speaks, or not before
// the end of the turn.
func newWireLooking(t *testing.T, early bool, file string, faults map[string]string, change func(*settings)) *wire {
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
	s := settings{url: live.URL, apiKey: live.APIKey, apiSecret: live.APISecret, agentName: t.Name(), bases: []string{"clinica-norte=../../testdata/knowledge/clinica-norte"}, data: t.TempDir(), models: t.TempDir(), drain: 10 * time.Second, loadThreshold: 1}
	change(&s)
	if w.srv, err = openServer(t.Context(), s, []worker.Agent{agent}, early, zap.NewNop()); err != nil {
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
	w.t.Helper()
	c := w.dial()
	after, rms := c.ask()
	return c.hangUp(), after, rms
}

// connected is a call that goes on.
type connected struct {
	*caller.Caller
	wire *wire
	gone chan error
}

// dial calls and hears the greeting to its end.
func (w *wire) dial() *connected {
	t := w.t
	t.Helper()
	c, err := caller.Dial(t.Context(), caller.Config{
		URL: w.srv.settings.url, APIKey: w.srv.settings.apiKey, APISecret: w.srv.settings.apiSecret,
		Room: t.Name() + "-" + time.Now().Format("150405.000"), Kind: caller.Phone, Number: "+34600123456",
		AgentName: w.srv.settings.agentName, Log: zap.NewNop(),
	})
	if err != nil {
		t.Fatal(err)
	}
	on := &connected{Caller: c, wire: w, gone: make(chan error, 1)}
	go func() { on.gone <- c.Run(context.WithoutCancel(t.Context())) }()
	on.hear(c.Dialed())
	return on
}

// hear waits for the first sound after a moment, and for the silence after it.
func (c *connected) hear(after time.Time) time.Time {
	t := c.wire.t
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	sound, err := c.WaitSound(ctx, after)
	if err != nil {
		t.Fatalf("nothing heard: %v", err)
	}
	if err := c.WaitSilent(ctx, time.Second); err != nil {
		t.Fatal(err)
	}
	return sound
}

// ask asks a question, and tells how long after it the first sound came, and
// how loud what followed was.
func (c *connected) ask() (after time.Duration, rms float64) {
	t := c.wire.t
	t.Helper()
	began, err := c.Say(t.Context(), drone(), 16000)
	if err != nil {
		t.Fatal(err)
	}
	ended := began.Add(speechEnds)
	sound := c.hear(ended)
	return sound.Sub(ended), audio.RMS(caller.PCM(c.Heard(sound, time.Time{})))
}

// hangUp ends the call and returns its log.
func (c *connected) hangUp() []turn.Entry {
	t := c.wire.t
	t.Helper()
	if err := errors.Join(c.Hangup(), <-c.gone); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, entries, err := bookLogs{c.wire.srv}.Sealed(ctx, c.Room())
	if err != nil {
		t.Fatal(err)
	}
	return entries
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

// checkWhole holds that the caller was understood, and each of their turns
// answered once at most, the last one to the end. A gap that a loaded machine makes
// in the sound begins another utterance at the fake, and another turn; the first
// one's words stand in any case.
func checkWhole(t *testing.T, entries []turn.Entry) {
	t.Helper()
	user, agent := eventsOf[turn.TurnUser](entries), eventsOf[turn.TurnAgent](entries)
	if len(user) == 0 || !strings.HasPrefix(user[0].Text, "quería saber a qué hora abren los sábados") {
		t.Fatalf("the caller's turns %+v", user)
	}
	last := agent[len(agent)-1]
	if len(agent) < 2 || len(agent) > 1+len(user) || last.Text != openaitest.DefaultText || last.Interrupted {
		t.Fatalf("the agent's turns %+v, of the caller's %+v", agent, user)
	}
}

func TestProvidersOverTheirRealProtocols(t *testing.T) {
	w := newWire(t, nil)
	entries, after, rms := w.call()
	checkWhole(t, entries)
	if rms < 500 {
		t.Fatalf("the answer has an RMS of %.0f; the fake's tone has over 3000", rms)
	}
	use := eventsOf[turn.MetricsLLM](entries)
	if len(use) == 0 || use[0].PromptTokens == 0 || use[0].Estimated {
		t.Fatalf("model's use %+v", use)
	}
	t.Logf("first sound %v after the end of speech; stages %+v", after, eventsOf[turn.MetricsTurn](entries))
}
