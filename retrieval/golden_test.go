package retrieval_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"

	"headstart/retrieval"
	"headstart/retrieval/embed"
)

var update = flag.Bool("update", false, "rewrite what the golden questions found; read the diff")

// golden is a folder of documents and what is asked of it.
type golden struct {
	Docs     string        `json:"docs"` // relative to the case
	Language string        `json:"language"`
	Queries  []goldenQuery `json:"queries"`
}

// goldenQuery is one question. Expects is the file, or file#heading, that answers
// it; empty when nothing may be found. -update never writes it, and writes At:
// a question that is not answered first stays in the file, and shows.
type goldenQuery struct {
	Before   []string           `json:"before,omitempty"` // the caller's turns before it
	Asks     string             `json:"asks"`
	Expects  string             `json:"expects"`
	Evidence retrieval.Evidence `json:"evidence,omitempty"`
	At       int                `json:"at"`    // the place of what was expected, from 1; 0 is nowhere
	Found    []string           `json:"found"` // the first three, as file#heading
}

// TestGolden asks every case under testdata/retrieval, with its accents and
// without.
func TestGolden(t *testing.T) {
	t.Parallel()
	cases, err := filepath.Glob("../testdata/retrieval/*/queries.json")
	if err != nil || len(cases) < 2 {
		t.Fatalf("golden cases: %v, %v", cases, err)
	}
	for _, file := range cases {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			t.Parallel()
			want := readGolden(t, file)
			got := want
			s := goldenSearcher(t, filepath.Join(filepath.Dir(file), want.Docs), want.Language)
			got.Queries = slices.Clone(want.Queries)
			for i := range got.Queries {
				askGolden(t, s, &got.Queries[i])
			}
			answersFirst(t, got.Queries)
			if *update {
				writeGolden(t, file, got)
				return
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("(-golden +found)\n%s", d)
			}
		})
	}
}

// answersFirst holds the least that a case may fall to: nine questions of ten
// answered by the first passage.
func answersFirst(t *testing.T, queries []goldenQuery) {
	t.Helper()
	asked, first := 0, 0
	for _, q := range queries {
		if q.Expects == "" {
			continue
		}
		if asked++; q.At == 1 {
			first++
		}
	}
	if first*10 < asked*9 {
		t.Errorf("%d of %d questions are answered first", first, asked)
	}
}

func goldenSearcher(t *testing.T, dir, language string) *retrieval.Searcher {
	t.Helper()
	e := embed.Hashing(512)
	seg, bad, err := retrieval.LoadFolder(t.Context(), dir, "golden", language, e, nil)
	if err != nil || len(bad) > 0 {
		t.Fatal(err, bad)
	}
	var lib retrieval.Library
	lib.Put("org", seg)
	return retrieval.NewSearcher(&lib, e)
}

func askGolden(t *testing.T, s *retrieval.Searcher, q *goldenQuery) {
	t.Helper()
	question := ask(q.Asks, retrieval.Attachment{Base: "golden"})
	question.Before = q.Before
	r, err := s.Search(t.Context(), question)
	if err != nil || r.Degraded != nil {
		t.Fatal(err, r.Degraded)
	}
	question.Text = withoutAccents(q.Asks)
	plain, err := s.Search(t.Context(), question)
	if d := cmp.Diff(r.Passages, plain.Passages); d != "" || err != nil {
		t.Errorf("%q ranks otherwise without its accents: %v\n%s", q.Asks, err, d)
	}
	q.Evidence, q.Found = r.Evidence, []string{}
	for _, p := range r.Passages[:min(3, len(r.Passages))] {
		q.Found = append(q.Found, p.Path+"#"+p.Heading)
	}
	q.At = 1 + slices.IndexFunc(r.Passages, func(p retrieval.Passage) bool {
		return p.Path == q.Expects || p.Path+"#"+p.Heading == q.Expects
	})
	told(t, q.Asks, r)
	if q.Expects == "" && len(r.Passages) > 0 {
		t.Errorf("%q finds %q, want nothing", q.Asks, q.Found)
	}
}

// told holds what every answer owes: at most K passages in falling order, each with
// its hits, and a best cosine that no hit exceeds.
func told(t *testing.T, asks string, r retrieval.Result) {
	t.Helper()
	last := 1.0
	for _, p := range r.Passages {
		if len(p.Hits) == 0 || p.Score != p.Hits[0].Score || p.Score > last || len(r.Passages) > retrieval.DefaultK {
			t.Errorf("%q: %+v after %v", asks, p, last)
		}
		last = p.Score
		for _, h := range p.Hits {
			if h.Cosine > r.Cosine || h.Together.Cosine > r.Cosine || h.WordRank+h.VectorRank+h.Together.WordRank+h.Together.VectorRank == 0 {
				t.Errorf("%q: best cosine %v, hit %+v", asks, r.Cosine, h)
			}
		}
	}
}

func withoutAccents(s string) string {
	return norm.NFC.String(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) && r != '\u0303' {
			return -1
		}
		return r
	}, norm.NFD.String(s)))
}

func readGolden(t *testing.T, file string) golden {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := json.Unmarshal(text, &g); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return g
}

func writeGolden(t *testing.T, file string, g golden) {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(g); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
