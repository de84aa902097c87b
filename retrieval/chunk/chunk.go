// Package chunk owns how a Markdown file becomes pieces: cut at its headings of
// levels 1 to 3, each piece under MaxTokens, cut again at a block, then at a
// sentence.
//
// It reads Markdown through a CommonMark parser with tables, never by matching
// lines, so a comment in a code fence is no heading and a rule under a list is
// no underline. It never reads a file and never fails: any text gives some
// pieces, perhaps none. The same text gives the same pieces with the same ids,
// whatever its line ends.
package chunk

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"unicode"
)

// MaxTokens is the size that every piece stays under, in tokens as Tokens
// counts them. Only what may not be cut is larger, and says so: Oversize.
const MaxTokens = 350

// tokensPerWord is what a word costs a model on average in the languages of the
// analyser.
const tokensPerWord = 1.3

// Format numbers the way in which files are cut. It changes with every change
// that cuts some file otherwise, so that a push cuts it again.
const Format = 1

// Separator parts the headings of a path: "Tarifas › Revisión".
const Separator = " › "

// Chunk is one piece of a file.
type Chunk struct {
	ID       string // made of path, heading and text: a piece that did not change keeps it
	Path     string // the file, as it was pushed
	Heading  string // its heading path; empty above the first heading
	Text     string // the Markdown under the heading, without it
	Seq      int    // its place in the file, from 0
	Section  int    // which heading of the file it stands under, from 0: two may be spelt alike
	Glue     string // what parts it from the piece before it under its heading; empty is a blank line
	Repeats  int    // bytes at the start of Text that repeat a table's header
	Oversize bool   // one code block or table row that is over MaxTokens and was not cut
}

// Indexed is the text that both branches read: the heading path, then the text.
func (c Chunk) Indexed() string {
	if c.Heading == "" {
		return c.Text
	}
	return c.Heading + "\n\n" + c.Text
}

// Tokens estimates what a text costs a model: its words × 1.3.
func Tokens(text string) float64 { return tokens(words(text)) }

func tokens(words int) float64 { return float64(words) * tokensPerWord }

func words(text string) int {
	n := 0
	for range strings.FieldsSeq(text) {
		n++
	}
	return n
}

// Split cuts a file into its pieces, in order. The text is cleaned first; front
// matter is no piece. A heading with nothing under it makes none: it lives on in
// the paths of the headings below it.
func Split(path, text string) []Chunk {
	var chunks []Chunk
	seen := make(map[string]int)
	for nth, s := range sections(body(Clean(text))) {
		for _, p := range pack(s.units) {
			if !hasWord(p.text) {
				continue
			}
			key := path + "\x00" + s.heading + "\x00" + p.text
			chunks = append(chunks, Chunk{
				ID: id(key, seen[key]), Path: path, Heading: s.heading, Text: p.text,
				Seq: len(chunks), Section: nth, Glue: p.glue, Repeats: p.repeats,
				Oversize: p.words > 0 && tokens(p.words) >= MaxTokens,
			})
			seen[key]++
		}
	}
	return chunks
}

// Join reads pieces that follow one another under one heading as one text again:
// each is parted from the one before as it was in the file, and a table's header
// that was repeated for the ranking stands once.
func Join(pieces []Chunk) string {
	if len(pieces) == 1 {
		return pieces[0].Text
	}
	size := 0
	for _, c := range pieces {
		size += len(c.Text) + max(2, len(c.Glue))
	}
	var b strings.Builder
	b.Grow(size)
	for i, c := range pieces {
		switch {
		case i == 0:
			b.WriteString(c.Text)
		case c.Repeats > 0:
			b.WriteString("\n" + c.Text[c.Repeats:])
		default:
			b.WriteString(cmp.Or(c.Glue, "\n\n") + c.Text)
		}
	}
	return b.String()
}

// id is of the content, so that a paragraph put in above moves no id. nth tells
// two equal pieces of one file apart.
func id(key string, nth int) string {
	sum := sha256.Sum256([]byte(key + "\x00" + strconv.Itoa(nth)))
	return hex.EncodeToString(sum[:10])
}

func hasWord(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) >= 0
}
