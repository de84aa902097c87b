package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"headstart/retrieval/embed/embedtest"
	"headstart/retrieval/embed/modeltest"
	"headstart/turn"
	"headstart/turn/llm/openai/openaitest"
	"headstart/worker"
)

const embedderAgent = wireAgent + `embedder: {provider: openai, model: text-embedding-3-small, options: {base_url: "%[1]s/v1", api_key: k}}
docs: {base: clinica-norte}
`

// budgetAndSlack is what a turn may wait for its lookups, 250 ms, and what a
// loaded machine adds to it.
const budgetAndSlack = 250 + 50

// TestAnEmbedderOverItsRealProtocol breaks the embedder once the base is loaded:
// the words answer alone, the log says why, and the turn waits no longer.
func TestAnEmbedderOverItsRealProtocol(t *testing.T) {
	for _, tt := range []struct {
		name, fault string
		says        []string // in the message of search_degraded; none when it works
	}{
		{"works", "", nil},
		{"refuses", `{"fault":"refuse"}`, []string{"openai/text-embedding-3-small", "2 tries"}},
		{"hangs", `{"fault":"hang"}`, []string{"was late", "lookup budget spent"}},
		{"has another dimension", `{"fault":"dimension"}`, []string{"has 256 dimensions", "answered with 257", "push the bases again"}},
	} {
		t.Run(tt.name, func(t *testing.T) { // one at a time: the clocks of calls are held here
			faults, branches := map[string]string{}, []string{"words", "vectors"}
			if tt.fault != "" {
				faults["embed"], branches = tt.fault, []string{"words"}
			}
			w := newWireOf(t, embedderAgent, faults)
			entries, after := unhurried(w)
			answered(t, entries)
			docs := eventsOf[turn.DocsSources](entries)
			if len(docs) == 0 || len(docs[0].Sources) == 0 || docs[0].Sources[0].Base != "clinica-norte" {
				t.Fatalf("the lookup found %+v; failures %+v; turns %+v", docs, eventsOf[turn.Failure](entries), eventsOf[turn.TurnUser](entries))
			}
			if d := cmp.Diff(branches, docs[0].Branches); d != "" {
				t.Fatalf("branches (-want +got):\n%s", d)
			}
			if docs[0].WaitedMS > budgetAndSlack {
				t.Fatalf("the turn waited %.0f ms for its lookup", docs[0].WaitedMS)
			}
			degraded(t, entries, tt.says)
			t.Logf("waited %.0f ms for the lookup, embedder %.0f ms, first sound %v after the end of speech", docs[0].WaitedMS, docs[0].EmbedMS, after)
		})
	}
}

// unhurried makes a call in which the machine had time for the words. A search
// that is cancelled has 10 ms to come back with them; a machine that runs other
// tests may not run it in that time, and the turn rightly goes on without.
func unhurried(w *wire) (entries []turn.Entry, after time.Duration) {
	w.t.Helper()
	for range 3 {
		entries, after, _ = w.call()
		failures := eventsOf[turn.Failure](entries)
		if !slices.ContainsFunc(failures, func(f turn.Failure) bool { return f.Code == turn.CodeSearchSkipped }) {
			break
		}
		w.t.Logf("the machine was too slow for a cancelled search: %+v", failures)
	}
	return entries, after
}

func answered(t *testing.T, entries []turn.Entry) {
	t.Helper()
	agent := eventsOf[turn.TurnAgent](entries)
	if len(agent) < 2 || agent[len(agent)-1].Text != openaitest.DefaultText { // the first may be cut by a gap in the sound: checkWhole
		t.Fatalf("the agent's turns %+v", agent)
	}
	for _, m := range eventsOf[turn.MetricsTurn](entries) {
		if m.LookupWaitMS > budgetAndSlack {
			t.Fatalf("a turn waited %.0f ms for its lookups", m.LookupWaitMS)
		}
	}
}

// degraded holds the failures of a call to be of the vector branch, and to say
// what they should; to be none when they should say nothing.
func degraded(t *testing.T, entries []turn.Entry, says []string) {
	t.Helper()
	failures := eventsOf[turn.Failure](entries)
	if (len(says) > 0) != (len(failures) > 0) {
		t.Fatalf("failures %+v", failures)
	}
	for _, f := range failures {
		if f.Code != turn.CodeSearchDegraded || !f.Recoverable {
			t.Fatalf("failure %+v", f)
		}
		for _, want := range says {
			if !strings.Contains(f.Message, want) {
				t.Fatalf("no %q in %q", want, f.Message)
			}
		}
	}
}

