package chunk_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headstart/retrieval/chunk"
)

func TestJoin(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("Una frase de seis palabras cortas. ", 60)
	rows := "| plan | euros |\n|---|---|\n" + strings.Repeat("| uno dos tres cuatro cinco | seis siete |\n", 60)
	cases := []struct{ name, text string }{
		{"one piece", "uno\n\ndos"},
		{"a paragraph cut at its sentences", strings.TrimSpace(long)},
		{"a sentence cut between words", strings.TrimSpace(strings.Repeat("palabra ", 700))},
		{"a table cut at its rows", strings.TrimSpace(rows)},
		{"a table under words", "Los planes:\n\n" + strings.TrimSpace(rows)},
		{"a list cut at its items", strings.TrimSpace(strings.Repeat("- "+strings.Repeat("cosa ", 20)+"\n", 40))},
		{"paragraphs", strings.TrimSpace(strings.Repeat(strings.Repeat("voz ", 150)+"\n\n", 5))},
	}
	for _, c := range cases {
		if d := cmp.Diff(spaced(c.text), spaced(chunk.Join(chunk.Split("a.md", "# T\n\n"+c.text)))); d != "" {
			t.Fatalf("%s (-text +joined):\n%s", c.name, d)
		}
	}
	if got := chunk.Join(nil); got != "" {
		t.Fatalf("of nothing: %q", got)
	}
}

// spaced drops the spaces at line ends: no piece keeps those.
func spaced(s string) string {
	var lines []string
	for line := range strings.SplitSeq(s, "\n") {
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return strings.Join(lines, "\n")
}

// TestJoinGivesEveryLineBack: all pieces of each heading joined hold every line
// of the file once and in order, headings, rules and lines without words aside.
func TestJoinGivesEveryLineBack(t *testing.T) {
	t.Parallel()
	for seed := range uint64(150) {
		w := writer{rand: rand.New(rand.NewPCG(seed, 4))}
		var blocks []string
		for i := range 1 + w.rand.IntN(8) {
			if w.rand.IntN(2) == 0 {
				blocks = append(blocks, w.heading(i))
			}
			blocks = append(blocks, w.block())
		}
		text := strings.Join(blocks, "\n\n")
		sections := map[int][]chunk.Chunk{}
		last := 0
		for _, c := range chunk.Split("p.md", text) {
			sections[c.Section] = append(sections[c.Section], c)
			last = c.Section
		}
		var joined []string
		for i := range last + 1 {
			joined = append(joined, chunk.Join(sections[i]))
		}
		if d := cmp.Diff(bodyLines(text), bodyLines(strings.Join(joined, "\n"))); d != "" {
			t.Fatalf("seed %d (-file +joined):\n%s", seed, d)
		}
	}
}

// bodyLines are the lines with a word of the writer's. Inside a list or a quote
// the marks before the first word may be a line of their own in a piece.
func bodyLines(text string) []string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if at := word.FindStringIndex(line); at != nil {
			lines = append(lines, strings.TrimRight(line[at[0]:], " "))
		}
	}
	return lines
}
