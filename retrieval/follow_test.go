package retrieval_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"headstart/retrieval"
	"headstart/retrieval/embed"
)

// listener writes down the questions that an embedder is asked.
type listener struct {
	retrieval.Embedder
	mu    sync.Mutex
	asked []string
}

func (l *listener) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	l.mu.Lock()
	l.asked = append(l.asked, text)
	l.mu.Unlock()
	return retrieval.EmbedQuery(ctx, l.Embedder, text)
}

func TestFollowUps(t *testing.T) {
	t.Parallel()
	e := embed.Hashing(64)
	lib := library(t, "clinica", handbook, e)
	const plain = "¿Cuánto cuesta la revisión anual completa para un hombre mayor de cincuenta años?"
	cases := []struct {
		name, asks string
		before     []string
		want       []string // what is embedded, sorted
	}{
		{"no turn before", "¿y eso?", nil, []string{"¿y eso?"}},
		{"four content words", "revisión respiración horarios tarifas", []string{"a b"}, []string{"a b\nrevisión respiración horarios tarifas", "revisión respiración horarios tarifas"}},
		{"five", "revisión respiración horarios tarifas equipo", []string{"a b"}, []string{"revisión respiración horarios tarifas equipo"}},
		{"long and plain", plain, []string{"la respiración"}, []string{plain}},
		{"long and points back", "Y " + plain, []string{"la respiración"}, []string{"Y " + plain, "la respiración\nY " + plain}},
		{"the last two turns", "¿y eso?", []string{"uno más", "otro día", "la respiración"}, []string{"otro día\nla respiración\n¿y eso?", "¿y eso?"}},
		{"a number that was read out", "¿y eso?", []string{"la respiración", "seis cero cero, 12 34"}, []string{"la respiración\n¿y eso?", "¿y eso?"}},
		{"numbers alone", "¿y eso?", []string{"", "600 123 456"}, []string{"¿y eso?"}},
	}
	for _, c := range cases {
		l := &listener{Embedder: e}
		q := ask(c.asks)
		q.Before = c.before
		r, err := retrieval.NewSearcher(lib, l).Search(t.Context(), q)
		if err != nil || r.Degraded != nil || r.Followed != (len(c.want) == 2) {
			t.Fatalf("%s: followed %v, degraded %v, %v", c.name, r.Followed, r.Degraded, err)
		}
		slices.Sort(l.asked)
		slices.Sort(c.want)
		if d := cmp.Diff(c.want, l.asked); d != "" {
			t.Fatalf("%s (-want +asked):\n%s", c.name, d)
		}
		if c.before == nil {
			continue
		}
		q.Before = nil
		alone, err := retrieval.NewSearcher(lib, l).Search(t.Context(), q)
		if d := cmp.Diff(ids(alone), ids(r)); err != nil || !r.Followed && d != "" {
			t.Fatalf("%s: turns that are not searched change the answer: %v\n%s", c.name, err, d)
		}
	}
}

// TestFollowUpAsksAtOnce: what a follow-up ranks by words is what one question with
// its words several times over ranks: the more often the more it says by itself, and
// so often that the turns never say more.
func TestFollowUpAsksAtOnce(t *testing.T) {
	t.Parallel()
	var lib retrieval.Library
	c := newCorpus(rand.New(rand.NewPCG(4, 4)), 300)
	putChunks(t, &lib, "b", c.chunks, nil)
	s := retrieval.NewSearcher(&lib, nil)
	ranked := func(asks string, before ...string) (list []string) {
		q := ask(asks, retrieval.Attachment{Base: "b"})
		q.Before = before
		r, err := s.Rank(t.Context(), retrieval.Ranking{Query: q, Depth: 100, Arm: retrieval.Words})
		if err != nil || len(r.Chunks) == 0 {
			t.Fatal(len(r.Chunks), err)
		}
		for _, found := range r.Chunks {
			list = append(list, found.Chunk.ID)
		}
		return list
	}
	const a, b, d, e = "palabraaa", "palabraba", "palabraca", "palabrada"
	cases := []struct {
		asks, before string
		times        int
	}{
		{a, b, 1},
		{a, b + " " + d, 2},
		{a, b + " " + d + " " + e + " palabraea palabrafa palabraga", 4},
		{a + " " + b, d, 2},
		{a + " " + b + " " + d, e, 3},
		{a + " " + b + " " + d + " " + e, "palabraea", 4},
	}
	for _, c := range cases {
		once := c.before + strings.Repeat(" "+c.asks, c.times)
		if d := cmp.Diff(ranked(once), ranked(c.asks, c.before)); d != "" {
			t.Fatalf("%q after %q, against %q:\n%s", c.asks, c.before, once, d)
		}
	}
}

