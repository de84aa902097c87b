package chunk_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"headstart/retrieval/chunk"
)

// cut is what the tables compare: the heading path and the text.
type cut struct{ Heading, Text string }

func cuts(text string) []cut {
	var list []cut
	for _, c := range chunk.Split("a.md", text) {
		list = append(list, cut{c.Heading, c.Text})
	}
	return list
}

func TestSplit(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, text string
		want       []cut
	}{
		{"heading paths", "intro\n# A\na\n## B\nb\n### C\nc\n## D\nd\n# E\ne",
			[]cut{{"", "intro"}, {"A", "a"}, {"A › B", "b"}, {"A › B › C", "c"}, {"A › D", "d"}, {"E", "e"}}},
		{"a level left out", "# A\n### C\nc", []cut{{"A › C", "c"}}},
		{"levels 4 to 6 stay in the text", "# A\n#### d\ntext", []cut{{"A", "#### d\ntext"}}},
		{"underlined headings", "A\n===\na\n\nB\n---\nb", []cut{{"A", "a"}, {"A › B", "b"}}},
		{"headings without Markdown's marks", "# **Tarifas** & `x_y` [hoy](u) &amp; \\*más\\* ##\na", []cut{{"Tarifas & x_y hoy & *más*", "a"}}},
		{"a comment in a fence", "# A\n```python\n# c\nx=1\n```\n# B\nb", []cut{{"A", "```python\n# c\nx=1\n```"}, {"B", "b"}}},
		{"a tilde fence with tildes in its info", "# A\n~~~ md ~~~\n# c\n```\n# d\n~~~\n# B\nb", []cut{{"A", "~~~ md ~~~\n# c\n```\n# d\n~~~"}, {"B", "b"}}},
		{"a longer fence around a fence", "# A\n````md\n```\n# c\n```\n````\n# B\nb", []cut{{"A", "````md\n```\n# c\n```\n````"}, {"B", "b"}}},
		{"an opener is no closer", "```\na\n```python\n# c\n```\n# B\nb", []cut{{"", "```\na\n```python\n# c\n```"}, {"B", "b"}}},
		{"a longer and indented closer", "```\n# c\n   `````\n# B\nb", []cut{{"", "```\n# c\n   `````"}, {"B", "b"}}},
		{"a fence that never closes", "# A\n```\n# c\n## d\n", []cut{{"A", "```\n# c\n## d"}}},
		{"a rule under a list", "- a\n---\n# B\nb", []cut{{"", "- a"}, {"B", "b"}}},
		{"a rule under a quote", "> q\n---\nx", []cut{{"", "> q\n\nx"}}},
		{"a rule under a fence", "```\nx\n```\n---\ny", []cut{{"", "```\nx\n```\n\ny"}}},
		{"a rule under a table", "|a|b|\n|-|-|\n|1|2|\n\n---\ny", []cut{{"", "|a|b|\n|-|-|\n|1|2|\n\ny"}}},
		{"a heading in a quote or a list", "# A\n> # q\n> x\n\n- # l\n", []cut{{"A", "> # q\n> x\n\n- # l"}}},
		{"front matter", "---\ntitle: secreto\n---\n# A\na", []cut{{"A", "a"}}},
		{"front matter closed by points", "---\ntitle: x\n...\na", []cut{{"", "a"}}},
		{"TOML front matter", "+++\ntitle = 'x'\n+++\na", []cut{{"", "a"}}},
		{"front matter after a mark and with CRLF", "\uFEFF---\r\ntitle: x\r\n---\r\na", []cut{{"", "a"}}},
		{"front matter that never closes", "---\ntitle: x\n\nbody", []cut{{"", "title: x\n\nbody"}}},
		{"a later rule is no front matter", "a\n\n---\ntitle: x\n\n---\nb", []cut{{"", "a\n\ntitle: x\n\nb"}}},
		{"a rule above a paragraph is no front matter", "---\n\nprose\n\n---\nb", []cut{{"", "prose\n\nb"}}},
		{"a heading alone", "# A\n## B\n## C\nc\n# D\n#### d\n", []cut{{"A › C", "c"}}},
		{"a heading with nothing under it inside a section", "#### x\n#### y\ny\n#### z", []cut{{"", "#### y\ny"}}},
		{"nothing", " \n\t\n---\n***\n…\n", nil},
		{"link definitions stay", "[a]: http://x.example\n# A\na", []cut{{"", "[a]: http://x.example"}, {"A", "a"}}},
		{"a table under a paragraph", "intro\n|a|\n|-|\n|1|\n", []cut{{"", "intro\n|a|\n|-|\n|1|"}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(c.want, cuts(c.text)); d != "" {
				t.Fatalf("pieces (-want +got):\n%s", d)
			}
			for name, ends := range map[string]string{"CRLF": "\r\n", "CR": "\r"} {
				text := "\uFEFF" + strings.ReplaceAll(chunk.Clean(c.text), "\n", ends)
				if d := cmp.Diff(chunk.Split("a.md", c.text), chunk.Split("a.md", text)); d != "" {
					t.Fatalf("%s changes the pieces:\n%s", name, d)
				}
			}
		})
	}
}

