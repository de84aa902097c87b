package read_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"headstart/retrieval/read"
)

// longest is how long a hostile file may keep a reader that has no deadline of
// its own. The slowest here takes 2 s, and seven times that under the race
// detector on a busy machine: this tells a loop without end, not a slow one.
const longest = 2 * time.Minute

// bombPDF is one page whose content unpacks to many times its size.
func bombPDF(t *testing.T, times int) []byte {
	t.Helper()
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	if _, err := z.Write(bytes.Repeat([]byte("BT /F1 12 Tf 72 720 Td (aaaa) Tj ET\n"), times)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	var at []int
	for n, body := range []string{
		"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents 5 0 R >>",
		fmt.Sprintf("<< /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream", packed.Len(), packed.String()),
	} {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", n+1, body)
	}
	head := "%PDF-1.4\n"
	for i := range at {
		at[i] += len(head)
	}
	whole := bytes.NewBufferString(head + b.String())
	return trailer(whole, at, "")
}

// A PDF that would take minutes is stopped inside the parser when ctx ends, and
// the reader goes on to the next file.
func TestPDFIsStopped(t *testing.T) {
	t.Parallel()
	var r read.Reader
	defer r.Close()
	if _, err := r.Read(t.Context(), "a.pdf", makePDF("uno")); err != nil { // so that the parser is ready
		t.Fatal(err)
	}
	spent := errors.New("spent")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, spent)
	defer cancel()
	start := time.Now()
	if _, err := r.Read(ctx, "b.pdf", bombPDF(t, 3_000_000)); !errors.Is(err, spent) {
		t.Fatalf("%v after %v", err, time.Since(start))
	}
	if took := time.Since(start); took > longest {
		t.Fatalf("stopped after %v", took)
	}
	if d, err := r.Read(t.Context(), "c.pdf", makePDF("dos")); err != nil || strings.TrimSpace(d.Markdown) != "dos" {
		t.Fatal(d, err)
	}
	if _, err := r.Read(ctx, "d.pdf", makePDF("tres")); !errors.Is(err, spent) {
		t.Fatal(err)
	}
}

// No file keeps a reader for long or makes it write without bound.
func TestHostile(t *testing.T) {
	t.Parallel()
	wide := "<table><tr>" + strings.Repeat("<td colspan=1000000 rowspan=1000000>x</td>", 300) + "</tr>" + strings.Repeat("<tr><td>y</td></tr>", 10_000) + "</table>"
	for name, data := range map[string][]byte{
		"wide.html":     []byte(wide),
		"nested.html":   []byte(strings.Repeat("<table><tr><td>x", 160)),
		"lists.html":    []byte(strings.Repeat("<ul><li>x", 240)),
		"inline.html":   []byte(strings.Repeat("<b><i>x</b>", 12_000)),
		"flat.html":     []byte(strings.Repeat("<p>uno, dos y tres", 45_000)),
		"divs.html":     []byte(strings.Repeat("<div><p>"+strings.Repeat("uno, dos y tres ", 9)+"</p></div>", 24_000)),
		"attr.html":     []byte("<p " + strings.Repeat(`a="b" `, 1_000_000) + ">uno"),
		"entities.html": []byte(strings.Repeat("&amp;", 2_000_000)),
		"quotes.csv":    []byte(strings.Repeat(`a,"`, 4_000_000)),
		"columns.csv":   []byte(strings.Repeat("columna,", 200_000) + "\n" + strings.Repeat("1,", 200_000)),
		"header.csv":    []byte(strings.Repeat("h", 1<<20) + ",b\n" + strings.Repeat("1,2\n", 90_000)),
		"line.txt":      bytes.Repeat([]byte("palabra "), 1<<20),
		"fences.txt":    bytes.Repeat([]byte("```\n"), 1<<20),
		"ragged.docx":   makeDOCX(t, "<w:tbl><w:tr>"+strings.Repeat("<w:tc><w:p><w:t>x</w:t></w:p></w:tc>", 200_000)+"</w:tr>"+strings.Repeat("<w:tr><w:tc><w:p><w:t>x</w:t></w:p></w:tc></w:tr>", 200_000)+"</w:tbl>", ""),
		"closes.docx":   makeZip(t, map[string]string{"word/document.xml": strings.Repeat("</w:tbl></w:t></w:del>", 1000)}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			d, err := parse(t, name, data)
			if took := time.Since(start); took > longest {
				t.Fatalf("took %v", took)
			} else if testing.Verbose() {
				t.Logf("%v, %d bytes of text, %d rows, error %v", took, len(d.Markdown), len(d.Rows), err)
			}
			size := len(d.Markdown)
			for _, c := range d.Rows {
				size += len(c.Text)
			}
			if size > 2*read.MaxText || err == nil && size == 0 {
				t.Fatalf("%d bytes of text, error %v", size, err)
			}
		})
	}
}
