package read

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	utf "golang.org/x/text/encoding/unicode"

	"headstart/retrieval/chunk"
)

// readText makes Markdown of plain text: its paragraphs, and its headings if it
// was written with hashes.
func readText(data []byte) (string, error) {
	text, err := decode(data)
	if err != nil {
		return "", err
	}
	return prose(text), nil
}

// binaryFrom is the share of control characters, one in binaryFrom, from which a
// file is no text. Text has tabs and line ends, which do not count, and few others.
const binaryFrom = 50

// decode finds the encoding of a text: by its byte order mark, by the zeros of
// UTF-16, UTF-8 where it is valid, else Windows-1252, which holds Latin-1.
func decode(data []byte) (string, error) {
	var text []byte
	var err error
	switch order, ok := utf16Order(data); {
	case ok:
		text, err = utf.UTF16(order, utf.UseBOM).NewDecoder().Bytes(data)
	case utf8.Valid(data):
		text = data
	default:
		text, err = charmap.Windows1252.NewDecoder().Bytes(data)
	}
	if err != nil {
		return "", err
	}
	if controls(text)*binaryFrom > len(text) {
		return "", KindError{Is: "what holds binary data"}
	}
	return chunk.Clean(string(text)), nil
}

// utf16Order looks at the mark, else at which half of the first letters is zero:
// in the languages of the analyser most of one half is.
func utf16Order(data []byte) (utf.Endianness, bool) {
	if bytes.HasPrefix(data, []byte("\xFF\xFE")) {
		return utf.LittleEndian, true
	}
	if bytes.HasPrefix(data, []byte("\xFE\xFF")) {
		return utf.BigEndian, true
	}
	head := data[:min(len(data), 512)]
	var zeros [2]int
	for i, b := range head {
		if b == 0 {
			zeros[i%2]++
		}
	}
	most := len(head) * 2 / 5 // four fifths of a half
	switch {
	case len(head) < 4:
		return utf.LittleEndian, false
	case zeros[1] >= most && zeros[0] == 0:
		return utf.LittleEndian, true
	case zeros[0] >= most && zeros[1] == 0:
		return utf.BigEndian, true
	}
	return utf.LittleEndian, false
}

func controls(text []byte) int {
	n := 0
	for _, b := range text {
		if b < ' ' && b != '\t' && b != '\n' && b != '\r' && b != '\f' || b == 0x7F {
			n++
		}
	}
	return n
}

// prose makes Markdown of lines that may not be meant as such. An indent is no
// code block and a rule on top no front matter: the one would not be cut, the
// other would be lost.
func prose(text string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.ReplaceAll(text, "\f", "\n\n")) {
		line = strings.TrimLeft(line, " \t\u00A0")
		switch {
		case strings.HasPrefix(line, "```"), strings.HasPrefix(line, "~~~"):
			b.WriteByte('\\')
		case b.Len() == 0 && (strings.HasPrefix(line, "---") || strings.HasPrefix(line, "+++")):
			b.WriteByte('\n')
		}
		b.WriteString(line)
	}
	return b.String()
}

func hasWord(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) >= 0
}

// oneLine is a text without line ends or runs of spaces.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
