// Package read owns the way from a file of somebody's documents to text that
// can be cut: Markdown, plain text, HTML, PDF, DOCX, CSV and TSV.
//
// It tells the kind by the name, and by the content where the name lies. It
// never opens a file, never fetches what a document links to, and never guesses
// at text that is not there: a scan is refused, not read as nothing. Each way to
// fail is a type of its own whose text says what the owner of the file can do.
//
// Documents come from outside, so each reader has a bound of size, and the PDF
// one of time. The parser of PDFs is C++; it runs inside a WebAssembly sandbox
// without files or network, and is stopped when its time or memory is spent.
package read

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"headstart/retrieval/chunk"
)

// The bounds. A file over them is a dump, not a document that somebody wrote.
const (
	MaxFile     = 16 << 20 // bytes of a file
	MaxUnpacked = 64 << 20 // bytes of a part of a file once it is unpacked
	MaxText     = 16 << 20 // bytes of the text of a file
)

// Document is the text of one file: Markdown, or rows that are not cut again.
type Document struct {
	Path     string
	Markdown string
	Rows     []chunk.Chunk // of a CSV or TSV; nil for the other kinds
}

// Chunks are the pieces of the document, in order.
func (d Document) Chunks() []chunk.Chunk {
	if d.Rows != nil {
		return d.Rows
	}
	return chunk.Split(d.Path, d.Markdown)
}

// Reader reads files, one at a time. It keeps the parser of PDFs between two of
// them, because that one takes most of a second to make ready; a folder without
// PDFs never makes it. The zero value is ready; Close it.
type Reader struct {
	pdf *pdfEngine // nil until the first PDF
}

// Close gives back what the reading of PDFs took.
func (r *Reader) Close() error {
	if r.pdf == nil {
		return nil
	}
	engine := r.pdf
	r.pdf = nil
	return engine.close()
}

// Read makes a document of a file. name is its path as it was pushed; only its
// extension is looked at. It fails with ErrTooLarge, ErrEmpty, ErrLocked,
// KindError or BrokenError; with SlowError or the cause of ctx while it reads a PDF.
// Markdown is passed as it is, and is never empty to it: a page may wait for words.
func (r *Reader) Read(ctx context.Context, name string, data []byte) (Document, error) {
	if len(data) > MaxFile {
		return Document{}, ErrTooLarge
	}
	d := Document{Path: name}
	kind, err := kindOf(name, data)
	switch {
	case err != nil:
	case kind == markdown:
		d.Markdown = string(data)
		return d, nil
	case kind == table:
		d.Rows, err = readTable(name, data)
	case kind == webPage:
		d.Markdown, err = readHTML(ctx, data)
	case kind == pdf:
		d.Markdown, err = r.readPDF(ctx, data)
	case kind == docx:
		d.Markdown, err = readDOCX(data)
	default:
		d.Markdown, err = readText(data)
	}
	return whole(d, err)
}

// whole holds a document to what every kind promises.
func whole(d Document, err error) (Document, error) {
	switch {
	case err != nil:
		return Document{}, err
	case len(d.Markdown) > MaxText:
		return Document{}, ErrTooLarge
	case len(d.Rows) == 0 && !hasWord(d.Markdown):
		return Document{}, ErrEmpty
	}
	return d, nil
}

// Reasons to refuse a file.
var (
	ErrTooLarge = fmt.Errorf("too large: at most %d MiB, %d MiB unpacked and %d MiB of text; split it", MaxFile>>20, MaxUnpacked>>20, MaxText>>20)
	ErrEmpty    = errors.New("no text in it: if it is a scan or pictures, run text recognition over it first")
	ErrLocked   = errors.New("locked with a password: save it again without one")
)

// KindError refuses a file of a kind that nothing here reads.
type KindError struct {
	Ext string // with its dot, lower case; empty for a name without one
	Is  string // what the content is, where that is known
}

// Error says what would be read.
func (e KindError) Error() string {
	what := "files without an extension are"
	switch {
	case e.Is != "":
		what = e.Is + " is"
	case e.Ext != "":
		what = e.Ext + " files are"
	}
	return what + " not read: save it as .md, .txt, .html, .pdf, .docx, .csv or .tsv"
}

// BrokenError refuses a file that is not what it should be.
type BrokenError struct {
	Kind string // "PDF", "DOCX"
	Err  error
}

// Error says what to try.
func (e BrokenError) Error() string {
	return fmt.Sprintf("not a whole %s (%v): open it and save it again", e.Kind, e.Err)
}

// Unwrap returns what is wrong with it.
func (e BrokenError) Unwrap() error { return e.Err }

type kind int

const (
	unknown kind = iota
	markdown
	plain
	webPage
	pdf
	docx
	table
)

var kinds = map[string]kind{
	".md": markdown, ".markdown": markdown, ".txt": plain, ".text": plain,
	".html": webPage, ".htm": webPage, ".xhtml": webPage, ".pdf": pdf, ".docx": docx,
	".csv": table, ".tsv": table,
}

// kindOf believes the content where it says what it is, else the name.
func kindOf(name string, data []byte) (kind, error) {
	ext := strings.ToLower(path.Ext(name))
	said, ok := kinds[ext]
	if !ok {
		return unknown, KindError{Ext: ext}
	}
	found, err := sniff(data)
	switch {
	case err != nil:
		return unknown, err
	case found != unknown && (found != webPage || said == pdf || said == docx || said == plain):
		return found, nil
	case said == pdf:
		return unknown, BrokenError{"PDF", errors.New("it does not begin like one")}
	case said == docx:
		return unknown, BrokenError{"DOCX", errors.New("it does not begin like one")}
	}
	return said, nil
}

// pdfHeaderWithin is how far into a file a PDF may begin, as its readers agree.
const pdfHeaderWithin = 1024

// sniff tells the kinds that have a mark. Old Office files and new ones with a
// password share theirs.
func sniff(data []byte) (kind, error) {
	head := data[:min(len(data), pdfHeaderWithin)]
	start := bytes.ToLower(bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xEF\xBB\xBF")), " \t\r\n"))
	switch {
	case bytes.HasPrefix(head, []byte("PK\x03\x04")), bytes.HasPrefix(head, []byte("PK\x05\x06")):
		return docx, nil
	case bytes.HasPrefix(head, []byte("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1")):
		if bytes.Contains(data, utf16LE("EncryptedPackage")) {
			return unknown, ErrLocked
		}
		return unknown, KindError{Is: "an Office file from before 2007"}
	case bytes.HasPrefix(start, []byte("<!doctype html")), bytes.HasPrefix(start, []byte("<html")):
		return webPage, nil
	case bytes.HasPrefix(start, []byte("%pdf-")):
		return pdf, nil
	case bytes.Contains(head, []byte("%PDF-")) && bytes.Contains(data, []byte("startxref")):
		return pdf, nil
	}
	return unknown, nil
}

func utf16LE(s string) []byte {
	b := make([]byte, 0, 2*len(s))
	for _, c := range []byte(s) {
		b = append(b, c, 0)
	}
	return b
}
