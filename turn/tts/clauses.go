package tts

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clause is one stretch of a reply. The Texts of a reply, joined, are what the
// model wrote, but for white space at its end.
type Clause struct {
	Text   string // as the log and the history keep it
	Spoken string // what the voice is given; empty when nothing of it can be said
}

// Options says how a reply is cut.
type Options struct {
	// Says are applied to what is spoken.
	Says []Pronunciation
	// FirstClause lets the first clause end at a comma, or after eight words,
	// so that the voice begins sooner. Off, every clause is a sentence.
	FirstClause bool
	// Longest is how many bytes a clause may hold before it is cut at a comma or
	// a space; 0 is DefaultLongest.
	Longest int
}

// DefaultLongest is half a minute of speech: a voice that has to wait for more
// is a silence.
const DefaultLongest = 400

// firstWords is where the first clause may end without any mark.
const firstWords = 8

// Clauses cuts a reply into sentences while it is being written. How the text
// was divided over calls of Write makes no difference. One goroutine uses it.
type Clauses struct {
	opt    Options
	buf    []byte
	silent string // cut already, with nothing to say: the next clause takes it along
	given  int
}

// NewClauses returns an empty splitter.
func NewClauses(opt Options) *Clauses {
	if opt.Longest <= 0 {
		opt.Longest = DefaultLongest
	}
	return &Clauses{opt: opt}
}

// Write takes more of the text and returns the clauses that it completed. A
// sentence is complete once the white space after it is there.
func (c *Clauses) Write(text string) []Clause {
	var out []Clause
	for i := range len(text) {
		b := text[i]
		afterSpace := len(c.buf) > 0 && isSpace(c.buf[len(c.buf)-1])
		c.buf = append(c.buf, b)
		if isSpace(b) || afterSpace || len(c.buf) > c.opt.Longest {
			out = c.cutAll(out)
		}
	}
	return out
}

// Flush returns what is left: the text is over.
func (c *Clauses) Flush() []Clause {
	rest := c.silent + strings.TrimRightFunc(string(c.buf), unicode.IsSpace)
	c.buf, c.silent = nil, ""
	if rest == "" {
		return nil
	}
	return []Clause{c.clause(rest)}
}

func (c *Clauses) cutAll(out []Clause) []Clause {
	for {
		end := boundary(c.buf, c.opt.FirstClause && c.given == 0, c.opt.Longest)
		if end == 0 {
			return out
		}
		clause := c.clause(c.silent + string(c.buf[:end]))
		c.buf = append(c.buf[:0], c.buf[end:]...)
		if clause.Spoken == "" {
			c.silent = clause.Text
			continue
		}
		c.silent = ""
		c.given++
		out = append(out, clause)
	}
}

func (c *Clauses) clause(text string) Clause {
	return Clause{Text: text, Spoken: Pronounce(c.opt.Says, Speakable(text))}
}

// boundary is where the first clause of buf ends, 0 when that cannot be told
// yet. The white space after a clause belongs to the next.
func boundary(buf []byte, first bool, longest int) int {
	s := newSpans(buf)
	words := 0
	for i := range buf {
		s.step(i)
		if i == 0 || !isSpace(buf[i]) || isSpace(buf[i-1]) {
			continue
		}
		words++
		if buf[i] == '\n' && hasWord(buf[:i]) {
			return i
		}
		if !s.open() && (ends(buf, i) || (first && endsEarly(buf[:i], words))) {
			return i
		}
	}
	if len(buf) > longest {
		return forced(buf, longest)
	}
	return 0
}

// forced cuts a stretch without an end at its last comma, else its last space,
// else between two characters.
func forced(buf []byte, longest int) int {
	for _, marks := range []string{",;:", ""} {
		for i := longest - 1; i > longest/4; i-- {
			if isSpace(buf[i]) && (marks == "" || strings.IndexByte(marks, buf[i-1]) >= 0) {
				return i
			}
		}
	}
	end := longest
	for end > max(1, longest-utf8.UTFMax) && !utf8.RuneStart(buf[end]) {
		end--
	}
	return end
}