func TestSplitTable(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("# Tarifas\nEstas son.\n\n| Código | Concepto | Precio |\n| :-- | --- | --: |\n")
	for i := range 60 {
		fmt.Fprintf(&b, "| T-%03d | Tratamiento número %d | %d € |\n", i, i, 10*i)
	}
	b.WriteString("\nFin de la tabla.\n")
	var rows []string
	for i, c := range chunk.Split("t.md", b.String()) {
		if c.Heading != "Tarifas" || c.Oversize || chunk.Tokens(c.Text) >= chunk.MaxTokens {
			t.Fatalf("piece %d: %+v", i, c)
		}
		at := strings.Index(c.Text, "| Código | Concepto | Precio |\n| :-- | --- | --: |\n| T-")
		if at < 0 {
			t.Fatalf("piece %d repeats no header: %q", i, c.Text)
		}
		for line := range strings.Lines(c.Text[at:]) {
			if strings.HasPrefix(line, "| T-") {
				rows = append(rows, strings.TrimSpace(line))
			}
		}
	}
	if len(rows) != 60 || rows[57] != "| T-057 | Tratamiento número 57 | 570 € |" {
		t.Fatalf("%d rows, row 57 is %q", len(rows), rows[57])
	}
}

func TestSplitLongSections(t *testing.T) {
	t.Parallel()
	long := func(word string, n int) string { return strings.TrimSpace(strings.Repeat(word+" ", n)) }
	sentence := "La Dra. Ruiz atiende " + long("dato", 60) + "."
	cases := []struct {
		name, text string
		want       []string
		oversize   bool
	}{
		{"between paragraphs", long("a", 200) + "\n\n" + long("b", 200), []string{long("a", 200), long("b", 200)}, false},
		{"short paragraphs together", "a\n\nb\n\n" + long("c", 200), []string{"a\n\nb\n\n" + long("c", 200)}, false},
		{"between sentences", "Antes.\n\n" + strings.TrimSpace(strings.Repeat(sentence+" ", 5)), []string{
			"Antes.", strings.TrimSpace(strings.Repeat(sentence+" ", 4)), sentence}, false},
		{"between words when a sentence is too long", long("x", 300), []string{long("x", 268), long("x", 32)}, false},
		{"between items", "Traiga:\n\n- " + long("a", 150) + "\n- " + long("b", 150), []string{"Traiga:\n\n- " + long("a", 150), "- " + long("b", 150)}, false},
		{"a heading goes with what it heads", long("a", 260) + "\n\n#### Nota\n\n" + long("b", 266), []string{long("a", 260), "#### Nota\n\n" + long("b", 266)}, false},
		{"never a fence", "```\n" + long("x", 200) + "\n\n# no\n" + long("y", 200) + "\n```", []string{"```\n" + long("x", 200) + "\n\n# no\n" + long("y", 200) + "\n```"}, true},
		{"never a fence in a list", "- a\n\n  ```\n  " + long("x", 400) + "\n  ```", []string{"- a", "  ```\n  " + long("x", 400) + "\n  ```"}, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			oversize := false
			for _, p := range chunk.Split("l.md", c.text) {
				got = append(got, p.Text)
				oversize = oversize || p.Oversize
			}
			if d := cmp.Diff(c.want, got); d != "" || oversize != c.oversize {
				t.Fatalf("oversize %v, pieces (-want +got):\n%s", oversize, d)
			}
		})
	}
}

