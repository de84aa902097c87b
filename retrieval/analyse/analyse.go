// Package analyse owns how text becomes terms: one analyser for what is indexed
// and for what is asked, so that both engines and both sides of a search see
// the same words.
//
// The order is fixed: lower-case, NFC, accents folded, then stop words, then
// the Snowball stemmer of the language. Folding comes first so that a question
// typed without accents gives the terms of one typed with them. It never looks
// at a document's structure and never ranks. It cannot fail: any string gives
// some list of terms, perhaps an empty one.
package analyse

import (
	"strings"
	"unicode/utf8"
)

// maxStemmed is the longest word, in bytes, that is stemmed. Longer runs of
// letters are not words of a language, and Snowball is quadratic in them.
const maxStemmed = 64

// Analyser turns text into terms for one language. It is immutable and safe for
// concurrent use, unless it came from Remembering.
type Analyser struct {
	code  string // two letters, or Simple
	lang  language
	words speech
	memo  map[string]string // stems by word; only in what Remembering returns
}

// Simple is the code of the analyser that neither drops stop words nor stems.
const Simple = "simple"

// New returns the analyser of a language: es, en, pt, fr, de or it, as two
// letters or as any BCP 47 tag that begins with them ("es-UY"). Any other
// language, and the empty string, get Simple.
func New(tag string) *Analyser {
	code, _, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(strings.TrimSpace(tag)), "_", "-"), "-")
	lang, ok := languages[code]
	if !ok {
		return &Analyser{code: Simple}
	}
	return &Analyser{code: code, lang: lang, words: spoken[code]}
}

// Language is the code of the language in use: two letters, or Simple.
func (a *Analyser) Language() string { return a.code }

// Remembering returns the same analyser with a memory of the stems that it has
// found, for one goroutine that reads many texts. Indexing a base stems each word
// once instead of once a chunk.
func (a *Analyser) Remembering() *Analyser {
	b := *a
	b.memo = make(map[string]string)
	return &b
}

// Terms returns the terms of text in order, repeats included. A term is bare
// letters and digits: folded, lower-case, stemmed if it is a word.
//
// A code is a chain of letters and digits with at least one digit, its links
// joined by nothing, by a hyphen or an underscore, or, between digits, by a
// point, comma or colon ("AX-204", "AX204", "1.250"). It gives its whole, bare,
// and then each of its links: ax204, ax, 204. Links of letters are words like
// any other; the whole and the digits stay as they are. "AX 204" gives ax, 204.
// A chain without a digit is words apart: hyphens never glue those, and slashes
// glue nothing.
func (a *Analyser) Terms(text string) []string {
	var terms []string
	for t := range tokens(text) {
		if t.code() {
			terms = append(terms, t.whole())
		}
		for _, link := range t.links {
			terms = a.appendLink(terms, link)
		}
	}
	return terms
}

func (a *Analyser) appendLink(terms []string, link string) []string {
	if isDigits(link) {
		return append(terms, link)
	}
	for _, word := range a.lang.split(link) {
		if word == "" || a.lang.stops[word] {
			continue
		}
		terms = append(terms, a.stem(word))
	}
	return terms
}

// Stop reports whether a word is a stop word of the language.
func (a *Analyser) Stop(word string) bool { return a.lang.stops[Fold(word)] }

// stem returns the stem of a folded word, folded again: some stemmers put
// accents back.
func (a *Analyser) stem(word string) string {
	if a.lang.stem == nil || len(word) > maxStemmed || utf8.RuneCountInString(word) < 3 {
		return word
	}
	if a.memo == nil {
		return Fold(a.lang.stem(word))
	}
	stem, ok := a.memo[word]
	if !ok {
		stem = Fold(a.lang.stem(word))
		a.memo[word] = stem
	}
	return stem
}
