package chunk_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headstart/retrieval/chunk"
)

// writer makes Markdown of words that are all different: w1, w2, … outside
// table headers, h1, h2, … in headings.
type writer struct {
	rand *rand.Rand
	n    int
}

func (w *writer) words(most int) string {
	list := make([]string, 1+w.rand.IntN(most))
	for i := range list {
		w.n++
		list[i] = fmt.Sprintf("w%d", w.n)
		if w.rand.IntN(12) == 0 {
			list[i] += "."
		}
	}
	return strings.Join(list, " ")
}

func (w *writer) block() string {
	switch w.rand.IntN(8) {
	case 0:
		return "- " + w.words(120) + "\n- " + w.words(200) + "\n\n  " + w.words(100)
	case 1:
		fence := []string{"```", "~~~~"}[w.rand.IntN(2)]
		return fence + "\n# " + w.words(40) + "\n\n" + w.words(300) + "\n" + fence
	case 2:
		return "> " + w.words(150) + "\n>\n> # " + w.words(9) + "\n> " + w.words(200)
	case 3:
		var rows strings.Builder
		rows.WriteString("| head | other |\n|---|---|\n")
		for range 1 + w.rand.IntN(40) {
			rows.WriteString("| " + w.words(9) + " | " + w.words(4) + " |\n")
		}
		return rows.String()
	case 4:
		w.n++
		return fmt.Sprintf("##### w%d\n%s\n\n---", w.n, w.words(80))
	case 5:
		return "1. " + w.words(400) + "\n   - " + w.words(100)
	}
	return w.words(500)
}

func (w *writer) heading(n int) string {
	if w.rand.IntN(3) == 0 {
		return fmt.Sprintf("h%d\n%s", n, []string{"===", "---"}[w.rand.IntN(2)])
	}
	return fmt.Sprintf("%s h%d", strings.Repeat("#", 1+w.rand.IntN(3)), n)
}

var word = regexp.MustCompile(`w\d+`)

// TestNoWordIsLost: every word is in exactly one piece, in the order of the
// file, and every piece is under the limit unless it says that it is not.
func TestNoWordIsLost(t *testing.T) {
	t.Parallel()
	for seed := range uint64(150) {
		w := writer{rand: rand.New(rand.NewPCG(seed, 1))}
		var blocks []string
		for i := range 1 + w.rand.IntN(8) {
			if w.rand.IntN(2) == 0 {
				blocks = append(blocks, w.heading(i))
			}
			blocks = append(blocks, w.block())
		}
		text := strings.Join(blocks, "\n\n")
		var got []string
		for _, c := range chunk.Split("p.md", text) {
			got = append(got, word.FindAllString(c.Text, -1)...)
			if big := chunk.Tokens(c.Text) >= chunk.MaxTokens; big != c.Oversize || (big && !strings.ContainsAny(c.Text, "`~")) {
				t.Fatalf("seed %d: a piece of %.1f tokens, oversize %v:\n%s", seed, chunk.Tokens(c.Text), c.Oversize, c.Text)
			}
			if strings.Contains(c.Text, "h1") || strings.Count(c.Text, "```")%2 != 0 {
				t.Fatalf("seed %d: a heading or half a fence in %q", seed, c.Text)
			}
		}
		if d := cmp.Diff(word.FindAllString(text, -1), got); d != "" {
			t.Fatalf("seed %d: words (-file +pieces):\n%s\n%s", seed, d, text)
		}
	}
}
