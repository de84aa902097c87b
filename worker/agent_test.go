package worker_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headstart/retrieval"
	"headstart/worker"
)

const wholeAgent = `
name: clinica-norte
language: es-ES
greeting: {say: "Clínica Norte, buenos días."}
stt: {provider: deepgram, model: nova-3, options: {base_url: "ws://127.0.0.1:1"}}
llm: {provider: openai, model: gpt-5-mini, temperature: 0.2}
voice: {provider: openai, model: tts-1, voice_id: nova}
turn: {endpointing_ms: 400, min_interruption_words: 2}
says: [{word: Vidal, spoken: bidál}]
hears: [Sanitas]
docs:
  - {base: clinica-norte, k: 4, min_score: 0.3}
  - {base: tarifas, late: skip}
prompt:
  - {name: identity, text: "Eres la recepción."}
`

func TestParseAgent(t *testing.T) {
	t.Parallel()
	a, err := worker.ParseAgent([]byte(wholeAgent))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"clinica-norte", "tarifas"}, a.Bases()); diff != "" {
		t.Fatalf("bases (-want +got):\n%s", diff)
	}
	if a.Docs[1].Late != "skip" || a.Docs[0].K != 4 || a.Docs[0].MinScore != 0.3 || *a.LLM.Temperature != 0.2 || a.Turn.EndpointingMS != 400 || a.Says[0].Spoken != "bidál" {
		t.Fatalf("read %+v", a)
	}
}

func TestParseAgentTakesJSONAndASingleBase(t *testing.T) {
	t.Parallel()
	a, err := worker.ParseAgent([]byte(`{"name":"a","language":"en","stt":{"provider":"replay"},"llm":{"provider":"extractive"},"voice":{"provider":"local"},"docs":{"base":"faq"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"faq"}, a.Bases()); diff != "" {
		t.Fatalf("bases (-want +got):\n%s", diff)
	}
}

// A base is searched before each turn or by the model, as its mode says; the prompt of the
// second tells that there is something to search.
func TestTheModesOfABase(t *testing.T) {
	t.Parallel()
	const file = `{"name":"a","language":"en","stt":{"provider":"flux"},"llm":{"provider":"%s"},"voice":{"provider":"local"},"docs":%s}`
	for _, tt := range []struct {
		docs            string
		retrieved, tool []retrieval.Attachment
	}{
		{`{"base":"faq"}`, []retrieval.Attachment{{Base: "faq"}}, nil},
		{`{"base":"faq","mode":"retrieved"}`, []retrieval.Attachment{{Base: "faq"}}, nil},
		{`{"base":"faq","mode":"tool","k":3,"min_score":0.2,"late":"skip"}`, nil, []retrieval.Attachment{{Base: "faq", K: 3, MinScore: 0.2, Late: retrieval.LateSkip}}},
		{`[{"base":"faq"},{"base":"prices","mode":"tool"}]`, []retrieval.Attachment{{Base: "faq"}}, []retrieval.Attachment{{Base: "prices"}}},
	} {
		a, err := worker.ParseAgent(fmt.Appendf(nil, file, "openai", tt.docs))
		if err != nil {
			t.Fatal(err)
		}
		cfg := worker.Conversation(a)
		if diff := cmp.Diff([][]retrieval.Attachment{tt.retrieved, tt.tool}, [][]retrieval.Attachment{cfg.Bases, cfg.ToolBases}); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", tt.docs, diff)
		}
		if told := strings.Contains(cfg.Prompt, "call search"); told != (tt.tool != nil) {
			t.Fatalf("%s: the prompt is %q", tt.docs, cfg.Prompt)
		}
		_, err = worker.ParseAgent(fmt.Appendf(nil, file, "extractive", tt.docs))
		if refused := err != nil && strings.Contains(err.Error(), "extractive calls no tools"); refused != (tt.tool != nil) {
			t.Fatalf("%s of a model that calls no tools: %v", tt.docs, err)
		}
	}
}

func TestParseAgentRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, change, to string
		complaints       []string
	}{
		{"an unknown field", "language:", "lenguage:", []string{"lenguage"}},
		{"an unknown field of a base", "k: 4", "kk: 4", []string{"kk"}},
		{"no slug", "name: clinica-norte", "name: Clínica Norte", []string{"not a slug"}},
		{"two openings", `{say: "Clínica Norte, buenos días."}`, `{say: hola, reply: saluda}`, []string{"exclude each other"}},
		{"a dynamic block", "name: identity", "name: view, region: dynamic", []string{"static"}},
		{"a score out of range", "min_score: 0.3", "min_score: 3", []string{"min_score"}},
		{"an unknown way to be late", "late: skip", "late: wait", []string{"docs[1].late"}},
		{"a pool that changes nothing", "hears: [Sanitas]", "rerank: {provider: cohere, model: m, pool: 8}", []string{"a pool of 8 is no larger than the 8 passages"}},
		{"an unknown mode", "base: tarifas", "base: tarifas, mode: asked", []string{"docs[1].mode", "retrieved or tool"}},
		{"everything at once", "name: clinica-norte\nlanguage: es-ES", "name: A B", []string{"not a slug", "language: missing"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text := strings.Replace(wholeAgent, tt.change, tt.to, 1)
			if text == wholeAgent {
				t.Fatalf("the change %q is not in the file", tt.change)
			}
			_, err := worker.ParseAgent([]byte(text))
			if err == nil {
				t.Fatal("accepted")
			}
			for _, c := range tt.complaints {
				if !strings.Contains(err.Error(), c) {
					t.Fatalf("the complaint does not tell %q: %v", c, err)
				}
			}
		})
	}
}
