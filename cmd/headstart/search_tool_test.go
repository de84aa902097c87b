package main

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headstart/turn"
)

const searchingAgent = wireAgent + `embedder: {provider: openai, model: text-embedding-3-small, options: {base_url: "%[1]s/v1", api_key: k}}
docs: {base: clinica-norte, mode: tool}
`

// seeking is a fake model that searches, and reads out of what was found.
const seeking = `{"answers": [{"tool_calls": [{"id": "s1", "name": "search", "arguments": "{\"query\": \"¿A qué hora abren los sábados?\"}"}]},
	{"text": "Sí: ", "quote": "Los sábados todas las consultas abren a las nueve de la mañana"}]}`

// The model of an agent without an app searches when it wants to: nothing is looked up
// before, and the caller hears what the documents say, though the embedder hangs.
func TestTheModelSearchesABase(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		faults   map[string]string
		branches []string
		log      []string
	}{
		{"whole", map[string]string{"llm": seeking}, []string{"words", "vectors"}, []string{"turn.user", "tool.call", "docs.sources", "tool.result", "metrics.turn"}},
		{"by its words", map[string]string{"llm": seeking, "embed": `{"fault":"hang"}`}, []string{"words"}, []string{"turn.user", "tool.call", "docs.sources", "error", "tool.result", "metrics.turn"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWireOf(t, searchingAgent, tt.faults)
			c := w.dial()
			if err := c.Chat(t.Context(), "¿A qué hora abren los sábados?"); err != nil {
				t.Fatal(err)
			}
			c.said("Sí: Los sábados todas las consultas abren a las nueve de la mañana")
			entries := c.hangUp()
			var order []string
			for _, e := range entries {
				if slices.Contains([]string{"turn.user", "tool.call", "docs.sources", "tool.result", "metrics.turn", "error"}, e.Type) {
					order = append(order, e.Type)
				}
			}
			if diff := cmp.Diff(tt.log, order); diff != "" {
				t.Fatalf("the log (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.branches, eventsOf[turn.DocsSources](entries)[0].Branches); diff != "" {
				t.Fatalf("branches (-want +got):\n%s", diff)
			}
			checkSought(t, entries, w.asked())
		})
	}
}

// checkSought holds that a call's one search was the model's own, and that its request
// carries what the log tells.
func checkSought(t *testing.T, entries []turn.Entry, requests []request) {
	t.Helper()
	docs, result := eventsOf[turn.DocsSources](entries)[0], eventsOf[turn.ToolResulted](entries)[0]
	if docs.CallID != "s1" || len(docs.Sources) == 0 || docs.Sources[0].Path != "horarios.md" || docs.StartedMS < 0 {
		t.Fatalf("sources %+v", docs)
	}
	if result.CallID != "s1" || result.Error != "" {
		t.Fatalf("result %+v", result)
	}
	if len(requests) != 2 {
		t.Fatalf("%d requests", len(requests))
	}
	for i, roles := range [][]string{{"system", "assistant", "user"}, {"system", "assistant", "user", "assistant", "tool"}} {
		if diff := cmp.Diff(roles, requests[i].roles()); diff != "" {
			t.Fatalf("request %d (-want +got):\n%s", i, diff)
		}
		if tools := requests[i].Tools; len(tools) != 1 || tools[0].Function.Name != "search" || !strings.Contains(tools[0].Function.Description, "clinica-norte") {
			t.Fatalf("request %d offers %+v", i, tools)
		}
	}
	if content := requests[1].Messages[4].Content; !strings.HasPrefix(content, `{"chunks":[{"path":"horarios.md"`) {
		t.Fatalf("the model reads %s", content)
	}
}

// request is what a model was asked.
type request struct {
	Messages []struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Function struct {
			Name        string `json:"name"`
			Description string `json:"description"`
		} `json:"function"`
	} `json:"tools"`
}

func (r request) roles() (list []string) {
	for _, m := range r.Messages {
		list = append(list, m.Role)
	}
	return list
}

// asked is what the fake model was asked, in order.
func (w *wire) asked() []request {
	t := w.t
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.fakes.URL+"/fakes/llm", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var told struct {
		Bodies []request `json:"bodies"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&told); err != nil {
		t.Fatal(err)
	}
	return told.Bodies
}
