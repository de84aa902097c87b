package read_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headstart/retrieval/read"
)

// parse reads one file with a reader of its own.
func parse(t *testing.T, name string, data []byte) (read.Document, error) {
	t.Helper()
	var r read.Reader
	d, err := r.Read(t.Context(), name, data)
	if e := r.Close(); e != nil {
		t.Fatal(e)
	}
	return d, err
}

func wantMarkdown(t *testing.T, name string, data []byte, want string) {
	t.Helper()
	d, err := parse(t, name, data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, strings.TrimSpace(d.Markdown)); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", name, diff)
	}
}

// makePDF writes a PDF of one page a text, by hand: each line of it a line.
func makePDF(pages ...string) []byte {
	var b bytes.Buffer
	var at []int
	object := func(body string) {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", len(at), body)
	}
	b.WriteString("%PDF-1.4\n")
	var kids strings.Builder
	for i := range pages {
		fmt.Fprintf(&kids, "%d 0 R ", 4+2*i)
	}
	object("<< /Type /Catalog /Pages 2 0 R >>")
	object(fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", kids.String(), len(pages)))
	object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
	for i, page := range pages {
		var ops strings.Builder
		for n, line := range strings.Split(page, "\n") {
			fmt.Fprintf(&ops, "BT /F1 12 Tf 72 %d Td (%s) Tj ET\n", 720-16*n, line)
		}
		object(fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents %d 0 R >>", 5+2*i))
		object(fmt.Sprintf("<< /Length %d >>\nstream\n%sendstream", ops.Len(), ops.String()))
	}
	return trailer(&b, at, "")
}

func trailer(b *bytes.Buffer, at []int, more string) []byte {
	start := b.Len()
	fmt.Fprintf(b, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, offset := range at {
		fmt.Fprintf(b, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(b, "trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n", len(at)+1, more, start)
	return b.Bytes()
}

// makeDOCX packs a document of Word: the body of word/document.xml, and its styles.
func makeDOCX(t testing.TB, body, styles string) []byte {
	t.Helper()
	const ns = ` xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"`
	return makeZip(t, map[string]string{
		"word/document.xml": `<?xml version="1.0" encoding="UTF-8"?><w:document` + ns + `><w:body>` + body + `</w:body></w:document>`,
		"word/styles.xml":   `<?xml version="1.0" encoding="UTF-8"?><w:styles` + ns + `>` + styles + `</w:styles>`,
	})
}

func makeZip(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, content := range files {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// paragraph is one of Word, with a style or numbering in props.
func paragraph(props, text string) string {
	return "<w:p><w:pPr>" + props + `</w:pPr><w:r><w:t xml:space="preserve">` + text + "</w:t></w:r></w:p>"
}

// lockedPDF has an encryption dictionary that no empty password opens.
func lockedPDF() []byte {
	whole := makePDF("secreto")
	b := bytes.NewBuffer(whole[:bytes.LastIndex(whole, []byte("xref\n0 "))])
	var at []int
	for n := 1; n <= 5; n++ {
		at = append(at, bytes.Index(whole, fmt.Appendf(nil, "%d 0 obj\n", n)))
	}
	key := strings.Repeat("ab", 32)
	return trailer(b, at, "/ID [<"+key+"> <"+key+">] /Encrypt << /Filter /Standard /V 2 /R 3 /Length 128 /P -4 /O <"+key+"> /U <"+key+"> >>")
}