func TestIDs(t *testing.T) {
	t.Parallel()
	before := chunk.Split("a.md", "# A\nuno\n# B\ndos\n# B\ndos\n")
	after := chunk.Split("a.md", "# Nuevo\ncero\n# A\nuno\n# B\ndos\n# B\ndos\n")
	for i, c := range before {
		if c.ID != after[i+1].ID || c.Seq != i {
			t.Fatalf("piece %d moved from %+v to %+v", i, c, after[i+1])
		}
	}
	if before[1].ID == before[2].ID {
		t.Fatal("two equal pieces share an id")
	}
	if other := chunk.Split("b.md", "# A\nuno\n"); other[0].ID == before[0].ID {
		t.Fatal("two files share an id")
	}
}

func TestClean(t *testing.T) {
	t.Parallel()
	got := chunk.Clean("\uFEFFa\x00b\r\nc\rd\xffe")
	if d := cmp.Diff("ab\nc\nd\uFFFDe", got); d != "" {
		t.Fatal(d)
	}
}

func FuzzSplit(f *testing.F) {
	for _, s := range []string{
		"# A\n```\n# c\n```\n", "- a\n---\n", "> q\n===\n", "|a|b|\n|-|-|\n|1|2|\n", "---\na: b\n---\nx", "a\r\nb\rc",
		"[a]: b\n===\n", "1. a\n   - # b\n\n     c\n", "#### x\n##### y\n#### z\n", "<div>\n\n# a\n</div>", "\t- a\n\n\tb\n|x\n|-\n",
	} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, text string, times int) {
		text = strings.Repeat(text, 1+(times&0x3f)) // long enough to be cut
		chunks := chunk.Split("f.md", text)
		crlf := strings.ReplaceAll(chunk.Clean(text), "\n", "\r\n")
		if d := cmp.Diff(chunks, chunk.Split("f.md", crlf)); d != "" && !strings.HasPrefix(chunk.Clean(text), "\uFEFF") {
			t.Fatalf("line ends change the pieces:\n%s", d)
		}
		ids := map[string]bool{}
		for i, c := range chunks {
			size := chunk.Tokens(c.Text)
			switch {
			case c.Seq != i || ids[c.ID]:
				t.Fatalf("piece %d: seq %d, id %s", i, c.Seq, c.ID)
			case strings.TrimSpace(c.Text) == "" || !utf8.ValidString(c.Text) || strings.ContainsAny(c.Text+c.Heading, "\r\x00"):
				t.Fatalf("piece %d is %q under %q", i, c.Text, c.Heading)
			case (size >= chunk.MaxTokens) != c.Oversize:
				t.Fatalf("piece %d of %.1f tokens, oversize %v", i, size, c.Oversize)
			}
			ids[c.ID] = true
		}
	})
}

func BenchmarkSplit(b *testing.B) {
	text := strings.Repeat("# Título\nUn párrafo con **marcas**. Otra frase.\n\n- uno\n- dos\n\n|a|b|\n|-|-|\n|1|2|\n\n", 100)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		chunk.Split("b.md", text)
	}
}

// BenchmarkSplitHostile reads what takes a careless parser time in the square of
// its length: a base that somebody pushes is read in the process that answers calls.
func BenchmarkSplitHostile(b *testing.B) {
	for _, c := range []struct{ name, text string }{
		{"quotes", strings.Repeat("> ", 2000) + strings.Repeat("a ", 500)},
		{"links", strings.Repeat("[a](", 20_000)},
		{"definitions", strings.Repeat("[a]: b\n", 10_000)},
		{"paragraphs", strings.Repeat("a\n\n", 20_000)},
		{"headings", strings.Repeat("#### a\n", 10_000)},
		{"rows", "|a|\n|-|\n" + strings.Repeat("|a|\n", 10_000)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.text)))
			b.ReportAllocs()
			for b.Loop() {
				chunk.Split("b.md", c.text)
			}
		})
	}
}
