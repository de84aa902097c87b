package read_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headstart/retrieval/chunk"
	"headstart/retrieval/read"
)

func utf16(s string, little bool) []byte {
	var b []byte
	for _, r := range s {
		if little {
			b = append(b, byte(r), byte(r>>8))
		} else {
			b = append(b, byte(r>>8), byte(r))
		}
	}
	return b
}

func TestText(t *testing.T) {
	t.Parallel()
	const text = "Atención al cliente\r\n\r\nAbrimos a las 9.\r\n"
	const want = "Atención al cliente\n\nAbrimos a las 9."
	for name, data := range map[string][]byte{
		"utf-8":                   []byte(text),
		"utf-8 with mark":         []byte("\uFEFF" + text),
		"utf-16le with mark":      utf16("\uFEFF"+text, true),
		"utf-16be with mark":      utf16("\uFEFF"+text, false),
		"utf-16le without a mark": utf16(text, true),
		"utf-16be without a mark": utf16(text, false),
		"latin-1":                 []byte(strings.ReplaceAll(text, "ó", "\xF3")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantMarkdown(t, "a/horario.TXT", data, want)
		})
	}
	wantMarkdown(t, "euro.txt", []byte("desde 30 \x80"), "desde 30 €")
	wantMarkdown(t, "a.txt", []byte("---\ntitle: uno\n---\n\n        sangría\n```\nabierto"), "---\ntitle: uno\n---\n\nsangría\n\\```\nabierto")
}

