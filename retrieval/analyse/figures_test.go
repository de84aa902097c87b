package analyse_test

import (
	"strings"
	"testing"

	"headstart/retrieval/analyse"
)

func TestFigures(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ language, text, want string }{
		{"es", "cuatro cinco tres dos", "4 5 3 2"},
		{"es", "Son cuarenta y cinco euros", "son 45 euros"},
		{"es", "cuarenta y cinco treinta y dos cero uno", "45 32 0 1"},
		{"es", "treinta cinco", "30 5"},
		{"es", "dos mil veintiséis", "2026"},
		{"es", "mil doscientos treinta y cuatro", "1234"},
		{"es", "ciento cinco", "105"},
		{"es", "seis cero cero, doble cinco", "6 0 0, 55"},
		{"es", "4532 guion 0151", "4532 0151"},
		{"es", "cuatro y cinco", "4 5"},
		{"es", "tiene un perro y dos gatos", "tiene 1 perro y 2 gatos"},
		{"en", "four five three two", "4 5 3 2"},
		{"en", "forty-five thirty two", "45 32"},
		{"en", "one hundred and five", "105"},
		{"en", "two thousand and twenty six", "2026"},
		{"en", "double five oh one", "55 0 1"},
		{"pt", "trinta e cinco", "35"},
		{"pt", "quatro cinco três", "4 5 3"},
		{"fr", "quatre-vingt-dix-sept", "97"},
		{"fr", "soixante-douze", "72"},
		{"fr", "vingt et un", "21"},
		{"fr", "quatre vingts", "80"},
		{"fr", "deux cent trois", "203"},
		{"de", "einundzwanzig", "21"},
		{"de", "zweihundertfünfunddreißig", "235"},
		{"de", "vier fünf drei", "4 5 3"},
		{"it", "ventuno trentotto", "21 38"},
		{"it", "duecento cinque", "205"},
		{"", "four five", "four five"},
		{"es", "", ""},
		{"es", "  ¡hola!  ", "  ¡hola!  "},
	} {
		if got := analyse.New(tt.language).Figures(tt.text); got != tt.want {
			t.Errorf("%s: Figures(%q) = %q, want %q", tt.language, tt.text, got, tt.want)
		}
	}
}

// FuzzFigures holds that no text breaks it, that what has no spoken number is
// only folded, and that a second reading changes nothing in digits.
func FuzzFigures(f *testing.F) {
	for _, s := range []string{"doble", "doble doble cinco", "cuatro-vingt", "mil mil y", "hundert", "undhundertund", "quatre vingt dix sept neuf", "\xff4 y \x00 5"} {
		f.Add("es", s)
		f.Add("de", s)
		f.Add("fr", s)
	}
	f.Fuzz(func(t *testing.T, language, text string) {
		a := analyse.New(language)
		got := a.Figures(text)
		if a.Language() == analyse.Simple && got != analyse.Fold(text) {
			t.Fatalf("Simple changed %q to %q", text, got)
		}
		if digitsOf(analyse.Fold(text)) != "" && digitsOf(got) == "" {
			t.Fatalf("%q lost its digits: %q", text, got)
		}
	})
}

func digitsOf(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, s)
}
