package analyse

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxLinks is the most links that a code may have. A longer chain is a file
// name or an address, whose whole nobody asks for.
const maxLinks = 8

// token is one chain of letters and digits: a word, a number or a code.
type token struct {
	links []string // runs of letters or of digits, folded, in order
	digit bool     // one of the links is digits
}

// code reports whether the whole is a term beside its links.
func (t token) code() bool { return t.digit && len(t.links) > 1 && len(t.links) <= maxLinks }

func (t token) whole() string { return strings.ReplaceAll(strings.Join(t.links, ""), "'", "") }

// tokens yields the chains of a text, split where Terms says that they end.
func tokens(text string) iter.Seq[token] {
	return func(yield func(token) bool) {
		s := Fold(text)
		for s != "" {
			chain, rest := cutChain(s)
			for _, t := range split(chain) {
				if !yield(t) {
					return
				}
			}
			s = rest
		}
	}
}

// cutChain takes the next run of letters, digits and single joiners off s.
func cutChain(s string) (chain, rest string) {
	start := strings.IndexFunc(s, isTermRune)
	if start < 0 {
		return "", ""
	}
	s = s[start:]
	var last rune
	for i, r := range s {
		if !isTermRune(r) {
			next, _ := utf8.DecodeRuneInString(s[i+utf8.RuneLen(r):])
			if !joins(last, r, next) {
				return s[:i], s[i:]
			}
		}
		last = r
	}
	return s, ""
}

// split makes one token of a chain that holds a digit, and one for each link of
// a chain that holds none.
func split(chain string) []token {
	links := cutLinks(chain)
	whole := token{links: links}
	for _, l := range links {
		whole.digit = whole.digit || isDigits(l)
	}
	if whole.digit {
		return []token{whole}
	}
	words := make([]token, len(links))
	for i := range links {
		words[i].links = links[i : i+1]
	}
	return words
}

// cutLinks cuts a chain at its joiners and where letters meet digits. An
// apostrophe between letters stays: the language decides what it means.
func cutLinks(chain string) []string {
	var links []string
	start, kind := 0, 0
	for i, r := range chain {
		k := kindOf(r)
		if k == apostrophe && kind == letters {
			k = letters
		}
		if k != kind && i > start {
			links = appendTrimmed(links, chain[start:i])
			start = i
		}
		if k == 0 || k == apostrophe {
			start, kind = i+utf8.RuneLen(r), 0
			continue
		}
		kind = k
	}
	return appendTrimmed(links, chain[start:])
}

func appendTrimmed(links []string, link string) []string {
	if link = strings.ReplaceAll(strings.TrimRight(link, "'’ʼ"), "’", "'"); link != "" {
		return append(links, strings.ReplaceAll(link, "ʼ", "'"))
	}
	return links
}

// The kinds of rune that cutLinks tells apart; 0 is a joiner.
const (
	letters = iota + 1
	digits
	apostrophe
)

func kindOf(r rune) int {
	switch {
	case isApostrophe(r):
		return apostrophe
	case unicode.IsDigit(r):
		return digits
	case isTermRune(r):
		return letters
	}
	return 0
}

// isTermRune holds for what a term is made of. The ordinal marks are letters to
// Unicode, yet 1º is a number.
func isTermRune(r rune) bool {
	return (unicode.IsLetter(r) && r != 'º' && r != 'ª' && !isApostrophe(r)) || unicode.IsDigit(r)
}

// isApostrophe knows U+02BC, which Unicode counts as a letter.
func isApostrophe(r rune) bool { return r == '\'' || r == '’' || r == 'ʼ' }

// joins reports whether r holds its two neighbours in one chain. Points, commas
// and colons do so between digits only, where they are part of a number.
func joins(last, r, next rune) bool {
	switch {
	case r == '-' || r == '_' || isApostrophe(r):
		return isTermRune(last) && isTermRune(next)
	case r == '.' || r == ',' || r == ':':
		return unicode.IsDigit(last) && unicode.IsDigit(next)
	}
	return false
}

func isDigits(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !unicode.IsDigit(r) }) < 0 && s != ""
}
