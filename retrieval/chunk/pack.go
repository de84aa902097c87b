package chunk

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// piece is the text of a chunk and its size.
type piece struct {
	text    string
	words   int
	glue    string // between it and the piece before
	repeats int    // bytes of a table's header that the piece before has
}

// pack joins units to pieces under MaxTokens, in order. Headings go with the
// unit that follows them; one that nothing follows is dropped.
func pack(units []unit) []piece {
	var pieces []piece
	var now piece
	var above labels
	for _, u := range units {
		if u.label > 0 {
			above = above.after(u)
			continue
		}
		if now.words > 0 && (u.fresh || tokens(now.words+above.words()+u.words) >= MaxTokens) {
			pieces = append(pieces, now)
			now = piece{}
		}
		for _, label := range above {
			now.add(label)
		}
		now.add(u)
		above = nil
	}
	if now.words > 0 {
		pieces = append(pieces, now)
	}
	return pieces
}

func (p *piece) add(u unit) {
	if p.text == "" {
		p.glue, p.repeats = u.glue, u.repeats
	} else {
		p.text += u.glue
	}
	p.text += u.text
	p.words += u.words
}

// labels are the headings that wait for what they head, each deeper than the one
// before: so at most six, 312 tokens together.
type labels []unit

// after is what waits once u has come. A heading under which another of its own
// level or above begins heads nothing.
func (l labels) after(u unit) labels {
	if u.label == 0 {
		return nil
	}
	for len(l) > 0 && l[len(l)-1].label >= u.label {
		l = l[:len(l)-1]
	}
	return append(l[:len(l):len(l)], u)
}

func (l labels) words() int {
	n := 0
	for _, u := range l {
		n += u.words
	}
	return n
}

// sentences cuts prose into its sentences, and a sentence that is too long
// between two words.
func sentences(whole unit, room float64) []unit {
	if tokens(whole.words) < room {
		return []unit{whole}
	}
	var units []unit
	glue := whole.glue
	for text := whole.text; text != ""; {
		end, next := sentenceEnd(text)
		units = append(units, cutWords(newUnit(text[:end], glue), room)...)
		glue, text = text[end:next], text[next:]
	}
	units[0].fresh = true
	return units
}

// cutWords cuts a sentence of too many words.
func cutWords(s unit, room float64) []unit {
	most := max(1, int((room-1)/tokensPerWord))
	if s.words <= most {
		return []unit{s}
	}
	var units []unit
	text, glue := s.text, s.glue
	for text != "" {
		end := wordEnd(text, most)
		units = append(units, newUnit(text[:end], glue))
		rest := strings.TrimLeftFunc(text[end:], unicode.IsSpace)
		glue, text = text[end:len(text)-len(rest)], rest
	}
	return units
}

// wordEnd is where the nth word of a text ends, or the text.
func wordEnd(text string, n int) int {
	inWord := false
	for i, r := range text {
		if unicode.IsSpace(r) {
			if inWord {
				if n--; n == 0 {
					return i
				}
			}
			inWord = false
			continue
		}
		inWord = true
	}
	return len(text)
}

// abbreviations end in a point that ends no sentence; folded is not needed, they
// are matched in lower case.
var abbreviations = map[string]bool{
	"sr": true, "sra": true, "srta": true, "dr": true, "dra": true, "d": true, "dña": true, "av": true, "avda": true,
	"c": true, "núm": true, "n": true, "tel": true, "pág": true, "p": true, "ej": true, "etc": true, "aprox": true,
	"mr": true, "mrs": true, "ms": true, "st": true, "no": true, "vs": true, "e.g": true, "i.e": true, "prof": true,
}

// sentenceEnd returns where the first sentence ends and where the next begins.
func sentenceEnd(text string) (end, next int) {
	for i, r := range text {
		if !strings.ContainsRune(".!?…", r) {
			continue
		}
		end = i + utf8.RuneLen(r)
		end += closers(text[end:])
		rest := strings.TrimLeftFunc(text[end:], unicode.IsSpace)
		next = len(text) - len(rest)
		if rest == "" {
			return end, len(text)
		}
		first, _ := utf8.DecodeRuneInString(rest)
		if next > end && !unicode.IsLower(first) && (r != '.' || !abbreviated(text[:i])) {
			return end, next
		}
	}
	return len(text), len(text)
}

// closers counts the bytes of quotes and brackets that belong to the sentence.
func closers(s string) int { return len(s) - len(strings.TrimLeft(s, ".!?…\"'”’»)]*_")) }

func abbreviated(before string) bool {
	at := strings.LastIndexFunc(before, func(r rune) bool { return unicode.IsSpace(r) || r == '(' })
	return abbreviations[strings.ToLower(before[at+1:])]
}
