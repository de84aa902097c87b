package analyse_test

import (
	"io/fs"
	"os"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"

	"headstart/retrieval/analyse"
)

func TestTerms(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, language, text string
		want                 []string
	}{
		{"folds before it stems", "es", "RESPIRACIÓN respiraciones respiracion", []string{"respir", "respir", "respir"}},
		{"decomposed accents", "es", "respiracio\u0301n", []string{"respir"}},
		{"ñ is a letter of its own", "es", "niño nino", []string{"niñ", "nin"}},
		{"folded stop words", "es", "¿Qué más está aquí?", []string{"aqui"}},
		{"a region is no other language", "es-UY", "las citas", []string{"cit"}},
		{"codes whole and split", "es", "AX-204 ax204 AX 204", []string{"ax204", "ax", "204", "ax204", "ax", "204", "ax", "204"}},
		{"a code of words", "en", "COVID-19", []string{"covid19", "covid", "19"}},
		{"numbers with marks", "es", "1.250,50 € a las 10:30", []string{"125050", "1", "250", "50", "1030", "10", "30"}},
		{"a point ends a sentence", "es", "Sala 2. Planta 3", []string{"sal", "2", "plant", "3"}},
		{"ordinal marks", "es", "2.º piso, 1ª puerta", []string{"2", "pis", "1", "puert"}},
		{"hyphens and slashes never glue words", "en", "check-in/check-out and/or walk_in", []string{"check", "check", "walk"}},
		{"a slash glues nothing", "en", "open 24/7", []string{"open", "24", "7"}},
		{"contractions", "en", "I don’t know the patient's o'clock", []string{"know", "patient", "o", "clock"}},
		{"elision", "fr", "l’heure d'ouverture réservée", []string{"heur", "ouvertur", "reserv"}},
		{"elision in Italian", "it", "dell'università", []string{"univers"}},
		{"German umlauts", "de", "Die Öffnungszeiten für Straße", []string{"offnungszeit", "strass"}},
		{"Portuguese plurals", "pt", "informação informações informacoes", []string{"inform", "inform", "inform"}},
		{"simple neither stops nor stems", "ca", "Les Visites, què?", []string{"les", "visites", "que"}},
		{"no letters", "es", "—… !? ´ '", nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(c.want, analyse.New(c.language).Terms(c.text)); d != "" {
				t.Fatalf("terms of %q (-want +got):\n%s", c.text, d)
			}
		})
	}
}

// TestInflections holds the pairs that folding before stemming would part.
func TestInflections(t *testing.T) {
	t.Parallel()
	cases := map[string][][]string{
		"es": {
			{"cancelación", "cancelaciones", "cancelacion"}, {"solución", "soluciones", "solucion"},
			{"psicología", "psicologías", "psicologia"}, {"revisión", "revisiones", "revision"},
			{"vacunación", "vacunaciones"}, {"clínica", "clínicas", "clinica"}, {"nación", "naciones"},
		},
		"pt": {{"marcação", "marcações", "marcacao"}, {"urgência", "urgências", "urgencia"}},
		"fr": {{"réservé", "réservée", "réservés", "réservées", "reservees", "réserver"}},
		"it": {{"prenotazione", "prenotazioni"}, {"città", "citta"}},
		"en": {{"booking", "bookings"}},
		"de": {{"Praxis", "praxis"}, {"Termine", "Terminen"}},
	}
	for language, groups := range cases {
		a := analyse.New(language)
		for _, words := range groups {
			for _, w := range words[1:] {
				if d := cmp.Diff(a.Terms(words[0]), a.Terms(w)); d != "" {
					t.Fatalf("%s: %q and %q do not meet:\n%s", language, words[0], w, d)
				}
			}
		}
	}
}

// TestAccentsDoNotMatter walks every word of the fixture texts.
func TestAccentsDoNotMatter(t *testing.T) {
	t.Parallel()
	words := fixtureWords(t)
	for _, language := range []string{"es", "en", "pt", "fr", "de", "it", "simple"} {
		a := analyse.New(language)
		for _, w := range words {
			if d := cmp.Diff(a.Terms(w), a.Terms(stripAccents(w))); d != "" {
				t.Fatalf("%s: %q with and without accents (-with +without):\n%s", language, w, d)
			}
		}
	}
}

// stripAccents is written apart from Fold, which it is to check.
func stripAccents(s string) string {
	var b strings.Builder
	for _, r := range norm.NFD.String(strings.ReplaceAll(strings.ReplaceAll(s, "ñ", "\x01"), "Ñ", "\x02")) {
		if !unicode.Is(unicode.Mn, r) {
			b.WriteRune(r)
		}
	}
	return strings.ReplaceAll(strings.ReplaceAll(b.String(), "\x01", "ñ"), "\x02", "Ñ")
}

func fixtureWords(t *testing.T) []string {
	t.Helper()
	var words []string
	root := os.DirFS("../../testdata")
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".md") {
			return err
		}
		text, err := fs.ReadFile(root, path)
		words = append(words, strings.Fields(string(text))...)
		return err
	})
	if err != nil || len(words) < 200 {
		t.Fatalf("read fixture words: %d words, %v", len(words), err)
	}
	return words
}

func TestFoldKeepsWhatIsNoLetter(t *testing.T) {
	t.Parallel()
	const text = "¿Dónde está el NIÑO, Øre & Æther?\n"
	if d := cmp.Diff("¿donde esta el niño, ore & aether?\n", analyse.Fold(text)); d != "" {
		t.Fatal(d)
	}
}

func FuzzTerms(f *testing.F) {
	for _, s := range []string{"AX-204", "respiración", "don't", "l’heure", "1.250,50", "'-_.", "ʼa", "\xff", "İÑñ̃ Ω", "a\u0301\u0303"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		folded := analyse.Fold(text)
		if again := analyse.Fold(folded); again != folded {
			t.Fatalf("fold is not stable: %q then %q", folded, again)
		}
		for _, language := range []string{"es", "en", "fr", "simple"} {
			a := analyse.New(language)
			terms := a.Terms(text)
			if d := cmp.Diff(terms, a.Terms(folded)); d != "" {
				t.Fatalf("%s: folded text has other terms:\n%s", language, d)
			}
			for _, term := range terms {
				if term == "" || strings.IndexFunc(term, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) >= 0 {
					t.Fatalf("%s: term %q is not bare letters and digits", language, term)
				}
			}
			if a.WorthEarly(text) && !a.Worth(text) {
				t.Fatalf("%s: %q is worth a query early and not at its end", language, text)
			}
		}
	})
}

func BenchmarkTerms(b *testing.B) {
	a := analyse.New("es")
	const question = "¿Cuánto cuesta la revisión anual y qué preparación necesito para la analítica del AX-204?"
	b.ReportAllocs()
	for b.Loop() {
		a.Terms(question)
	}
}

func TestRememberingIsTheSame(t *testing.T) {
	t.Parallel()
	a := analyse.New("es")
	b := a.Remembering()
	for _, w := range fixtureWords(t) {
		if d := cmp.Diff(a.Terms(w), b.Terms(w)); d != "" {
			t.Fatalf("%q:\n%s", w, d)
		}
	}
}
