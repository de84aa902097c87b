package analyse_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"headstart/retrieval/analyse"
)

func TestContent(t *testing.T) {
	t.Parallel()
	cases := []struct {
		language, text string
		want           []string
	}{
		{"es", "Hola, buenos días, ¿cuánto cuesta la revisión, por favor?", []string{"cuant", "cuest", "revision"}},
		{"es", "en tres días laborables", []string{"dias", "labor"}},
		{"es", "el código AX-204", []string{"codig", "ax204"}},
		{"es", "seis uno cero treinta y cinco", nil},
		{"es", "eh… vale, bueno, gracias", nil},
		{"es", "el primer turno de las 10:30", []string{"prim", "turn"}},
		{"en", "Um, hello, thank you, what's the price of two crowns?", []string{"price", "crown"}},
		{"en", "two oh four and thirty-five", nil},
		{"de", "Guten Tag, einundzwanzig Termine bitte", []string{"termin"}},
	}
	for _, c := range cases {
		t.Run(c.text, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(c.want, analyse.New(c.language).Content(c.text)); d != "" {
				t.Fatalf("content (-want +got):\n%s", d)
			}
		})
	}
}

func TestWorth(t *testing.T) {
	t.Parallel()
	cases := []struct {
		language, text string
		early, worth   bool
	}{
		{"es", "", false, false},
		{"es", "…", false, false},
		{"es", "600 12 34 56", false, false},
		{"es", "seis cero cero treinta y cinco", false, false},
		{"es", "diez coma cinco", false, false},
		{"es", "hola", false, true},
		{"es", "¿y el precio?", false, true},
		{"es", "precio revisión", true, true},
		{"es", "¿qué es lo que", true, true}, // four words
		{"es", "quiero tres", false, true},
		{"es", "AX-204", false, true},
		{"es", "garantía del AX-204", true, true},
		{"en", "one two three four five", false, false},
		{"en", "nineteen and a", false, true},
		{"en", "opening hours", true, true},
		{"en", "do you have any", true, true},
		{"en", "the second", false, true}, // an ordinal is a word
		{"simple", "opening hours", true, true},
	}
	for _, c := range cases {
		t.Run(c.language+" "+c.text, func(t *testing.T) {
			t.Parallel()
			a := analyse.New(c.language)
			if got := a.WorthEarly(c.text); got != c.early {
				t.Errorf("WorthEarly(%q) = %v", c.text, got)
			}
			if got := a.Worth(c.text); got != c.worth {
				t.Errorf("Worth(%q) = %v", c.text, got)
			}
		})
	}
}
