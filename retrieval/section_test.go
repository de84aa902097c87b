package retrieval_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headstart/retrieval"
	"headstart/retrieval/chunk"
)

// paragraphs writes n of them, too long for two to share a piece. The nth begins
// with its mark: a letter that is no word by itself.
func paragraphs(mark string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s%c %s\n\n", mark, 'a'+i, strings.Join(manyWords(1000*i+7*len(mark), 160), " "))
	}
	return b.String()
}

// reads shows which marked paragraphs each passage reads, and its hits.
func reads(r retrieval.Result) []string {
	list := []string{}
	for _, p := range r.Passages {
		var marks []string
		for word := range strings.FieldsSeq(p.Text) {
			if after, ok := strings.CutPrefix(word, "zz"); ok {
				marks = append(marks, after)
			}
		}
		list = append(list, fmt.Sprintf("%s: %s (%d)", p.Heading, strings.Join(marks, " "), len(p.Hits)))
	}
	return list
}

// simpleSearcher takes the words of a text as they are: marks have no stem.
func simpleSearcher(t *testing.T, text string) *retrieval.Searcher {
	t.Helper()
	var lib retrieval.Library
	putChunks(t, &lib, "clinica", chunk.Split("clinica.md", text), nil)
	return retrieval.NewSearcher(&lib, nil)
}

func TestSections(t *testing.T) {
	t.Parallel()
	text := "# Uno\n" + paragraphs("zzu", 9) + "# Dos\n" + paragraphs("zzd", 2) + "# Dos\n" + paragraphs("zze", 2) + "# Tres\n" + paragraphs("zzt", 1)
	s := simpleSearcher(t, text)
	cases := []struct {
		asks string
		want []string
	}{
		{"zzue", []string{"Uno: uc ud ue uf ug (1)"}},
		{"zzua", []string{"Uno: ua ub uc (1)"}},
		{"zzui", []string{"Uno: ug uh ui (1)"}},
		{"zzta", []string{"Tres: ta (1)"}},
		{"zzdb", []string{"Dos: da db (1)"}}, // not of the other heading that is spelt so
		{"zzea", []string{"Dos: ea eb (1)"}},
		{"zzue zzue zzuf", []string{"Uno: uc ud ue uf ug (2)"}},
		{"zzub zzub zzue", []string{"Uno: ua ub uc ud (1)", "Uno: ue uf ug (1)"}}, // no chunk twice
	}
	for _, c := range cases {
		r, err := s.Search(t.Context(), ask(c.asks))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, reads(r)); d != "" {
			t.Fatalf("%s (-want +got):\n%s", c.asks, d)
		}
	}
}

// TestPassageIDs: a passage of one chunk has its id; one of several has an id of
// its own that changes with what is read.
func TestPassageIDs(t *testing.T) {
	t.Parallel()
	s := simpleSearcher(t, "# Uno\n"+paragraphs("zzu", 9)+"# Tres\n"+paragraphs("zzt", 1))
	one := func(asks string) retrieval.Passage {
		r, err := s.Search(t.Context(), ask(asks))
		if err != nil || len(r.Passages) == 0 {
			t.Fatalf("%s: %v, %v", asks, r, err)
		}
		return r.Passages[0]
	}
	if p := one("zzta"); p.ID != p.Hits[0].ID {
		t.Fatalf("%+v", p)
	}
	e, again, f := one("zzue"), one("zzue zzuf"), one("zzuf")
	if e.ID == e.Hits[0].ID || e.ID != again.ID || e.Text != again.Text || len(again.Hits) != 2 || f.ID == e.ID {
		t.Fatalf("%s, %s, %s", e.ID, again.ID, f.ID)
	}
}

// TestSectionFitsASpokenTurn: neighbours that would not fit in a turn stay out,
// so that a passage is never passed over for them.
func TestSectionFitsASpokenTurn(t *testing.T) {
	t.Parallel()
	fence := "```\n" + strings.Join(manyWords(9000, 1500), " ") + "\n```\n\n"
	text := "# Uno\nzza " + strings.Join(manyWords(1, 160), " ") + "\n\n" + fence + "zzb " + strings.Join(manyWords(500, 250), " ") + "\n\n" + fence
	r, err := retrieval.NewSearcher(library(t, "clinica", text, nil), nil).Search(t.Context(), ask("zzb"))
	if err != nil || len(retrieval.Limit(r.Passages, 0)) != 1 {
		t.Fatalf("%v, %v", reads(r), err)
	}
	if p := r.Passages[0]; strings.Count(p.Text, "```") != 2 {
		t.Fatalf("%d fences in %d words", strings.Count(p.Text, "```")/2, len(strings.Fields(p.Text)))
	}
}