// Nothing of a text may be lost between the file and its pieces.
func TestTextKeepsItsWords(t *testing.T) {
	t.Parallel()
	d, err := parse(t, "a.txt", []byte("---\nautor: Ana\n---\n\n    "+strings.Repeat("palabra ", 900)+"\n\n```\nfin"))
	if err != nil {
		t.Fatal(err)
	}
	var words int
	for _, c := range d.Chunks() {
		if c.Oversize {
			t.Fatalf("oversize: %q", c.Text)
		}
		words += strings.Count(c.Text, "palabra")
	}
	all := fmt.Sprint(d.Chunks())
	if words != 900 || !strings.Contains(all, "Ana") || !strings.Contains(all, "fin") {
		t.Fatalf("%d words of 900 in %s", words, all)
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	want := []string{"Servicio: Limpieza\nPrecio: 50 €\nNotas: con cita, o sin ella", "Servicio: Revisión\nPrecio: 0 €"}
	quoted := "Servicio,Precio,Notas\nLimpieza,50 €,\"con cita,\n o sin ella\"\nRevisión,0 €,\n,,\n"
	for name, data := range map[string][]byte{
		"comma.csv":     []byte(quoted),
		"mark.csv":      []byte("\uFEFF" + quoted),
		"semicolon.csv": []byte("Servicio;Precio;Notas\r\nLimpieza;50 €;con cita, o sin ella\r\nRevisión;0 €;\r\n"),
		"tab.tsv":       []byte("Servicio\tPrecio\tNotas\nLimpieza\t50 €\tcon cita, o sin ella\nRevisión\t0 €\n"),
		"latin1.csv":    []byte("Servicio;Precio;Notas\nLimpieza;50 \x80;con cita, o sin ella\nRevisi\xF3n;0 \x80;\n"),
		"utf16.csv":     utf16("\uFEFF"+quoted, true),
	} {
		d, err := parse(t, name, data)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got []string
		for i, c := range d.Chunks() {
			if c.Seq != i || c.Path != name || len(c.ID) != 20 {
				t.Fatalf("%+v", c)
			}
			got = append(got, c.Text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestTableIDs(t *testing.T) {
	t.Parallel()
	ids := func(text string) []string {
		d, err := parse(t, "a.csv", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, c := range d.Chunks() {
			ids = append(ids, c.ID)
		}
		return ids
	}
	before, after := ids("a,b\n1,2\n1,2\n"), ids("a,b\n3,4\n1,2\n1,2\n")
	if before[0] == before[1] || !slices.Equal(before, after[1:]) {
		t.Fatal(before, after)
	}
}

func TestTableLongRow(t *testing.T) {
	t.Parallel()
	text := "Código,Texto,Nota\nX7,\"" + strings.Repeat("palabra ", 2000) + "\",fin\n"
	d, err := parse(t, "a.csv", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	words := 0
	for _, c := range d.Chunks() {
		if !strings.HasPrefix(c.Text, "Código: X7\n") || !strings.Contains(c.Text, "Texto: ") || chunk.Tokens(c.Text) >= chunk.MaxTokens || c.Oversize {
			t.Fatalf("%v %q", chunk.Tokens(c.Text), c.Text)
		}
		words += strings.Count(c.Text, "palabra")
	}
	if words != 2000 {
		t.Fatalf("%d words of 2000", words)
	}
}

const page = `<!doctype html><html><head><meta charset="iso-8859-1"><title>Tarifas de la cl` + "\xED" + `nica</title>
<style>p{color:red}</style><script>var robo = 1</script></head><body>
<nav><ul><li><a href="/">Inicio de men` + "\xFA" + `</a></li></ul></nav>
<main><h1>Tarifas</h1><p>Los precios incluyen el <a href="https://example.com/iva">IVA</a> y la primera visita, salvo que se diga otra cosa.</p>
<h2>Revisiones</h2><ul><li>Adultos, cada a` + "\xF1" + `o</li><li>Ni` + "\xF1" + `os, cada seis meses</li></ul>
<h3>Precios</h3><table><tr><th>Servicio</th><th>Precio</th></tr><tr><td>Limpieza</td><td>50 EUR</td></tr><tr><td>Empaste</td><td>70 EUR</td></tr></table>
<p hidden>oculto</p><img src="x.png" alt="foto"></main><footer><p>Aviso legal y galletas</p></footer></body></html>`

const pageMarkdown = `# Tarifas

Los precios incluyen el IVA y la primera visita, salvo que se diga otra cosa.

## Revisiones

- Adultos, cada año
- Niños, cada seis meses

### Precios

| Servicio | Precio |
|---|---|
| Limpieza | 50 EUR |
| Empaste | 70 EUR |`

func TestHTML(t *testing.T) {
	t.Parallel()
	wantMarkdown(t, "a.html", []byte(page), pageMarkdown)
	wantMarkdown(t, "really-html.pdf", []byte(page), pageMarkdown)
	wantMarkdown(t, "short.htm", []byte("<title>Citas</title><h2>¿Cuándo?</h2><p>A las 9."), "# Citas\n\n## ¿Cuándo?\n\nA las 9.")
}

// A long article between menus: readability takes the article alone.
func TestHTMLArticle(t *testing.T) {
	t.Parallel()
	prose := strings.Repeat("<p>La anestesia local duerme la zona durante unas dos horas, y conviene no comer nada hasta que pase, porque uno se muerde.</p>", 8)
	text := `<html><body><div class="sidebar menu">Compra barato hoy</div><article><h1>Anestesia</h1><h2>Después</h2>` + prose + `</article><div class="footer ad">Publicidad de relojes</div></body></html>`
	d, err := parse(t, "a.html", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(d.Markdown, "relojes") || strings.Contains(d.Markdown, "barato") || strings.Count(d.Markdown, "anestesia local") != 8 {
		t.Fatal(d.Markdown)
	}
	if c := d.Chunks(); c[0].Heading != "Anestesia › Después" {
		t.Fatalf("heading %q in\n%s", c[0].Heading, d.Markdown)
	}
}

func TestPDF(t *testing.T) {
	t.Parallel()
	var r read.Reader
	defer r.Close()
	for range 2 { // the second file finds the parser ready
		d, err := r.Read(t.Context(), "tarifas.pdf", makePDF("Revisi\xF3n anual\nCuesta 40 euros.", "Horario: de 9 a 20."))
		if err != nil {
			t.Fatal(err)
		}
		want := "Revisión anual\nCuesta 40 euros.\n\nHorario: de 9 a 20."
		if diff := cmp.Diff(want, strings.TrimSpace(d.Markdown)); diff != "" {
			t.Fatal(diff)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if d, err := r.Read(t.Context(), "b.txt", makePDF("otra")); err != nil || strings.TrimSpace(d.Markdown) != "otra" {
		t.Fatal("a PDF by another name, to a reader that was closed", d, err)
	}
}

func TestDOCX(t *testing.T) {
	t.Parallel()
	styles := `<w:style w:styleId="Ttulo1"><w:name w:val="heading 1"/></w:style>
<w:style w:styleId="Apartado"><w:name w:val="Apartado"/><w:basedOn w:val="Ttulo2"/></w:style>
<w:style w:styleId="Ttulo2"><w:name w:val="heading 2"/></w:style>
<w:style w:styleId="Propio"><w:name w:val="Propio"/><w:pPr><w:outlineLvl w:val="2"/></w:pPr></w:style>
<w:style w:styleId="Lazo"><w:basedOn w:val="Lazo"/></w:style>`
	cell := func(s string) string { return "<w:tc>" + paragraph("", s) + "</w:tc>" }
	item := func(level, s string) string {
		return paragraph(`<w:numPr><w:ilvl w:val="`+level+`"/><w:numId w:val="1"/></w:numPr>`, s)
	}
	body := paragraph(`<w:pStyle w:val="Ttulo1"/>`, "Tarifas") + paragraph(`<w:pStyle w:val="Lazo"/>`, "IVA &amp; tasas") +
		paragraph(`<w:pStyle w:val="Apartado"/>`, "Revisión") + item("0", "Adultos") + item("1", "Cada año") +
		paragraph(`<w:pStyle w:val="Propio"/>`, "Precios") +
		"<w:tbl><w:tr>" + cell("Servicio") + cell("Precio") + "</w:tr><w:tr>" + cell("A|B") + cell("50 €") + "</w:tr></w:tbl>" +
		`<w:p><w:del><w:r><w:delText>viejo</w:delText><w:t>viejo</w:t></w:r></w:del><w:r><w:t>Fin</w:t><w:tab/><w:t>ya</w:t><w:br/><w:t>está</w:t></w:r></w:p>`
	wantMarkdown(t, "a.docx", makeDOCX(t, body, styles), `# Tarifas


IVA & tasas


## Revisión

- Adultos
  - Cada año

### Precios


| Servicio | Precio |
| --- | --- |
| A\|B | 50 € |


Fin ya
está`)
}

func TestRefused(t *testing.T) {
	t.Parallel()
	ole := "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1" + strings.Repeat("\x00", 600)
	bomb := makeDOCX(t, paragraph("", strings.Repeat(" ", 65<<20)), "")
	var kind read.KindError
	var broken read.BrokenError
	var r read.Reader // one for all: what a file breaks, the next must not feel
	defer r.Close()
	for name, c := range map[string]struct {
		data []byte
		want any
	}{
		"a.xlsx":       {[]byte("PK\x03\x04"), &kind},
		"README":       {[]byte("hola"), &kind},
		"b.txt":        {[]byte("\x01\x02\x03\x04\x05binario"), &kind},
		"c.csv":        {makeZip(t, map[string]string{"xl/workbook.xml": "<a/>"}), &kind},
		"d.docx":       {[]byte(ole), &kind},
		"e.docx":       {append([]byte(ole), utf16("EncryptedPackage", true)...), read.ErrLocked},
		"f.docx":       {bomb, read.ErrTooLarge},
		"g.docx":       {[]byte("PK\x03\x04 y nada más"), &broken},
		"h.docx":       {[]byte("hola"), &broken},
		"i.docx":       {makeDOCX(t, "<w:p>", ""), &broken},
		"j.docx":       {makeDOCX(t, strings.Repeat("<w:p>", 1000), ""), &broken},
		"k.docx":       {makeDOCX(t, paragraph("", ""), ""), read.ErrEmpty},
		"l.pdf":        {[]byte("hola"), &broken},
		"m.pdf":        {[]byte("%PDF-1.7\nstartxref"), &broken},
		"n.pdf":        {makePDF(""), read.ErrEmpty},
		"o.pdf":        {makePDF("uno")[:300], &broken},
		"p.html":       {[]byte("<p><img src=a>"), read.ErrEmpty},
		"q.html":       {[]byte(strings.Repeat("<div>", 3<<20)), read.ErrTooLarge},
		"r.html":       {[]byte(strings.Repeat("<div>", 30_000)), &broken},
		"s.html":       {[]byte(strings.Repeat("<br>", 60_000) + "uno"), read.ErrTooLarge},
		"t.csv":        {[]byte("solo,cabecera\n"), read.ErrEmpty},
		"u.csv":        {[]byte("a\n" + strings.Repeat("1\n", 100_001)), read.ErrTooLarge},
		"v.txt":        {[]byte(" \n"), read.ErrEmpty},
		"w.txt":        {make([]byte, read.MaxFile+1), read.ErrTooLarge},
		"x.locked.pdf": {lockedPDF(), read.ErrLocked},
	} {
		d, err := r.Read(t.Context(), name, c.data)
		if want, ok := c.want.(error); ok && errors.Is(err, want) {
			continue
		}
		if c.want == any(&kind) && errors.As(err, &kind) || c.want == any(&broken) && errors.As(err, &broken) {
			continue
		}
		t.Errorf("%s: %v, want %v; text of %d bytes", name, err, c.want, len(d.Markdown))
	}
}
