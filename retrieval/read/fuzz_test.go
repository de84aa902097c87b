package read_test

import (
	"errors"
	"testing"
	"unicode/utf8"

	"headstart/retrieval/read"
)

// fuzzReader holds every reader but that of PDFs to what it promises: text that
// is UTF-8, or an error of a type that is documented.
func fuzzReader(f *testing.F, name string, seeds ...string) {
	f.Helper()
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if kind := string(data[:min(len(data), 1024)]); len(kind) > 4 && kind[:4] == "%PDF" {
			t.Skip("PDFs have a fuzz of their own")
		}
		check(t, new(read.Reader), name, data)
	})
}

func check(t *testing.T, r *read.Reader, name string, data []byte) {
	t.Helper()
	d, err := r.Read(t.Context(), name, data)
	if err != nil {
		var kind read.KindError
		var broken read.BrokenError
		known := errors.Is(err, read.ErrEmpty) || errors.Is(err, read.ErrLocked) || errors.Is(err, read.ErrTooLarge)
		if !known && !errors.As(err, &kind) && !errors.As(err, &broken) {
			t.Fatalf("an error that is not documented: %v", err)
		}
		return
	}
	for _, c := range d.Chunks() {
		if !utf8.ValidString(c.Text) || c.Text == "" || c.Path != name {
			t.Fatalf("%+v", c)
		}
	}
}

func FuzzText(f *testing.F) {
	fuzzReader(f, "a.txt", "Hola\n\n  dos", "\uFEFFuno", "\xFF\xFEa\x00", "---\na: b\n---\n```", "\xF3\f\xA0")
}

func FuzzTable(f *testing.F) {
	fuzzReader(f, "a.csv", "a,b\n1,2\n", "a;b\n\"1;\n2\";3", "a\tb\n\"\"\"\t2", "\n,,\n\"")
}

func FuzzHTML(f *testing.F) {
	fuzzReader(f, "a.html", page, "<table><tr><td><ul><li>x<table><tr><th>", "<h1><p></h2><b><i></b>", "<meta charset=utf-16><p>a")
}

func FuzzDOCX(f *testing.F) {
	fuzzReader(f, "a.docx", string(makeDOCX(f, paragraph(`<w:pStyle w:val="a"/>`, "uno"), `<w:style w:styleId="a"/>`)), "PK\x03\x04", "PK\x05\x06")
}

// FuzzWord is of the document inside the archive, which a change of a byte of
// the archive hardly ever reaches.
func FuzzWord(f *testing.F) {
	f.Add(paragraph(`<w:numPr><w:ilvl w:val="1"/></w:numPr>`, "uno"), `<w:style w:styleId="a"><w:basedOn w:val="a"/></w:style>`)
	f.Add("<w:tbl><w:tr><w:tc><w:p><w:t>|</w:t></w:p></w:tc></w:tr></w:tbl>", "")
	f.Fuzz(func(t *testing.T, body, styles string) {
		check(t, new(read.Reader), "a.docx", makeDOCX(t, body, styles))
	})
}

func FuzzPDF(f *testing.F) {
	f.Add(makePDF("uno\ndos", "tres"))
	f.Add(lockedPDF())
	f.Add([]byte("%PDF-1.7\nstartxref"))
	var r read.Reader
	f.Cleanup(func() {
		if err := r.Close(); err != nil {
			f.Error(err)
		}
	})
	f.Fuzz(func(t *testing.T, data []byte) { check(t, &r, "a.pdf", data) })
}