func TestEmbeddersOfAgents(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux() // it knows no other path
	mux.Handle("/v1/embeddings", &embedtest.Server{Delay: -1})
	fakes := httptest.NewServer(mux)
	defer fakes.Close()
	k := &kit{settings: settings{openaiKey: "k", models: t.TempDir()}, log: zap.NewNop()}
	table, encoder := modeltest.Static(t), modeltest.Encoder(t)
	const head = "name: a\nlanguage: es-ES\nstt: {provider: flux}\nllm: {provider: extractive}\nvoice: {provider: builtin}\n"
	for _, tt := range []struct {
		embedder, name string
		dim            int
		complaint      string
	}{
		{"", "hashing-512", 512, ""},
		{"{provider: hashing, options: {dim: 64, delay_ms: 80}}", "hashing-64", 64, ""},
		{`{provider: openai, model: small, options: {base_url: "%s/v1"}}`, "openai/small", 256, ""},
		{`{provider: openai, model: small, options: {dim: 64, max_inputs: 8}}`, "openai/small", 64, ""},
		{`{provider: voyage, model: voyage-3.5, options: {base_url: "%s/v1", output_dtype: float}}`, "voyage/voyage-3.5", 256, ""},
		{`{provider: voyage, model: voyage-3.5}`, "", 0, "is VOYAGE_API_KEY set?"},
		{`{provider: openai}`, "", 0, "model is empty"},
		{`{provider: openai, model: small, options: {dim: many}}`, "", 0, "options"},
		{`{provider: openai, model: small, options: {base_url: "%s/nowhere"}}`, "", 0, "404 Not Found"},
		{`{provider: static, options: {dir: "%d"}}`, "static/" + filepath.Base(table) + "@", 8, ""},
		{`{provider: static, model: acme/tiny, options: {dir: "%d", dim: 4}}`, "static/acme/tiny@", 4, ""},
		{`{provider: static, model: acme/tiny}`, "", 0, "headstart models pull acme/tiny"},
		{`{provider: static, model: tiny}`, "", 0, "no name of the hub"},
		{`{provider: static}`, "", 0, "name a model"},
		{`{provider: static, options: {dir: "%d", dims: 4}}`, "", 0, "dims"},
		{`{provider: static, options: {dir: "%d/none"}}`, "", 0, "model.safetensors"},
		{`{provider: onnx, options: {dir: "%e"}}`, "onnx/" + filepath.Base(encoder) + "@", 8, ""},
		{`{provider: onnx, model: acme/small, options: {dir: "%e", pooling: cls, max_tokens: 64}}`, "onnx/acme/small@", 8, ""},
		{`{provider: onnx, options: {dir: "%e", pooling: best}}`, "", 0, `pooling "best" is not known`},
		{`{provider: onnx, options: {dir: "%d"}}`, "", 0, "none of onnx/model.onnx and model.onnx is there"},
		{`{provider: onnx, model: acme/small}`, "", 0, "headstart models pull acme/small"},
		{`{provider: other}`, "", 0, "use one of: hashing, static, onnx, openai, voyage"},
	} {
		file := head
		if tt.embedder != "" {
			file += "embedder: " + strings.NewReplacer("%s", fakes.URL, "%d", table, "%e", encoder).Replace(tt.embedder) + "\n"
		}
		a, err := worker.ParseAgent([]byte(file))
		if err != nil {
			t.Fatal(err)
		}
		e, err := k.embedder(t.Context(), a)
		if tt.complaint != "" {
			if !strings.Contains(fmt.Sprint(err), tt.complaint) {
				t.Fatalf("%s: %v does not tell %q", tt.embedder, err, tt.complaint)
			}
			continue
		}
		if err != nil || !strings.HasPrefix(e.Name(), tt.name) || e.Dim() != tt.dim {
			t.Fatalf("%s made %v, %v", tt.embedder, e, err)
		}
		again, err := k.embedder(t.Context(), a)
		if shared := strings.Contains(tt.name, "/"); err != nil || shared && again != e {
			t.Fatalf("%s made another for the questions: %v", tt.embedder, err)
		}
	}
}

// closes counts how often it is closed.
type closes struct {
	times int
	err   error
}

func (c *closes) Close() error { c.times++; return c.err }

// closesQuietly has nothing to say of it.
type closesQuietly struct{ times int }

func (c *closesQuietly) Close() { c.times++ }

func TestKitClosesWhatItMade(t *testing.T) {
	t.Parallel()
	stuck := errors.New("stuck")
	one, two, three := &closes{err: stuck}, &closesQuietly{}, &closes{}
	k := &kit{}
	k.own(one, struct{}{}, two)
	k.own(three)
	if err := k.close(); !errors.Is(err, stuck) || one.times+two.times+three.times != 3 {
		t.Fatalf("closed %d, %d and %d times, %v", one.times, two.times, three.times, err)
	}
	if err := k.close(); err != nil || one.times != 1 {
		t.Fatalf("closed %d times, %v", one.times, err)
	}
}