// endsEarly tells whether the first clause may end at the white space after text.
func endsEarly(text []byte, words int) bool {
	return words >= firstWords || (words >= 2 && text[len(text)-1] == ',')
}

// ends tells whether a sentence ends before the white space at i.
func ends(buf []byte, i int) bool {
	text := strings.TrimRight(string(buf[:i]), "\"'”»’)]*_`~")
	if text == "" {
		return false
	}
	last, _ := utf8.DecodeLastRuneInString(text)
	switch last {
	case '!', '?':
		return true
	case '…':
		return beginsSentence(buf[i:])
	case '.':
		return stops(text[:len(text)-1], buf[i:])
	}
	return false
}

// stops tells whether the full stop after text ends a sentence; rest follows it.
func stops(text string, rest []byte) bool {
	if strings.HasSuffix(text, ".") { // an ellipsis
		return beginsSentence(rest)
	}
	start := strings.LastIndexAny(text, " \n\t\r") + 1
	word := strings.ToLower(strings.TrimLeft(text[start:], "(\"'“«¿¡*_"))
	switch {
	case word == "":
		return false
	case titles[word], isInitial(text[start:]):
		return false
	case perhaps[word], isDotted(word):
		return beginsSentence(rest)
	case isNumber(word) && strings.TrimSpace(lastLine(text[:start])) == "":
		return false // the number of a list's item
	}
	return true
}

// beginsSentence tells whether what follows looks like a new sentence; not
// while nothing but white space follows.
func beginsSentence(rest []byte) bool {
	next := strings.TrimLeft(string(rest), " \t\r\n\"'“«(*_")
	r, _ := utf8.DecodeRuneInString(next)
	return unicode.IsUpper(r) || r == '¿' || r == '¡'
}

func lastLine(text string) string { return text[strings.LastIndexByte(text, '\n')+1:] }

// isInitial tells "J" of "J. Pérez".
func isInitial(word string) bool {
	r, size := utf8.DecodeRuneInString(word)
	return size > 0 && size == len(word) && unicode.IsUpper(r)
}

// isDotted tells "a.m", "EE.UU": short pieces between full stops.
func isDotted(word string) bool {
	if !strings.Contains(word, ".") {
		return false
	}
	for piece := range strings.SplitSeq(word, ".") {
		if n := utf8.RuneCountInString(piece); n == 0 || n > 2 || isNumber(piece) {
			return false
		}
	}
	return true
}

func isNumber(word string) bool {
	return word != "" && strings.Trim(word, "0123456789") == ""
}

func hasWord(buf []byte) bool {
	for _, r := range string(buf) {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return true
		}
	}
	return false
}

func isSpace(b byte) bool { return b == ' ' || b == '\n' || b == '\t' || b == '\r' }

// titles stand before what they belong to: no sentence ends there. Spanish and
// English share one list, as callers mix them.
var titles = set("dr dra dres sr sra srta sres d dña dª prof profa lic ing arq gral cap cnel fr sto sta " +
	"mr mrs ms messrs st rev gen col sgt capt av avda c ctra cra núm nro nº tel tfno tlf art fig vol pág págs pp p " +
	"ej ext dto izq dcha apdo e.g i.e p.ej vs cf ed dep depto dept")

// perhaps may stand at the end of a sentence; a capital after them tells.
var perhaps = set("etc aprox approx máx mín max min kg km cm mm h hs hrs seg ud uds vd vds jr inc ltd co corp est " +
	"ene feb abr jun jul ago sept oct nov dic jan apr aug dec")

func set(words string) map[string]bool {
	out := make(map[string]bool)
	for word := range strings.FieldsSeq(words) {
		out[word] = true
	}
	return out
}
