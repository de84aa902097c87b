package turn_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"headstart/turn"
)

func TestReceiptsAreFilled(t *testing.T) {
	t.Parallel()
	const arguments = `{"name":"Ana","n":12.50,"result":"no","tags":["a"],"empty":" ","to":{"city":"Soria"}}`
	for _, tt := range []struct{ template, output, want string }{
		{"", `1`, ""},
		{"Hecho.", `null`, "Hecho."},
		{"{{name}}, {{ to.city }}: {{n}}", `null`, "Ana, Soria: 12.50"},
		{"Reservado: {{result.when}} con {{result.with.name}}.", `{"when":"lunes","with":{"name":"Vidal"}}`, "Reservado: lunes con Vidal."},
		{"Número {{result}}", `900719925474099312`, "Número 900719925474099312"},
		{"{{result.a.b}}", `{"a":"x"}`, ""},
		{"{{missing}} {{name}}", `null`, ""},
		{"{{tags}}", `null`, ""},
		{"{{empty}}", `null`, ""},
		{"{{name", `null`, "{{name"},
		{"name}} {{name}}", `null`, "name}} Ana"},
		{"{{}}", `null`, ""},
		{"{{result.when}}", `{"when":"{{name}}"}`, "{{name}}"}, // what came back is no template
	} {
		if got := turn.Receipt(tt.template, json.RawMessage(arguments), json.RawMessage(tt.output)); got != tt.want {
			t.Errorf("%q of %s is %q, want %q", tt.template, tt.output, got, tt.want)
		}
	}
}

// FuzzReceipt: a receipt never breaks, is whole or nothing, and repeats no placeholder
// that its values did not bring.
func FuzzReceipt(f *testing.F) {
	f.Add("Reservado: {{result.when}} con {{name}}.", `{"name":"Ana"}`, `{"when":"lunes"}`)
	f.Add("{{{{name}}}}", `{"name":"}}"}`, `[]`)
	f.Add("{{.}} {{result.}}", `{"":{"":"x"}}`, `{"":1e400}`)
	f.Fuzz(func(t *testing.T, template, arguments, output string) {
		got := turn.Receipt(template, json.RawMessage(arguments), json.RawMessage(output))
		if !strings.Contains(template, "{{") && got != strings.TrimSpace(template) {
			t.Fatalf("%q became %q", template, got)
		}
		if utf8.ValidString(template) && utf8.ValidString(arguments) && utf8.ValidString(output) && !utf8.ValidString(got) {
			t.Fatalf("%q is no text", got)
		}
	})
}
