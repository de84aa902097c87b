// Package beir owns judged collections in BEIR's layout and what a ranking scores
// on them: corpus.jsonl, queries.jsonl and qrels/test.tsv below one folder, and
// nDCG, recall and the reciprocal rank as trec_eval computes them.
//
// Files are read a line at a time, so a corpus may be larger than memory. A line
// that cannot be read ends the reading with a LineError that names it; nothing is
// guessed. It never searches, and never looks at a text.
package beir

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
)

// Files of a collection, below its folder.
const (
	CorpusFile  = "corpus.jsonl"
	QueriesFile = "queries.jsonl"
	QrelsFile   = "qrels/test.tsv"
)

// maxLine is the longest line that is read, in bytes: a document is one line.
const maxLine = 64 << 20

// Document is one line of the corpus.
type Document struct {
	ID    string
	Title string
	Text  string
}

// Query is one question. History holds the turns before it, oldest first; most
// collections have none.
type Query struct {
	ID      string
	Text    string
	History []Turn
}

// Turn is one turn before a question.
type Turn struct {
	Speaker string // "user" is who asks; anybody else answers
	Text    string
}

// Before are the turns of who asks, oldest first.
func (q Query) Before() []string {
	var said []string
	for _, t := range q.History {
		if t.Speaker == asker {
			said = append(said, t.Text)
		}
	}
	return said
}

// asker is the speaker whose turns a question may lean on.
const asker = "user"

// LineError is a line that is not what its file should hold.
type LineError struct {
	File string
	Line int // from 1
	Err  error
}

// Error names the file and the line.
func (e LineError) Error() string { return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err) }

// Unwrap returns what is wrong with the line.
func (e LineError) Unwrap() error { return e.Err }

// What may be wrong with a line that is JSON.
var (
	ErrNoID     = errors.New(`no "_id"`)
	ErrTwice    = errors.New("this id came before")
	ErrTooLong  = fmt.Errorf("longer than %d MiB", maxLine>>20)
	ErrNoText   = errors.New(`no "text"`)
	ErrNotThree = errors.New("want three columns parted by tabs: query, document, score")
)

// Documents yields the corpus of a collection, in its order. It stops after the
// first error.
func Documents(dir string) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		seen := make(map[string]bool)
		for line, err := range lines(dir, CorpusFile) {
			var d Document
			if err == nil {
				d, err = line.document(seen)
			}
			if !yield(d, err) || err != nil {
				return
			}
		}
	}
}

// Queries yields the questions of a collection, in their order, judged or not. It
// stops after the first error.
func Queries(dir string) iter.Seq2[Query, error] {
	return func(yield func(Query, error) bool) {
		seen := make(map[string]bool)
		for line, err := range lines(dir, QueriesFile) {
			var q Query
			if err == nil {
				q, err = line.query(seen)
			}
			if !yield(q, err) || err != nil {
				return
			}
		}
	}
}

// line is one line of a file that is not blank.
type line struct {
	file string
	n    int
	text []byte // until the next one is read
}

func (l line) wrong(err error) error { return LineError{File: l.file, Line: l.n, Err: err} }

// entry is what a line of JSON may hold; whatever else it does is passed over.
type entry struct {
	ID      id             `json:"_id"`
	Title   *string        `json:"title"`
	Text    *string        `json:"text"`
	History []historicTurn `json:"history"`
}

func (l line) entry(seen map[string]bool) (entry, error) {
	var e entry
	if err := json.Unmarshal(l.text, &e); err != nil {
		return e, l.wrong(err)
	}
	switch {
	case e.ID == "":
		return e, l.wrong(ErrNoID)
	case seen[string(e.ID)]:
		return e, l.wrong(fmt.Errorf("%s: %w", e.ID, ErrTwice))
	}
	seen[string(e.ID)] = true
	return e, nil
}

func (l line) document(seen map[string]bool) (Document, error) {
	e, err := l.entry(seen)
	if err != nil {
		return Document{}, err
	}
	return Document{ID: string(e.ID), Title: orEmpty(e.Title), Text: orEmpty(e.Text)}, nil
}

func (l line) query(seen map[string]bool) (Query, error) {
	e, err := l.entry(seen)
	switch {
	case err != nil:
		return Query{}, err
	case e.Text == nil:
		return Query{}, l.wrong(ErrNoText)
	}
	q := Query{ID: string(e.ID), Text: *e.Text}
	for _, t := range e.History {
		q.History = append(q.History, Turn(t))
	}
	return q, nil
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// id is a name, or a number that some collections have in its place.
type id string

// UnmarshalJSON implements json.Unmarshaler.
func (i *id) UnmarshalJSON(text []byte) error {
	var s string
	if json.Unmarshal(text, &s) == nil {
		*i = id(s)
		return nil
	}
	var n json.Number
	if err := json.Unmarshal(text, &n); err != nil {
		return errors.New(`"_id" is neither a text nor a number`)
	}
	*i = id(n)
	return nil
}

// historicTurn is a turn in any of the spellings in use: speaker and text, role
// and content, or the words of who asks alone.
type historicTurn Turn

// UnmarshalJSON implements json.Unmarshaler.
func (t *historicTurn) UnmarshalJSON(text []byte) error {
	var said string
	if json.Unmarshal(text, &said) == nil {
		*t = historicTurn{Speaker: asker, Text: said}
		return nil
	}
	var e struct{ Speaker, Role, Text, Content string }
	if err := json.Unmarshal(text, &e); err != nil {
		return fmt.Errorf("history: %w", err)
	}
	*t = historicTurn{Speaker: e.Speaker + e.Role, Text: e.Text + e.Content}
	if t.Speaker == "" {
		return errors.New(`history: a turn without "speaker"`)
	}
	return nil
}

// lines yields the lines of a file that are not blank.
func lines(dir, file string) iter.Seq2[line, error] {
	return func(yield func(line, error) bool) {
		f, err := os.Open(filepath.Join(dir, filepath.FromSlash(file)))
		if err != nil {
			yield(line{}, fmt.Errorf("open collection: %w", err))
			return
		}
		defer f.Close() // opened to read: closing it loses nothing
		for l, err := range linesOf(f, file) {
			if !yield(l, err) || err != nil {
				return
			}
		}
	}
}

func linesOf(r io.Reader, file string) iter.Seq2[line, error] {
	return func(yield func(line, error) bool) {
		scan := bufio.NewScanner(r)
		scan.Buffer(make([]byte, 0, 64<<10), maxLine)
		n := 0
		for scan.Scan() {
			n++
			text := scan.Bytes()
			if n == 1 {
				text = bytes.TrimPrefix(text, []byte("\ufeff"))
			}
			if len(bytes.TrimSpace(text)) == 0 {
				continue
			}
			if !yield(line{file, n, text}, nil) {
				return
			}
		}
		switch err := scan.Err(); {
		case errors.Is(err, bufio.ErrTooLong):
			yield(line{}, LineError{file, n + 1, ErrTooLong})
		case err != nil:
			yield(line{}, LineError{file, n + 1, err})
		}
	}
}
