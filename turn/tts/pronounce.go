package tts

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Pronunciation is how the voice says one word that it would get wrong. It is
// applied to what is spoken, never to the log.
type Pronunciation struct {
	Word   string `json:"word" yaml:"word"`     // as the model writes it: "Vidal"
	Spoken string `json:"spoken" yaml:"spoken"` // what the voice is given instead: "bidál"
}

// Pronounce replaces whole words, whatever their case; an accent makes another
// word. Longer words win, what was replaced is not looked at again, and of two
// entries for one word the first counts.
func Pronounce(says []Pronunciation, text string) string {
	if len(says) == 0 {
		return text
	}
	text = norm.NFC.String(text)
	words := longestFirst(says)
	var b strings.Builder
	for i := 0; i < len(text); {
		if p, n := matchAt(words, text, i); n > 0 {
			b.WriteString(p.Spoken)
			i += n
			continue
		}
		_, size := utf8.DecodeRuneInString(text[i:])
		b.WriteString(text[i : i+size])
		i += size
	}
	return b.String()
}

func longestFirst(says []Pronunciation) []Pronunciation {
	var out []Pronunciation
	for _, p := range says {
		if p.Word = norm.NFC.String(strings.TrimSpace(p.Word)); p.Word != "" {
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(a, b Pronunciation) int { return cmp.Compare(len(b.Word), len(a.Word)) })
	return out
}

// matchAt finds the entry whose word stands at i, and its length in the text.
func matchAt(words []Pronunciation, text string, i int) (Pronunciation, int) {
	for _, p := range words {
		n := prefixRunes(text[i:], utf8.RuneCountInString(p.Word))
		if n > 0 && strings.EqualFold(text[i:i+n], p.Word) && standsAlone(text, i, i+n) {
			return p, n
		}
	}
	return Pronunciation{}, 0
}

// prefixRunes is the length in bytes of the first so many runes, 0 when there are fewer.
func prefixRunes(s string, runes int) int {
	n := 0
	for range runes {
		if n >= len(s) {
			return 0
		}
		_, size := utf8.DecodeRuneInString(s[n:])
		n += size
	}
	return n
}

// standsAlone tells whether no word goes on across either edge.
func standsAlone(text string, from, to int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:from])
	first, _ := utf8.DecodeRuneInString(text[from:])
	last, _ := utf8.DecodeLastRuneInString(text[:to])
	after, _ := utf8.DecodeRuneInString(text[to:])
	return !(inWord(before) && inWord(first)) && !(inWord(last) && inWord(after))
}

func inWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '_')
}
