package tts_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"headstart/turn/tts"
)

func TestSpeakable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"plain", "Son 2.50 euros, de 9.00 a 14.30.", "Son 2.50 euros, de 9.00 a 14.30."},
		{"emphasis", "Es **muy** *importante*, __de veras__ y _hoy_. ***Gracias***", "Es muy importante, de veras y hoy. Gracias"},
		{"code", "Diga `AX-204` o ```ax```.", "Diga AX-204 o ax."},
		{"snake case", "El campo max_duration_s manda.", "El campo max duration s manda."},
		{"strike", "~~Veinte~~ Diez euros", "Veinte Diez euros"},
		{"heading", "## Horario ##\nDe nueve a dos", "Horario. De nueve a dos"},
		{"bullets", "- Lunes\n* Martes\n+ Miércoles\n• Jueves", "Lunes. Martes. Miércoles. Jueves"},
		{"numbers stay", "1. Abra\n2. Cierre", "1. Abra. 2. Cierre"},
		{"tasks", "- [x] Hecho\n- [ ] Por hacer", "Hecho. Por hacer"},
		{"quote", "> > Dicho está", "Dicho está"},
		{"rule", "Uno\n\n---\n* * *\nDos", "Uno. Dos"},
		{"fence", "Así:\n```go\nx := 1\n```\nYa", "Así: x := 1. Ya"},
		{"link", "Vea [la **carta**](https://x.es/a_(b) \"t\") hoy.", "Vea la carta hoy."},
		{"image", "![Un mapa](m.png) aquí", "Un mapa aquí"},
		{"reference", "Vea [la carta][1] y nota[^2].\n[1]: https://x.es", "Vea la carta y nota."},
		{"address", "Reserve en https://www.Clinica.es/citas?id=3. Gracias", "Reserve en clinica.es. Gracias"},
		{"bare www", "En www.clinica.es, claro", "En clinica.es, claro"},
		{"autolink", "Es <https://a.es/b>.", "Es a.es."},
		{"mail", "Escriba a <mailto:hola@a.es>", "Escriba a hola@a.es"},
		{"table", "| Día | Hora |\n|:---|---:|\n| Lunes | 9.00 |", "Día, Hora. Lunes, 9.00"},
		{"html", "Uno<br/>dos <b>tres</b> &amp; cuatro&nbsp;€", "Uno dos tres & cuatro €"},
		{"emoji", "¡Hola! 👋🏽 Sí 👨‍👩‍👧 claro ✅ 🇪🇸 1️⃣.", "¡Hola! Sí claro 1."},
		{"degrees stay", "A 20 °C, piso 3.º", "A 20 °C, piso 3.º"},
		{"arrow", "Tarifas › Revisión → 50 €", "Tarifas, Revisión, 50 €"},
		{"sign", "2 * 3 y 4*5", "2 x 3 y 4 x 5"},
		{"stray marks", "Un * suelto y **otro", "Un suelto y otro"},
		{"escapes", `\*no\* es 3\.5`, "no es 3.5"},
		{"nothing", "**  **\n🎉\n---", ""},
		{"bad bytes", "a\xffb", "ab"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, tts.Speakable(c.text)); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPronounce(t *testing.T) {
	t.Parallel()
	says := []tts.Pronunciation{
		{Word: "Vidal", Spoken: "bidál"}, {Word: "Clínica Vidal", Spoken: "clínica bidal"},
		{Word: "bidál", Spoken: "no"}, {Word: "", Spoken: "no"}, {Word: "C++", Spoken: "ce más más"}, {Word: "vidal", Spoken: "no"},
	}
	for _, c := range []struct{ text, want string }{
		{"El doctor VIDAL, vidal.", "El doctor bidál, bidál."},
		{"Vidales y Vidál y Evidal", "Vidales y Vidál y Evidal"},
		{"La clínica vidal de Vidal", "La clínica bidal de bidál"},
		{"Uso C++, no C+.", "Uso ce más más, no C+."},
		{"La cli\u0301nica vidal", "La clínica bidal"},
	} {
		if diff := cmp.Diff(c.want, tts.Pronounce(says, c.text)); diff != "" {
			t.Fatalf("%q (-want +got):\n%s", c.text, diff)
		}
	}
}

