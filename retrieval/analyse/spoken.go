package analyse

import (
	"slices"
	"strings"
	"unicode"
)

// speech is what callers say that no document answers. All folded.
type speech struct {
	numbers map[string]bool // zero to a thousand, never ordinals
	links   map[string]bool // inside a number that is read out: "treinta y cinco", "two oh four"
	fillers map[string]bool // courtesy and hesitation, one word each
	pairs   map[string]bool // courtesy of two words whose second alone is a word like any other
}

// Content returns the content words of what a caller said, in order: folded and
// stemmed, without stop words, spoken numbers, digits, courtesy and filler. A
// code with letters stays, as its whole. Two texts with equal content ask the
// same thing.
func (a *Analyser) Content(text string) []string {
	said := a.said(text)
	var content []string
	for i, w := range said {
		if w.number || a.words.fillers[w.text] || a.courtesy(said, i) {
			continue
		}
		if w.code {
			content = append(content, w.text)
			continue
		}
		content = a.appendLink(content, w.text)
	}
	return content
}

// WorthEarly reports whether what a caller has said so far is worth a query
// before the turn has ended: at least one letter, and two content words or four
// words that are no numbers.
func (a *Analyser) WorthEarly(text string) bool {
	if len(a.Content(text)) >= 2 {
		return true
	}
	words := 0
	for _, w := range a.said(text) {
		if !w.number && hasLetter(w.text) {
			words++
		}
	}
	return words >= 4
}

// Worth reports whether a committed turn is worth a query: it has at least one
// letter outside spoken numbers. A number that is read out finds nothing in
// prose, and a caller's digits are the last thing to hand to an embedder. A code
// with letters is a query.
func (a *Analyser) Worth(text string) bool {
	return slices.ContainsFunc(a.said(text), func(w saidWord) bool { return !w.number && hasLetter(w.text) })
}

// saidWord is one word of speech, a code being one word.
type saidWord struct {
	text         string
	number, code bool
}

func (a *Analyser) said(text string) []saidWord {
	var said []saidWord
	for t := range tokens(text) {
		w := saidWord{text: t.whole(), code: t.code()}
		if len(t.links) == 1 {
			w.text = t.links[0]
		}
		w.number = !hasLetter(w.text) || a.isNumber(w.text)
		said = append(said, w)
	}
	a.joinNumbers(said)
	return said
}

// joinNumbers counts the links between two numbers as part of them: without
// this the "y" of "treinta y cinco" would be a letter worth a query.
func (a *Analyser) joinNumbers(said []saidWord) {
	for i := 1; i < len(said)-1; i++ {
		if a.words.links[said[i].text] && said[i-1].number && said[i+1].number {
			said[i].number = true
		}
	}
}

func (a *Analyser) isNumber(word string) bool {
	if a.words.numbers[word] {
		return true
	}
	// German writes numbers below a hundred as one word: einundzwanzig.
	unit, ten, ok := strings.Cut(word, "und")
	return ok && a.code == "de" && (unit == "ein" || a.words.numbers[unit]) && a.words.numbers[ten]
}

// courtesy reports whether word i is part of a pair such as "buenos días".
func (a *Analyser) courtesy(said []saidWord, i int) bool {
	pair := func(first, second int) bool {
		return first >= 0 && second < len(said) && a.words.pairs[said[first].text+" "+said[second].text]
	}
	return pair(i, i+1) || pair(i-1, i)
}

func hasLetter(s string) bool { return strings.IndexFunc(s, unicode.IsLetter) >= 0 }
