package demo_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headstart/memory"
	"headstart/turn"
	"headstart/worker/demo"
)

// What a call taught, what it did not, and what was recalled stand in the report
// and in the table.
func TestReportTellsWhatIsRemembered(t *testing.T) {
	t.Parallel()
	fact := memory.Fact{ID: "f_1", Text: "Tiene seguro de Sanitas.", Source: "call-es-2"}
	r := demo.ReportOf("es-2", []demo.Said{{Turn: demo.Turn{Text: "¿y mi seguro?"}, Began: at(5), Ended: at(7), Answered: at(7.4)}}, []turn.Entry{
		entry(t, 0, turn.CallStarted{}),
		entry(t, 7.3, turn.TurnUser{SpeechID: "speech-2", Text: "y mi seguro"}),
		entry(t, 7.3, turn.MemoryOps{SpeechID: "speech-2", Op: "recall", Facts: []memory.Fact{fact}}),
		entry(t, 9, turn.TurnAgent{SpeechID: "speech-2", Text: "Sanitas.", Kind: turn.KindReply}),
		entry(t, 17, turn.CallEnded{Reason: "caller_hung_up"}),
		entry(t, 18, turn.MemoryOps{Op: "remember", Facts: []memory.Fact{fact}, Refused: []memory.Refusal{{Op: memory.Add, Text: "x", Reason: memory.BecauseTool, Words: "it names the tool x"}}}),
	}, 900)
	if diff := cmp.Diff([]demo.Fact{{Text: fact.Text, Source: "call-es-2"}}, r.Turns[0].Recalled); diff != "" {
		t.Fatalf("recalled (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]demo.Refused{{Text: "x", Reason: "tool", Words: "it names the tool x"}}, r.Calls[0].Refused); diff != "" {
		t.Fatalf("refused (-want +got):\n%s", diff)
	}
	var table strings.Builder
	demo.WriteTable(&table, r, nil)
	for _, line := range []string{
		"call es-2 taught: Tiene seguro de Sanitas.\n", "call es-2 did not teach: x (tool: it names the tool x)\n",
		"call es-2, turn 1 recalled of call es-2: Tiene seguro de Sanitas.\n",
	} {
		if !strings.Contains(table.String(), line) {
			t.Fatalf("no %q in\n%s", line, table.String())
		}
	}
}

// The script proposes good and bad facts of what it heard; the good one is kept
// and each bad one refused for its own reason.
func TestTheDemosProposalsAreJudged(t *testing.T) {
	t.Parallel()
	p, err := demo.LoadProposer("../../testdata/calls")
	if err != nil {
		t.Fatal(err)
	}
	lesson := memory.Lesson{
		Org: "default", Contact: "+34600123456", Call: "call-1", At: start, Language: "es-ES", Tools: []string{"search", "recall", "end_call"},
		Policy: memory.Policy{Remember: []string{"seguro", "preferencias"}, Forget: []string{"pruebas"}},
		Turns: []memory.Said{
			{Turn: "speech-1", Agent: true, Text: "Aceptamos el seguro de Sanitas."},
			{Turn: "speech-2", Text: "tengo seguro de sanitas lo aceptan para las consultas por favor"},
			{Turn: "speech-3", Text: "y cuánto cuesta la resonancia magnética por favor"},
			{Turn: "speech-4", Text: "alquilan también barcos de vela en el puerto por favor"},
			{Turn: "speech-5", Text: "dónde se puede aparcar el coche cerca de la clínica gracias"},
		},
	}
	learned, err := memory.Learn(t.Context(), lesson, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	var reasons []memory.Reason
	for _, r := range learned.Refused {
		reasons = append(reasons, r.Reason)
	}
	if diff := cmp.Diff([]memory.Reason{memory.BecauseForget, memory.BecauseTool, memory.BecauseInstruction}, reasons); diff != "" {
		t.Fatalf("refused (-want +got):\n%s", diff)
	}
	if c := learned.Writing.Changes; len(c) != 1 || c[0].Fact.Turn != "speech-2" || c[0].Fact.Category != "seguro" {
		t.Fatalf("kept %+v", c)
	}
	answer, err := p.Extract(t.Context(), memory.Request{User: `{"turns":[{"turn":1,"who":"caller","text":"adiós"}]}`})
	if err != nil || !json.Valid([]byte(answer.Text)) || answer.Text != `{"operations":[]}` {
		t.Fatalf("of a call that teaches nothing: %s, %v", answer.Text, err)
	}
}
