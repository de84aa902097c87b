package memory_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"headstart/memory"
)

// A fact is kept when the caller's own turn says it, in each language, and refused
// when the turn says less, another number, or the opposite.
func TestSupportInEveryLanguage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ language, said, fact, want string }{
		{"en", "I'm allergic to penicillin", "The caller is allergic to penicillin", "kept"},
		{"en", "I'm not allergic to penicillin", "Allergic to penicillin", "negation"},
		{"en", "I don't eat meat", "Does not eat meat", "kept"},
		{"en", "I do eat meat", "Does not eat meat", "negation"},
		{"en", "we've got two cats", "Has 2 cats", "kept"},
		{"en", "we've got two cats", "Has three cats", "numbers"},
		{"en", "call me after six please", "Prefers calls after 6", "kept"},
		{"en", "my daughter's name is Emma", "Has a daughter named Emma", "kept"},
		{"en", "my daughter's name is Emma", "Has a son named Peter", "unsupported"},
		{"en", "I moved in two thousand and nineteen", "Moved in 2019", "kept"},
		{"es", "no puedo tomar leche, soy intolerante", "No puede tomar leche", "kept"},
		{"es", "ya no vivo en Madrid", "Vive en Madrid", "negation"},
		{"es", "nunca he fumado", "Nunca ha fumado", "kept"},
		{"es", "tengo una hija y vivo en el tercero", "Tiene una hija", "kept"},
		{"pt", "sou alérgico à penicilina", "É alérgico à penicilina", "kept"},
		{"pt", "não posso vir às terças", "Não pode vir às terças", "kept"},
		{"pt", "não posso vir às terças", "Pode vir às terças", "negation"},
		{"pt", "tenho trinta e cinco anos", "Tem 35 anos", "kept"},
		{"fr", "je suis allergique à la pénicilline", "Est allergique à la pénicilline", "kept"},
		{"fr", "je n'ai pas de voiture", "N'a pas de voiture", "kept"},
		{"fr", "je n'ai pas de voiture", "A une voiture", "negation"},
		{"fr", "j'habite au quatre-vingt-douze rue Balzac", "Habite au 92 rue Balzac", "kept"},
		{"de", "ich bin gegen Penicillin allergisch", "Ist gegen Penicillin allergisch", "kept"},
		{"de", "ich habe keine Kinder", "Hat keine Kinder", "kept"},
		{"de", "ich habe keine Kinder", "Hat Kinder", "negation"},
		{"de", "ich bin fünfundvierzig Jahre alt", "Ist 45 Jahre alt", "kept"},
		{"it", "sono allergica alla penicillina", "È allergica alla penicillina", "kept"},
		{"it", "non mangio carne", "Non mangia carne", "kept"},
		{"it", "non mangio carne", "Mangia carne", "negation"},
		{"it", "abito al trentadue di via Roma", "Abita al 32 di via Roma", "kept"},
	} {
		l := memory.Lesson{
			Org: "default", Contact: "ana", Call: "c1", At: today, Language: tt.language,
			Policy: memory.Policy{Remember: []string{"x"}}, Turns: []memory.Said{{Turn: "s1", Text: tt.said}},
		}
		got := "kept"
		if learned := l.Admit([]memory.Proposal{add("x", tt.fact)}); len(learned.Refused) > 0 {
			got = string(learned.Refused[0].Reason)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %q from %q: %s, want %s", tt.language, tt.fact, tt.said, got, tt.want)
		}
	}
}
