package extractive_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"headstart/turn/llm"
	"headstart/turn/llm/extractive"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// content is a word analysis as a caller injects it: lower case, accents
// folded, function words dropped, plurals cut.
func content(text string) []string {
	stop := " a al con cual cuanto cuesta de del el en es la las lo los que se un una y the is of at do you how much what does "
	fold := strings.NewReplacer("á", "a", "é", "e", "í", "i", "ó", "o", "ú", "u")
	var out []string
	for word := range strings.FieldsFuncSeq(fold.Replace(strings.ToLower(text)), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if !strings.Contains(stop, " "+word+" ") {
			out = append(out, strings.TrimSuffix(word, "s"))
		}
	}
	return out
}

func model(t *testing.T, language string) *extractive.Model {
	t.Helper()
	m, err := extractive.New(extractive.Config{Language: language, Content: content, Number: func(text string) bool { return text == "seis cero cero" }})
	if err != nil {
		t.Fatalf("new model: %v", err)
	}
	return m
}

// asked builds a request as the turn does: history, the question, the results.
func asked(question string, results ...string) llm.Request {
	req := llm.Request{Messages: []llm.Message{
		{Role: llm.System, Content: "Eres la recepción."}, {Role: llm.User, Content: "Hola, la dirección"}, {Role: llm.Assistant, Content: "Hola."},
		{Role: llm.User, Content: question},
	}}
	for _, r := range results {
		req.Messages = append(req.Messages,
			llm.Message{Role: llm.Assistant, ToolCalls: []llm.ToolCall{{ID: "s", Name: "search"}}},
			llm.Message{Role: llm.ToolRole, ToolCallID: "s", Content: r})
	}
	return req
}

func chunks(t *testing.T, texts ...string) string {
	t.Helper()
	var list []map[string]string
	for _, text := range texts {
		list = append(list, map[string]string{"path": "a.md", "heading": "Horario de la piscina", "text": text})
	}
	data, err := json.Marshal(map[string]any{"chunks": list})
	if err != nil {
		t.Fatalf("write chunks: %v", err)
	}
	return string(data)
}

func reply(t *testing.T, m *extractive.Model, req llm.Request) (string, []string) {
	t.Helper()
	var pieces []string
	result, err := m.Reply(t.Context(), req, func(text string) { pieces = append(pieces, text) })
	if err != nil || result.Finish != "stop" {
		t.Fatalf("reply: %+v, %v", result, err)
	}
	return strings.Join(pieces, ""), pieces
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	hours := "La **farmacia** cierra a las 14.30. La consulta de la Dra. Vidal abre de 9.00 a 13.30,\np. ej. los lunes. No hay urgencias."
	table := "Precios:\n\n| Servicio | Precio |\n|---|---|\n| **Revisión** | 50 € |\n| Empaste | 70,50 € |\n"
	for _, c := range []struct {
		name, language, question string
		results                  []string
		want                     string
	}{
		{"the sentence, whole and clean", "es-ES", "¿Cuándo abre la consulta?", []string{chunks(t, hours)}, "La consulta de la Dra. Vidal abre de 9.00 a 13.30, p. ej. los lunes."},
		{"emphasis gone", "es", "¿Cierra la farmacia?", []string{chunks(t, hours)}, "La farmacia cierra a las 14.30."},
		{"half is enough", "es", "farmacia barata", []string{chunks(t, hours)}, "La farmacia cierra a las 14.30."},
		{"less is not", "es", "farmacia barata y cercana", []string{chunks(t, hours)}, extractive.NoAnswerES},
		{"a heading is no sentence", "es", "¿horario piscina?", []string{chunks(t, "De nueve a dos.")}, extractive.NoAnswerES},
		{"nothing found", "en", "opening hours", nil, extractive.NoAnswerEN},
		{"no question", "", "¿?", []string{chunks(t, hours)}, extractive.NoAnswerEN},
		{"the first of equals", "es", "farmacia", []string{chunks(t, "Farmacia una. Farmacia dos."), chunks(t, "Farmacia tres.")}, "Farmacia una."},
		{"the most wins", "es", "farmacia guardia noche", []string{chunks(t, "La farmacia de guardia."), chunks(t, "Farmacia de guardia de noche.")}, "Farmacia de guardia de noche."},
		{"a row", "es", "¿Cuánto cuesta un empaste?", []string{chunks(t, table)}, "Servicio: Empaste, Precio: 70,50 €."},
		{"a sentence before a row", "es", "¿Precio del empaste?", []string{chunks(t, table+"\nEl empaste va aparte.")}, "El empaste va aparte."},
		{"an item", "es", "¿carnet?", []string{chunks(t, "Traiga:\n- El carnet\n  y una foto\n- Dinero")}, "El carnet y una foto"},
		{"a fact", "es", "¿Mi alergia?", []string{`{"facts":[{"text":"Tiene alergia al látex","source":"c1"}]}`}, "Tiene alergia al látex"},
		{"another tool", "es", "farmacia", []string{`"farmacia"`, `[1]`, `nope`}, extractive.NoAnswerES},
		{"digits", "es", "600 123-456.", []string{chunks(t, hours)}, "Gracias, tomo nota de 600 123-456."},
		{"a number in words", "es", "seis cero cero", []string{chunks(t, hours)}, "Gracias, tomo nota de seis cero cero."},
		{"digits in English", "en-GB", "42", nil, "Thank you, I have noted 42."},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, _ := reply(t, model(t, c.language), asked(c.question, c.results...))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestItStreams(t *testing.T) {
	t.Parallel()
	_, pieces := reply(t, model(t, "es"), asked("farmacia", chunks(t, "La farmacia de la plaza cierra a las dos.")))
	if diff := cmp.Diff([]string{"La farmacia de la ", "plaza cierra a las ", "dos."}, pieces); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
}

func TestCancelReturnsItsCause(t *testing.T) {
	t.Parallel()
	cause := errors.New("barge-in")
	ctx, cancel := context.WithCancelCause(t.Context())
	n := 0
	_, err := model(t, "es").Reply(ctx, asked("farmacia", chunks(t, "La farmacia de la plaza cierra a las dos.")), func(string) {
		n++
		cancel(cause)
	})
	if err != cause || n != 1 {
		t.Fatalf("got %v after %d pieces, want the cause after one", err, n)
	}
}

func TestItNeedsAnAnalysis(t *testing.T) {
	t.Parallel()
	if _, err := extractive.New(extractive.Config{}); err == nil {
		t.Fatal("a model without a word analysis was made")
	}
}

func FuzzAnswersAreOfThePassages(f *testing.F) {
	f.Add("farmacia", "La **farmacia**. | a |\n|--|\n|b|\n")
	f.Add("1", "x")
	f.Fuzz(func(t *testing.T, question, text string) {
		got, _ := reply(t, model(t, "es"), asked(question, chunks(t, text)))
		if strings.TrimSpace(got) == "" {
			t.Fatal("said nothing")
		}
	})
}
