package tokenizer

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is one that was added to a vocabulary: it is found in a text as it
// stands, and never cut.
type token struct {
	ID         int    `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	Lstrip     bool   `json:"lstrip"`
	Rstrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
}

// added are the tokens that are looked for together, by their first byte, the
// longest first.
type added struct {
	by [256][]token
	no bool // there is none
}

// split parts the tokens by when they are looked for. Those that are found in
// the normalised text are normalised themselves.
func split(tokens []token, normalise normaliser) (raw, normal added) {
	raw.no, normal.no = true, true
	for _, t := range tokens {
		if t.Normalized {
			t.Content = normalise(t.Content)
			normal.put(t)
		} else {
			raw.put(t)
		}
	}
	raw.sort()
	normal.sort()
	return raw, normal
}

func (a *added) put(t token) {
	if t.Content == "" { // nothing is left of it when it is normalised
		return
	}
	a.no = false
	a.by[t.Content[0]] = append(a.by[t.Content[0]], t)
}

func (a *added) sort() {
	for i := range a.by {
		slices.SortStableFunc(a.by[i], func(x, y token) int { return len(y.Content) - len(x.Content) })
	}
}

// each parts a text at the tokens in it and tells the parts in order: a token
// by its id, the text between by -1.
func (a *added) each(text string, tell func(id int, text string)) {
	if a.no {
		if text != "" {
			tell(-1, text)
		}
		return
	}
	from := 0
	for at := 0; at < len(text); {
		t, ok := a.find(text, at)
		if !ok {
			at++
			continue
		}
		start, end := at, at+len(t.Content)
		at = end
		if t.SingleWord && !alone(text, start, end) {
			continue
		}
		if t.Lstrip {
			start = max(from, len(strings.TrimRightFunc(text[:start], unicode.IsSpace)))
		}
		if t.Rstrip {
			end = len(text) - len(strings.TrimLeftFunc(text[end:], unicode.IsSpace))
			at = end
		}
		if from < start {
			tell(-1, text[from:start])
		}
		tell(t.ID, text[start:end])
		from = end
	}
	if from < len(text) {
		tell(-1, text[from:])
	}
}

func (a *added) find(text string, at int) (token, bool) {
	for _, t := range a.by[text[at]] {
		if strings.HasPrefix(text[at:], t.Content) {
			return t, true
		}
	}
	return token{}, false
}

// alone tells that no letter touches text[start:end].
func alone(text string, start, end int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:start])
	after, _ := utf8.DecodeRuneInString(text[end:])
	return !(start > 0 && wordRune(before)) && !(end < len(text) && wordRune(after))
}

// wordRune is what \w means where these files are made.
func wordRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.Is(unicode.Nd, r) || unicode.Is(unicode.Nl, r) || unicode.Is(unicode.Pc, r)
}