// split feeds a text in pieces of n bytes.
func split(opt tts.Options, text string, n int) []tts.Clause {
	c := tts.NewClauses(opt)
	var out []tts.Clause
	for len(text) > n {
		out = append(out, c.Write(text[:n])...)
		text = text[n:]
	}
	out = append(out, c.Write(text)...)
	return append(out, c.Flush()...)
}

func spoken(clauses []tts.Clause) []string {
	var out []string
	for _, c := range clauses {
		out = append(out, c.Spoken)
	}
	return out
}

func joined(clauses []tts.Clause) string {
	var b strings.Builder
	for _, c := range clauses {
		b.WriteString(c.Text)
	}
	return b.String()
}

func TestClauses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"sentences", "Hola. ¿Qué tal? ¡Bien! Adiós", []string{"Hola.", "¿Qué tal?", "¡Bien!", "Adiós"}},
		{"decimals", "Son 2.50 euros. Ya.", []string{"Son 2.50 euros.", "Ya."}},
		{"times", "A las 10.30. Venga.", []string{"A las 10.30.", "Venga."}},
		{"number at the end", "Abre a las 10. Venga.", []string{"Abre a las 10.", "Venga."}},
		{"titles", "La Dra. Vidal y el Sr. Gómez. Sí.", []string{"La Dra. Vidal y el Sr. Gómez.", "Sí."}},
		{"initials", "Es J. R. Pérez. Sí.", []string{"Es J. R. Pérez.", "Sí."}},
		{"p. ej.", "Algo, p. ej. Madrid, e.g. Paris. Sí.", []string{"Algo, p. ej. Madrid, e.g. Paris.", "Sí."}},
		{"dotted", "A las 9 a.m. en EE.UU. hoy. A las 9 p.m. Luego no.", []string{"A las 9 a.m. en EE.UU. hoy.", "A las 9 p.m.", "Luego no."}},
		{"etc", "Pan, etc. y vino, etc. Nada más.", []string{"Pan, etc. y vino, etc.", "Nada más."}},
		{"ellipsis", "Pues... no sé... Quizá… sí.", []string{"Pues... no sé...", "Quizá… sí."}},
		{"quotes", "Dijo «ven.» Y fue. (Bien.) Fin", []string{"Dijo «ven.»", "Y fue.", "(Bien.)", "Fin"}},
		{"list", "Pasos:\n1. Abra.\n2. Cierre.\n- Fin", []string{"Pasos:", "1. Abra.", "2. Cierre.", "Fin"}},
		{"emphasis held", "**Ojo. No venga. Ya.** Bien. *Sí. No.* Ya", []string{"Ojo. No venga. Ya.", "Bien.", "Sí. No.", "Ya"}},
		{"link held", "Vea [la guía. Toda](https://a.es/x. y). Fin", []string{"Vea la guía. Toda.", "Fin"}},
		{"address", "Es https://a.es/b.c?d=e. Fin", []string{"Es a.es.", "Fin"}},
		{"stray star", "Nota *1. Sí.\nFin. Ya", []string{"Nota 1. Sí.", "Fin.", "Ya"}},
		{"silent goes along", "🎉 Hola. 😀\n\n---\nAdiós. 👋", []string{"Hola.", "Adiós.", ""}},
		{"table", "| Día | Hora |\n|---|---|\n| Lunes | 9 |\n", []string{"Día, Hora", "Lunes, 9"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, n := range []int{1, 3, 1000} {
				got := split(tts.Options{}, c.text, n)
				if diff := cmp.Diff(c.want, spoken(got)); diff != "" {
					t.Fatalf("pieces of %d (-want +got):\n%s", n, diff)
				}
				if diff := cmp.Diff(strings.TrimSpace(c.text), strings.TrimSpace(joined(got))); diff != "" {
					t.Fatalf("text (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestASentenceComesOutWithTheSpaceAfterIt(t *testing.T) {
	t.Parallel()
	c := tts.NewClauses(tts.Options{Says: []tts.Pronunciation{{Word: "Vidal", Spoken: "bidál"}}})
	if got := c.Write("La Clínica **Vidal**."); got != nil {
		t.Fatalf("gave %v before the sentence was surely over", got)
	}
	want := []tts.Clause{{Text: "La Clínica **Vidal**.", Spoken: "La Clínica bidál."}}
	if diff := cmp.Diff(want, c.Write(" ")); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	if got := c.Flush(); got != nil {
		t.Fatalf("flush gave %v", got)
	}
}

func TestFirstClause(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want []string
	}{
		{"Claro que sí, ahora mismo, se lo digo.", []string{"Claro que sí,", "ahora mismo, se lo digo."}},
		{"Sí, son 2,50 euros, claro.", []string{"Sí, son 2,50 euros,", "claro."}},
		{"uno dos tres cuatro cinco seis siete ocho nueve diez, once.", []string{"uno dos tres cuatro cinco seis siete ocho", "nueve diez, once."}},
		{"**Uno dos, tres** cuatro. Fin", []string{"Uno dos, tres cuatro.", "Fin"}},
	} {
		if diff := cmp.Diff(c.want, spoken(split(tts.Options{FirstClause: true}, c.text, 1))); diff != "" {
			t.Fatalf("%q (-want +got):\n%s", c.text, diff)
		}
	}
}

func TestALongStretchIsCut(t *testing.T) {
	t.Parallel()
	for _, text := range []string{strings.Repeat("palabra ", 200), strings.Repeat("ñ", 1000), "[" + strings.Repeat("a, b ", 300)} {
		got := split(tts.Options{}, text, 7)
		for _, c := range got {
			if len(c.Text) > 400 || !utf8.ValidString(c.Text) {
				t.Fatalf("a clause of %d bytes: %q", len(c.Text), c.Text)
			}
		}
		if diff := cmp.Diff(strings.TrimSpace(text), joined(got)); diff != "" {
			t.Fatalf("text (-want +got):\n%s", diff)
		}
	}
}

var seeds = []string{
	"Hola. **Ojo. [a](http://b.c/d). Sí.** 2.50 p. ej. Dr. X… ¡Ya! 😀\n| a | b |\n|--|--|\n", "```go\nx\n```", "[[a](b)](c)",
	"*_`~~\\*<b>&lt;b&gt;https://", "\x00\xff\u200d", "![", "1. \n2. ", "&#42;&#42;x", "www.www.www.a", "a_b_ _c",
}

func FuzzSpeakable(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := tts.Speakable(text)
		if !utf8.ValidString(got) || strings.TrimSpace(got) != got {
			t.Fatalf("%q became %q", text, got)
		}
		for _, mark := range []string{"*", "`", "_", "[", "]", "|", "://", "\n", "  ", "😀", "\u200d"} {
			if strings.Contains(got, mark) {
				t.Fatalf("%q became %q, which holds %q", text, got, mark)
			}
		}
	})
}

func FuzzClauses(f *testing.F) {
	for _, s := range seeds {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, text string, n int) {
		whole := split(tts.Options{}, text, len(text)+1)
		if diff := cmp.Diff(whole, split(tts.Options{}, text, 1+max(0, n)%16)); diff != "" {
			t.Fatalf("%q depends on how it comes (-whole +pieces):\n%s", text, diff)
		}
		if got := joined(whole); !strings.HasPrefix(text, got) || strings.TrimSpace(text[len(got):]) != "" {
			t.Fatalf("%q became %q", text, got)
		}
		for i, c := range whole {
			if c.Spoken == "" && i < len(whole)-1 {
				t.Fatalf("%q has a silent clause before its last", text)
			}
		}
	})
}

func BenchmarkClauses(b *testing.B) {
	text := strings.Repeat("La consulta abre a las 9.30 y **cierra** a las 14.00, salvo los lunes. ", 8)
	tokens := strings.SplitAfter(text, " ")
	b.ReportAllocs()
	for b.Loop() {
		c := tts.NewClauses(tts.Options{})
		for _, token := range tokens {
			c.Write(token)
		}
		c.Flush()
	}
}
