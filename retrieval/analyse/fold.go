package analyse

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// folded are letters that Unicode does not decompose but that callers and
// keyboards write without their mark.
var folded = map[rune]string{
	'ß': "ss", 'æ': "ae", 'œ': "oe", 'ø': "o", 'đ': "d", 'ð': "d", 'ł': "l", 'þ': "th", 'ı': "i",
}

// Fold returns text in lower case and without accents: á is a, ü is u, ç is c.
// ñ stays, because niño and nino are two words. Everything that is not a letter
// is kept. Fold of a folded text is the same text.
func Fold(text string) string {
	if isFolded(text) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for _, r := range norm.NFC.String(text) {
		foldRune(&b, unicode.ToLower(r))
	}
	return norm.NFC.String(b.String())
}

func foldRune(b *strings.Builder, r rune) {
	if r < utf8.RuneSelf || r == 'ñ' {
		b.WriteRune(r)
		return
	}
	if s, ok := folded[r]; ok {
		b.WriteString(s)
		return
	}
	if unicode.Is(unicode.Mn, r) {
		return
	}
	for _, d := range norm.NFD.String(string(r)) {
		if unicode.Is(unicode.Mn, d) {
			continue
		}
		// A decomposed letter may itself be one of the letters above: ǿ is ø and a mark.
		if s, ok := folded[d]; ok {
			b.WriteString(s)
			continue
		}
		b.WriteRune(d)
	}
}

// isFolded spares the common case its copy: lower-case ASCII.
func isFolded(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= utf8.RuneSelf || 'A' <= c && c <= 'Z' {
			return false
		}
	}
	return true
}
