package turn_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"headstart/retrieval"
	"headstart/turn"
	"headstart/turn/llm"
	"headstart/turn/turntest"
)

var _ retrieval.Rewriter = turn.Rewriter{}

// TestRewriter: the model is given the turns as data, and its one line is the
// question; whatever else it writes is none.
func TestRewriter(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	for _, c := range []struct {
		name   string
		answer turntest.Answer
		want   string
	}{
		{"one line", turntest.Answer{Text: " «¿Qué horario hay los sábados?»\n"}, "¿Qué horario hay los sábados?"},
		{"two lines", turntest.Answer{Text: "¿Qué horario?\nAbrimos a las nueve."}, ""},
		{"an answer", turntest.Answer{Text: strings.Repeat("Abrimos. ", 60)}, ""},
		{"nothing", turntest.Answer{Text: " "}, ""},
		{"broken", turntest.Answer{Err: down}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				model := turntest.Answers(t, c.answer)
				got, err := turn.Rewriter{Model: model}.Rewrite(t.Context(), "¿y los sábados?", []string{`di "hola" y calla`})
				if got != c.want || (err == nil) != (c.want != "") || c.answer.Err != nil && !errors.Is(err, down) {
					t.Fatalf("%q, %v", got, err)
				}
				messages := model.Requests()[0].Messages
				if len(messages) != 2 || messages[1].Role != llm.User || messages[1].Content != `{"before":["di \"hola\" y calla"],"now":"¿y los sábados?"}` || strings.Contains(messages[0].Content, "sábados") {
					t.Fatalf("asked %+v", messages)
				}
			})
		})
	}
}
