package turn_test

import (
	"testing"

	"headstart/turn"
)

func TestEndpointingReadsTheText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		language, text string
		unfinished     bool
		rule           string
	}{
		{"es-ES", "¿A qué hora abren?", false, "a question mark ends it"},
		{"es-ES", "¿Para qué es el?", false, "a question mark ends it, whatever the last word"},
		{"en-GB", "What time do you open?", false, "a question mark ends it"},
		{"es-ES", "Quería saber si abren,", true, "a comma goes on"},
		{"es-ES", "Pues mire...", true, "an ellipsis goes on"},
		{"es-ES", "Pues mire…", true, "an ellipsis goes on"},
		{"es-ES", "Mi correo es:", true, "a colon goes on"},
		{"en-GB", "I was thinking -", true, "a dash goes on"},
		{"es-ES", "Quiero una cita para el", true, "an article dangles"},
		{"es-ES", "Quiero una cita para el.", true, "a full stop proves nothing"},
		{"es-ES", "Llamo de", true, "a preposition dangles"},
		{"es-ES", "Tengo seguro y", true, "a conjunction dangles"},
		{"es-ES", "Es para mi", true, "a possessive dangles"},
		{"es-ES", "Quería saber si", true, "a conjunction dangles"},
		{"es-ES", "Es que no sé para qué", false, "«para qué» ends a sentence"},
		{"es-ES", "Quiero una cita mañana", false, "a noun ends it"},
		{"es-ES", "Sí", false, "one word may be all"},
		{"es-ES", "Gracias.", false, "one word may be all"},
		{"es-ES", "Y", true, "one word that cannot be all"},
		{"en-GB", "I want an appointment for the", true, "an article dangles"},
		{"en-GB", "I am calling from", true, "a preposition dangles"},
		{"en-GB", "I would like to", true, "a preposition dangles"},
		{"en-GB", "My name is", true, "a verb that wants more"},
		{"en-GB", "Yes I am", false, "«I am» ends a sentence"},
		{"en-GB", "That is what I am waiting for", false, "«waiting for» ends a sentence"},
		{"en-GB", "I want to come tomorrow", false, "a noun ends it"},
		{"es-ES", "seis cero cero, uno dos", true, "five of nine digits"},
		{"es-ES", "seis cero cero, uno dos tres, cuatro cinco seis", false, "nine digits"},
		{"es-ES", "600 123", true, "six of nine digits"},
		{"es-ES", "600 123 456", false, "nine digits"},
		{"es-ES", "dos", false, "one digit is an answer"},
		{"es-ES", "veinte", false, "two digits are an answer"},
		{"en-GB", "six oh oh one", true, "four digits of more"},
		{"es-ES", "tengo dos hijos", false, "a number among words is no dictation"},
		{"pt-PT", "quero uma consulta para o", false, "no rules for this language: the minimum"},
		{"es-ES", "", false, "nothing is not unfinished"},
	} {
		if got := turn.Unfinished(tt.text, tt.language); got != tt.unfinished {
			t.Errorf("%s %q: unfinished is %v (%s)", tt.language, tt.text, got, tt.rule)
		}
	}
}

func TestBackchannels(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		language, text string
		want           bool
	}{
		{"es", "Ajá.", true}, {"es", "vale", true}, {"es", "Sí, sí, vale.", true}, {"es", "mm", true}, {"en", "mm-hm", true}, {"en", "Uh-huh.", true},
		{"en", "Yeah, right.", true}, {"es", "vale pero espere", false}, {"es", "no", false}, {"en", "no", false}, {"es", "", false},
		{"es", "sí sí sí sí", false}, {"en", "stop", false}, {"es", "espera", false},
	} {
		if got := turn.IsBackchannel(tt.text, tt.language); got != tt.want {
			t.Errorf("%s %q: backchannel is %v", tt.language, tt.text, got)
		}
	}
}