// TestPages: all sections of the two best pages, one of each page after; K counts
// them as they are handed out.
func TestPages(t *testing.T) {
	t.Parallel()
	var chunks []chunk.Chunk
	for i, page := range []string{"a", "b", "c", "d"} {
		var text strings.Builder
		for j := range 3 {
			// The fewer other words, the better the page.
			fmt.Fprintf(&text, "# %c\nraro %s\n", 'A'+j, strings.Join(manyWords(1000*i+100*j, 5+10*i+j), " "))
		}
		chunks = append(chunks, chunk.Split(page+".md", text.String())...)
	}
	var lib retrieval.Library
	putChunks(t, &lib, "clinica", chunks, nil)
	for k, want := range map[int]string{
		0: "aA aB aC bA bB bC cA dA", 7: "aA aB aC bA bB bC cA", 4: "aA aB aC bA", 50: "aA aB aC bA bB bC cA dA",
	} {
		r, err := retrieval.NewSearcher(&lib, nil).Search(t.Context(), ask("raro", retrieval.Attachment{Base: "clinica", K: k}))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range r.Passages {
			got = append(got, p.Path[:1]+p.Heading)
		}
		if d := cmp.Diff(want, strings.Join(got, " ")); d != "" {
			t.Fatalf("k %d: %s", k, d)
		}
	}
}

// page writes Markdown whose every block holds the word that is asked for, and
// whose lines are all different.
func page(r *rand.Rand, name string) string {
	var b strings.Builder
	n := 0
	line := func(words int) string {
		n++
		return fmt.Sprintf("pregunta %s%d %s", name, n, strings.Join(manyWords(r.IntN(9000), words), " "))
	}
	for range 1 + r.IntN(3) {
		fmt.Fprintf(&b, "%s Parte %c\n\n", strings.Repeat("#", 1+r.IntN(3)), 'a'+r.IntN(2))
		for range 1 + r.IntN(3) {
			switch r.IntN(3) {
			case 0:
				b.WriteString("| uno | dos |\n|---|---|\n")
				for range 1 + r.IntN(15) {
					b.WriteString("| " + line(30) + " | x |\n")
				}
			case 1:
				for range 1 + r.IntN(6) {
					b.WriteString("- " + line(60) + "\n")
				}
			default:
				b.WriteString(line(20) + "\n" + line(200) + "\n")
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// TestSectionsHoldThePage: the sections of a page whose every chunk is hit, put
// in the file's order, hold every body line of it once, repeated table headers
// aside; scores never rise, and every hit is in the passage that names it.
func TestSectionsHoldThePage(t *testing.T) {
	t.Parallel()
	joined := 0
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 31))
		text := page(r, "l")
		chunks := chunk.Split("p.md", text)
		if len(chunks) > retrieval.Pool {
			continue
		}
		var lib retrieval.Library
		putChunks(t, &lib, "clinica", chunks, nil)
		res, err := retrieval.NewSearcher(&lib, nil).Search(t.Context(), ask("pregunta", retrieval.Attachment{Base: "clinica", K: 100}))
		if err != nil {
			t.Fatal(err)
		}
		place := map[string]int{}
		for _, c := range chunks {
			place[c.ID] = c.Seq
		}
		last := 1.0
		for _, p := range res.Passages {
			if p.Score != p.Hits[0].Score || p.Score > last {
				t.Fatalf("seed %d: scores %v after %v", seed, p.Hits, last)
			}
			last = p.Score
			joined += len(p.Hits) - 1
		}
		slices.SortFunc(res.Passages, func(a, b retrieval.Passage) int { return place[a.Hits[0].ID] - place[b.Hits[0].ID] })
		var all []string
		for _, p := range res.Passages {
			all = append(all, p.Text)
		}
		if d := cmp.Diff(asking(text), asking(strings.Join(all, "\n"))); d != "" {
			t.Fatalf("seed %d (-file +sections):\n%s", seed, d)
		}
	}
	if joined < 100 {
		t.Fatalf("only %d chunks were joined", joined)
	}
}

// asking are the lines that hold the word that is asked for.
func asking(text string) []string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if strings.Contains(line, "pregunta") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}