// TestFollowUpFinds: a question that says nothing by itself finds what the turns
// before it are about, and its marks are its own.
func TestFollowUpFinds(t *testing.T) {
	t.Parallel()
	e := embed.Hashing(512)
	s := retrieval.NewSearcher(library(t, "clinica", handbook, e), e)
	q := ask("¿Y cuánto tarda eso?")
	if r, err := s.Search(t.Context(), q); err != nil || len(r.Passages) != 0 {
		t.Fatalf("alone it finds %v, %v", headings(r), err)
	}
	q.Before = []string{"Necesito una prueba de respiración"}
	r, err := s.Search(t.Context(), q)
	if err != nil || len(r.Passages) == 0 || r.Passages[0].Heading != "Clínica › Respiración" {
		t.Fatalf("%v, %v", headings(r), err)
	}
	h := r.Passages[0].Hits[0]
	if h.BM25 != 0 || h.WordRank != 0 || h.Together.BM25 <= 0 || h.Together.WordRank != 1 || h.Together.Cosine <= h.Cosine {
		t.Fatalf("%+v", h)
	}
}

// TestFollowUpEmbedsSideBySide: two questions take the time of one.
func TestFollowUpEmbedsSideBySide(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hash := embed.Hashing(64)
		s := retrieval.NewSearcher(library(t, "clinica", handbook, hash), embed.Delayed(hash, 150*time.Millisecond))
		q := ask("¿y la revisión?")
		q.Before = []string{"las tarifas"}
		began := time.Now()
		r, err := s.Search(t.Context(), q)
		if waited := time.Since(began); err != nil || !r.Followed || waited != 150*time.Millisecond || r.EmbedTook != waited {
			t.Fatalf("waited %v, embed took %v, %v", waited, r.EmbedTook, err)
		}
	})
}

// TestFollowUpHalfEmbedded: when one of two questions has no vector, the other's
// take part all the same, and the answer says what is missing.
func TestFollowUpHalfEmbedded(t *testing.T) {
	t.Parallel()
	hash := embed.Hashing(64)
	lib := library(t, "clinica", handbook, hash)
	for _, lost := range []bool{false, true} {
		e := fake{"hashing-64", 64, 1, func(ctx context.Context, texts []string) ([][]float32, error) {
			if strings.Contains(texts[0], "\n") == lost {
				return nil, errors.New("quota")
			}
			return hash.Embed(ctx, texts)
		}}
		q := ask("¿y la revisión?")
		q.Before, q.Ranks = []string{"las tarifas"}, true
		r, err := retrieval.NewSearcher(lib, e).Search(t.Context(), q)
		if err != nil || r.Degraded == nil || len(r.Branches) != 2 || r.Passages[0].Heading != "Clínica › Tarifas" {
			t.Fatalf("%v, degraded %v, %v", headings(r), r.Degraded, err)
		}
		if h := r.Passages[0].Hits[0]; (h.VectorRank == 0) == lost || (h.Together.VectorRank == 0) != lost {
			t.Fatalf("the second lost: %v: %+v", lost, h)
		}
	}
}

// TestFarMatchesAreDropped: a match under VectorMargin of the best cosine is no
// candidate, though the cut-offs let it through.
func TestFarMatchesAreDropped(t *testing.T) {
	t.Parallel()
	at := map[string][]float32{"uno": {1, 0, 0}, "dos": {0.62, 0.7846, 0}, "tres": {0.58, 0, 0.8146}}
	e := fake{"plane", 3, 1, func(_ context.Context, texts []string) ([][]float32, error) {
		var list [][]float32
		for _, text := range texts {
			v := []float32{1, 0, 0} // the question's
			for word, w := range at {
				if strings.HasSuffix(text, word) {
					v = w
				}
			}
			list = append(list, v)
		}
		return list, nil
	}}
	lib := library(t, "clinica", "# A\nuno\n# B\ndos\n# C\ntres\n", e)
	for asks, want := range map[string][]string{"otra cosa": {"A", "B"}, "pregunta tres veces": {"A", "B", "C"}} {
		r, err := retrieval.NewSearcher(lib, e).Search(t.Context(), ask(asks))
		if err != nil {
			t.Fatal(err)
		}
		got := headings(r)
		slices.Sort(got)
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("%s (-want +got):\n%s", asks, d)
		}
	}
}

// TestDemoCallsAsFollowUps: every question of the recorded calls finds its file
// first, alone and with the two turns of the caller before it.
func TestDemoCallsAsFollowUps(t *testing.T) {
	t.Parallel()
	for call, docs := range map[string]string{"es-1": "", "es-2": "", "en-1": "en"} {
		text, err := os.ReadFile(filepath.Join("../testdata/calls", call, "call.json"))
		if err != nil {
			t.Fatal(err)
		}
		var script struct {
			Language string
			Turns    []struct {
				Text    string
				Expects struct{ Path string }
			}
		}
		if err := json.Unmarshal(text, &script); err != nil {
			t.Fatal(err)
		}
		s := goldenSearcher(t, filepath.Join("../testdata/knowledge/clinica-norte", docs), script.Language)
		var said []string
		for _, turn := range script.Turns {
			for _, before := range [][]string{nil, said} {
				q := ask(turn.Text, retrieval.Attachment{Base: "golden"})
				q.Before = before
				r, err := s.Search(t.Context(), q)
				want := strings.TrimPrefix(turn.Expects.Path, "en/")
				if err != nil || want != "" && (len(r.Passages) == 0 || r.Passages[0].Path != want) {
					t.Errorf("%s: %q after %q finds %v, %v; want %s", call, turn.Text, before, headings(r), err, want)
				}
			}
			said = append(said, turn.Text)
		}
	}
}
