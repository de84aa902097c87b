package read

import (
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"headstart/retrieval/chunk"
)

// Bounds of a table. Each row repeats the header, so both multiply.
const (
	maxRows   = 100_000
	maxHeader = 120 // bytes of the name of a column; what is longer is cut
	maxKey    = 20  // words of a first cell that every piece of its row repeats
)

// readTable makes a piece of each row: "Column: cell", a line a cell. Empty cells
// say nothing and are left out. A row that is over chunk.MaxTokens becomes
// several pieces, each with the first cell in front.
func readTable(name string, data []byte) ([]chunk.Chunk, error) {
	text, err := decode(data)
	if err != nil {
		return nil, err
	}
	r := csv.NewReader(strings.NewReader(text))
	r.Comma, r.LazyQuotes, r.FieldsPerRecord, r.ReuseRecord = delimiter(text), true, -1, true
	t := rows{path: name, seen: make(map[[sha256.Size]byte]int)}
	for n := 0; ; n++ {
		record, err := r.Read()
		switch {
		case errors.Is(err, io.EOF):
			return t.chunks, nil
		case err != nil:
			return nil, BrokenError{"table", err}
		case t.header == nil:
			t.setHeader(record)
			continue
		case n > maxRows || t.size > MaxText:
			return nil, ErrTooLarge
		}
		t.add(record)
	}
}

// delimiter is the one that parts the first line into most cells; a comma where
// there is none. Quoted ones do not count.
func delimiter(text string) rune {
	var count [utf8.RuneSelf]int
	quoted := false
	for _, c := range text[:min(len(text), 64<<10)] {
		if c == '"' {
			quoted = !quoted
		}
		if quoted || c >= utf8.RuneSelf {
			continue
		}
		if c == '\n' && count[',']+count[';']+count['\t'] > 0 {
			break
		}
		count[c]++
	}
	best := ','
	for _, c := range ";\t" {
		if count[c] > count[best] {
			best = c
		}
	}
	return best
}

// rows gathers the pieces of one table.
type rows struct {
	path   string
	header []string
	chunks []chunk.Chunk
	seen   map[[sha256.Size]byte]int
	size   int // bytes of text so far
}

func (t *rows) setHeader(record []string) {
	t.header = make([]string, 0, len(record))
	for _, name := range record {
		t.header = append(t.header, cut(oneLine(name), maxHeader))
	}
}

func cut(s string, size int) string {
	if len(s) <= size {
		return s
	}
	return strings.ToValidUTF8(s[:size], "")
}

// line is a cell with the name of its column.
func (t *rows) line(column int, cell string) string {
	if column >= len(t.header) || t.header[column] == "" {
		return cell
	}
	return t.header[column] + ": " + cell
}

func (t *rows) add(record []string) {
	var lines []string
	for column, cell := range record {
		if cell = oneLine(cell); hasWord(cell) {
			lines = append(lines, t.split(column, cell)...)
		}
	}
	if len(lines) == 0 {
		return
	}
	key := lines[0]
	if len(strings.Fields(key)) > maxKey {
		key = ""
	}
	piece, tokens := lines[0], chunk.Tokens(lines[0])
	for _, line := range lines[1:] {
		more := chunk.Tokens(line)
		if tokens+more < chunk.MaxTokens {
			piece, tokens = piece+"\n"+line, tokens+more
			continue
		}
		t.put(piece)
		piece, tokens = line, more
		if key != "" {
			piece, tokens = key+"\n"+line, chunk.Tokens(key)+more
		}
	}
	t.put(piece)
}

// split cuts a cell that is too long for one piece, leaving room for the name of
// its column and for the first cell of its row.
func (t *rows) split(column int, cell string) []string {
	line := t.line(column, cell)
	const room = chunk.MaxTokens / 2
	if chunk.Tokens(line) < room {
		return []string{line}
	}
	var lines []string
	words := strings.Fields(cell)
	each := int(room / chunk.Tokens("word"))
	for from := 0; from < len(words); from += each {
		part := strings.Join(words[from:min(from+each, len(words))], " ")
		lines = append(lines, t.line(column, part))
	}
	return lines
}

// put adds a piece. Its id is of the content, as those of chunk are: a row put in
// above moves none. nth tells equal rows apart.
func (t *rows) put(text string) {
	key := sha256.Sum256([]byte(t.path + "\x00" + text))
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00row\x00%s\x00%s", t.path, text, strconv.Itoa(t.seen[key])))
	t.seen[key]++
	t.size += len(text)
	t.chunks = append(t.chunks, chunk.Chunk{
		ID: hex.EncodeToString(sum[:10]), Path: t.path, Text: text, Seq: len(t.chunks),
		Oversize: chunk.Tokens(text) >= chunk.MaxTokens,
	})
}
