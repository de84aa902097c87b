package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"headstart/retrieval"
	"headstart/retrieval/analyse"
	"headstart/retrieval/chunk"
	"headstart/retrieval/knowledge"
	"headstart/store/postgres"
)

const (
	tenant = "default"
	model  = "test-model"
	dim    = 16 // enough to have clusters in, and soon indexed
)

// hill makes unit vectors that lie in clusters, as those of texts do.
type hill struct {
	random  *rand.Rand
	centres [][]float32
}

func newHill(seed uint64, clusters int) *hill {
	h := &hill{random: rand.New(rand.NewPCG(seed, seed))}
	for range clusters {
		h.centres = append(h.centres, h.around(make([]float32, dim), 1))
	}
	return h
}

func (h *hill) vector() []float32 {
	return h.around(h.centres[h.random.IntN(len(h.centres))], 0.6/math.Sqrt(dim))
}

func (h *hill) around(centre []float32, spread float64) []float32 {
	v, square := make([]float32, len(centre)), 0.0
	for i := range v {
		v[i] = centre[i] + float32(h.random.NormFloat64()*spread)
		square += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(square))
	}
	return v
}

// text is a few words of a vocabulary in which some are common and most are rare.
func (h *hill) text(words int) string {
	var b strings.Builder
	for range words {
		fmt.Fprintf(&b, "palabra%d ", int(math.Pow(h.random.Float64(), 3)*2000))
	}
	return b.String()
}

// fill makes a base of so many pieces, a thousand a file at most, and indexes it.
func fill(t testing.TB, db *postgres.DB, org, name string, pieces int, h *hill) {
	t.Helper()
	if _, err := db.Make(t.Context(), knowledge.Base{Org: org, Name: name, Model: model, Dim: dim}); err != nil {
		t.Fatalf("make base: %v", err)
	}
	refill(t, db, org, name, pieces, h)
	if err := db.Index(t.Context(), org, name); err != nil {
		t.Fatalf("index base: %v", err)
	}
}

// refill puts other pieces in the place of those of a base.
func refill(t testing.TB, db *postgres.DB, org, name string, pieces int, h *hill) {
	t.Helper()
	for from := 0; from < pieces; from += 1000 {
		c := knowledge.Cut{File: knowledge.File{Path: fmt.Sprintf("%06d.md", from)}}
		for i := from; i < min(from+1000, pieces); i++ {
			c.Pieces = append(c.Pieces, knowledge.Piece{
				Chunk:  chunk.Chunk{ID: fmt.Sprintf("%s-%06d", name, i), Path: c.Path, Text: h.text(10), Seq: i - from, Section: i},
				Vector: h.vector(),
			})
		}
		if _, err := db.Replace(t.Context(), org, name, knowledge.Change{Model: model, Dim: dim, Put: []knowledge.Cut{c}}); err != nil {
			t.Fatalf("fill base: %v", err)
		}
	}
}

func search(t testing.TB, db *postgres.DB, q retrieval.LargeQuery) []retrieval.LargeHit {
	t.Helper()
	hits, err := db.SearchLarge(t.Context(), q)
	if err != nil {
		t.Fatalf("search: %v", err)
	}
	return hits
}

func both(org, base string, vector []float32, k int, terms ...string) retrieval.LargeQuery {
	return retrieval.LargeQuery{Org: org, Base: base, Terms: terms, Vector: vector, Weak: -1, WordsWeight: 1, VectorsWeight: 1, K: k}
}

// piecesOf is a file under two headings, a piece a text.
func piecesOf(path string, vectors [][]float32, texts ...string) knowledge.Cut {
	c := knowledge.Cut{File: knowledge.File{Path: path}}
	for i, text := range texts {
		c.Pieces = append(c.Pieces, knowledge.Piece{
			Chunk:  chunk.Chunk{ID: fmt.Sprintf("%s#%d", path, i), Path: path, Heading: "Tarifas", Text: text, Seq: i, Section: i / 4, Glue: "\n\n"},
			Vector: vectors[i],
		})
	}
	return c
}

// small is a base whose ranking can be counted on the fingers.
func small(t *testing.T, db *postgres.DB) {
	t.Helper()
	if _, err := db.Make(t.Context(), knowledge.Base{Org: tenant, Name: "clinica", Language: "es", Model: model, Dim: 2}); err != nil {
		t.Fatalf("make: %v", err)
	}
	put(t, db, piecesOf("a.md", [][]float32{{1, 0}, {0.8, 0.6}, {0, 1}, {0.6, 0.8}, {-1, 0}, {0, 0}},
		"La resonancia cuesta 320 euros.", "La radiografía cuesta 40 euros.", "Horario de tardes.", "Aparcamiento AX-204.", "Otra cosa.", "Sin vector."))
	if err := db.Index(t.Context(), tenant, "clinica"); err != nil {
		t.Fatalf("index: %v", err)
	}
}

func put(t *testing.T, db *postgres.DB, cuts ...knowledge.Cut) {
	t.Helper()
	if _, err := db.Replace(t.Context(), tenant, "clinica", knowledge.Change{Model: model, Dim: 2, Put: cuts}); err != nil {
		t.Fatalf("put: %v", err)
	}
}

func ids(hits []retrieval.LargeHit) []string {
	list := []string{}
	for _, h := range hits {
		list = append(list, h.Chunk.ID)
	}
	return list
}

var spanish = analyse.New("es")

func TestSearchLarge(t *testing.T) {
	t.Parallel()
	db := open(t, migrated(t))
	small(t, db)
	hits := search(t, db, retrieval.LargeQuery{
		Org: tenant, Base: "clinica", Terms: spanish.Terms("¿Cuánto cuesta la resonancia?"), Vector: []float32{0.68, 0.7332},
		Weak: 0.3, WordsWeight: 1, VectorsWeight: 1, K: 3,
	})
	if diff := cmp.Diff([]string{"a.md#1", "a.md#0", "a.md#3"}, ids(hits)); diff != "" {
		t.Fatalf("hits (-want +got):\n%s\n%+v", diff, hits)
	}
	seg := restored(t, db, tenant, "clinica")
	want := rankedBy(t, seg, fixed{2, []float32{0.68, 0.7332}}, "¿Cuánto cuesta la resonancia?", 3)
	for i, h := range hits {
		if diff := cmp.Diff(want[i].Hit.Marks, h.Marks, cmpopts.EquateApprox(0, 2e-3)); diff != "" {
			t.Fatalf("marks of %s (-in memory +in PostgreSQL):\n%s", h.Chunk.ID, diff)
		}
		if diff := cmp.Diff(want[i].Chunk, h.Chunk); diff != "" {
			t.Fatalf("chunk (-in memory +in PostgreSQL):\n%s", diff)
		}
	}
	var around []int
	for _, c := range hits[1].Around {
		around = append(around, c.Seq)
	}
	if diff := cmp.Diff([]int{0, 1, 2}, around); diff != "" {
		t.Fatalf("around the first piece (-want +got):\n%s", diff)
	}
}

// A branch that is not asked gives nothing, and a query without any no hits.
func TestSearchLargeBranches(t *testing.T) {
	t.Parallel()
	db := open(t, migrated(t))
	small(t, db)
	words, vector := spanish.Terms("cuesta"), []float32{0, 1}
	for _, c := range []struct {
		name string
		q    retrieval.LargeQuery
		want []string
	}{
		{"words", retrieval.LargeQuery{Terms: words, WordsWeight: 1, VectorsWeight: 1, K: 9}, []string{"a.md#0", "a.md#1"}},
		{"words by weight", retrieval.LargeQuery{Terms: words, Vector: vector, WordsWeight: 1, K: 9}, []string{"a.md#0", "a.md#1"}},
		{"vectors", retrieval.LargeQuery{Vector: vector, Weak: 0.3, WordsWeight: 1, VectorsWeight: 1, K: 9}, []string{"a.md#2", "a.md#3", "a.md#1"}},
		{"vectors cut off", retrieval.LargeQuery{Vector: vector, Weak: 0.7, VectorsWeight: 1, K: 9}, []string{"a.md#2", "a.md#3"}},
		{"vectors far below the best", retrieval.LargeQuery{Vector: []float32{0, 1}, Weak: 0.1, VectorsWeight: 1, K: 9}, []string{"a.md#2", "a.md#3", "a.md#1"}},
		{"a code", retrieval.LargeQuery{Terms: []string{"204"}, WordsWeight: 1, K: 9}, []string{"a.md#3"}},
		{"k", retrieval.LargeQuery{Terms: words, WordsWeight: 1, K: 1}, []string{"a.md#0"}},
		{"no such word", retrieval.LargeQuery{Terms: []string{"nada"}, WordsWeight: 1, K: 9}, []string{}},
		{"nothing asked", retrieval.LargeQuery{Terms: words, Vector: vector, K: 9}, []string{}},
		{"no k", retrieval.LargeQuery{Terms: words, WordsWeight: 1}, []string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.q.Org, c.q.Base = tenant, "clinica"
			if diff := cmp.Diff(c.want, ids(search(t, db, c.q))); diff != "" {
				t.Fatalf("hits (-want +got):\n%s", diff)
			}
		})
	}
}

// The index goes with its base: what is pushed is found, what is gone is not, another
// model is searched at once, and another language or another base of the name is not
// before it is indexed anew.
func TestIndexFollowsBase(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	db, other := open(t, url), open(t, url) // what one remembers of tables, another changes
	ctx := t.Context()
	q := retrieval.LargeQuery{Org: tenant, Base: "clinica", Terms: []string{"cuest"}, WordsWeight: 1, K: 9}
	if _, err := db.SearchLarge(ctx, q); !errors.Is(err, knowledge.ErrUnknownBase) {
		t.Fatalf("search of no base: %v", err)
	}
	small(t, db)
	found := func(want ...string) {
		t.Helper()
		if diff := cmp.Diff(append([]string{}, want...), ids(search(t, db, q))); diff != "" {
			t.Fatalf("hits (-want +got):\n%s", diff)
		}
	}
	found("a.md#0", "a.md#1")
	put(t, other, piecesOf("a.md", [][]float32{{1, 0}}, "Cuesta menos."), piecesOf("b.md", [][]float32{{0, 1}}, "Cuesta mucho dinero siempre aquí."))
	found("a.md#0", "b.md#0")
	if _, err := other.Replace(ctx, tenant, "clinica", knowledge.Change{Remove: []string{"a.md"}}); err != nil {
		t.Fatalf("remove file: %v", err)
	}
	found("b.md#0")
	notReady := func(after string) {
		t.Helper()
		if _, err := db.SearchLarge(ctx, q); !errors.Is(err, retrieval.ErrNotReady{Base: "clinica"}) {
			t.Fatalf("search after %s: %v", after, err)
		}
		for range 2 {
			if err := other.Index(ctx, tenant, "clinica"); err != nil {
				t.Fatalf("index after %s: %v", after, err)
			}
		}
	}
	if _, err := other.Adopt(ctx, "clinica", knowledge.Space{Org: tenant}); err != nil {
		t.Fatalf("adopt: %v", err)
	}
	found("b.md#0")
	if _, err := other.Make(ctx, knowledge.Base{Org: tenant, Name: "clinica", Language: "pt"}); err != nil {
		t.Fatalf("make: %v", err)
	}
	notReady("another language")
	if err := other.Remove(ctx, tenant, "clinica"); err != nil {
		t.Fatalf("remove: %v", err)
	}
	if _, err := other.Make(ctx, knowledge.Base{Org: tenant, Name: "clinica", Language: "es", Model: model, Dim: 2}); err != nil {
		t.Fatalf("make: %v", err)
	}
	notReady("another base of the name")
	found()
	q.Vector, q.VectorsWeight = []float32{1, 0, 0}, 1
	want := retrieval.ErrMismatch{Base: "clinica", Holds: model, HoldsDim: 2, Got: model, GotDim: 3}
	if _, err := db.SearchLarge(ctx, q); !errors.Is(err, want) {
		t.Fatalf("search with a vector of another length: %v, want %v", err, want)
	}
}

// Bases that grow above a size are indexed without being told to, each once.
func TestKeepIndexed(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	db := open(t, url)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	told := make(chan string, 10)
	var keeping sync.WaitGroup
	for range 2 {
		other := open(t, url)
		keeping.Go(func() {
			err := other.KeepIndexed(ctx, 2, func(b knowledge.Base, _ time.Duration, err error) { told <- fmt.Sprint(b.Name, err) })
			if err != nil {
				t.Errorf("keep indexed: %v", err)
			}
		})
	}
	if _, err := db.Make(ctx, knowledge.Base{Org: tenant, Name: "clinica", Language: "es", Model: model, Dim: 2}); err != nil {
		t.Fatalf("make: %v", err)
	}
	put(t, db, piecesOf("a.md", [][]float32{{1, 0}, {0, 1}}, "Cuesta 320 euros.", "Cuesta 40 euros."))
	q := retrieval.LargeQuery{Org: tenant, Base: "clinica", Terms: []string{"cuest"}, WordsWeight: 1, K: 9}
	if _, err := db.SearchLarge(ctx, q); !errors.Is(err, retrieval.ErrNotReady{Base: "clinica"}) {
		t.Fatalf("search of a base that is small: %v", err)
	}
	put(t, db, piecesOf("b.md", [][]float32{{1, 0}}, "Cuesta 100 euros."))
	select {
	case got := <-told:
		if got != "clinica<nil>" {
			t.Fatalf("told %q", got)
		}
	case <-t.Context().Done():
		t.Fatal("not indexed")
	}
	if hits := search(t, db, q); len(hits) != 3 {
		t.Fatalf("%d hits, want 3", len(hits))
	}
	cancel()
	keeping.Wait()
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// A base of 50,000 is searched by walking the graph of its vectors and the index
// of its words: neither its rows nor its vectors are read one by one.
func TestLargeBaseIsWalked(t *testing.T) {
	t.Parallel()
	db := open(t, migrated(t))
	h := newHill(5, 200)
	fill(t, db, tenant, "docs", 50_000, h)
	q := both(tenant, "docs", h.vector(), 8, "palabra12", "palabra340")
	plan, err := db.ExplainLarge(t.Context(), q)
	if err != nil {
		t.Fatalf("explain: %v", err)
	}
	whole := strings.Join(plan, "\n")
	for _, want := range []string{"_vectors on large_", "_words on large_"} {
		if !slices.ContainsFunc(plan, func(line string) bool {
			return strings.Contains(line, "Index Scan using") && strings.Contains(line, want)
		}) {
			t.Fatalf("plan has no index scan with %q:\n%s", want, whole)
		}
	}
	for _, line := range plan {
		if strings.Contains(line, "Seq Scan on large_") && !strings.Contains(line, "never executed") {
			t.Fatalf("plan reads every row: %s\n%s", line, whole)
		}
	}
	// What the graph finds is what there is: nearest of all, by comparing all.
	all := readBase(t, db, tenant, "docs")
	missed := 0
	for range 20 {
		q := both(tenant, "docs", h.vector(), 10)
		hits := search(t, db, q)
		if len(hits) != 10 {
			t.Fatalf("%d hits, want 10", len(hits))
		}
		nearest := all.nearest(q.Vector, 10)
		for _, h := range hits {
			if !slices.Contains(nearest, h.Chunk.ID) {
				missed++
			}
		}
	}
	if missed > 10 { // of 200
		t.Fatalf("the graph missed %d of the 200 nearest", missed)
	}
}

// Without pg_textsearch words are ranked another way, and it is said.
func TestWithoutTextSearch(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	db := open(t, url)
	if s, err := db.Status(t.Context()); err != nil || !strings.Contains(s.Words(), "BM25") {
		t.Fatalf("status with pg_textsearch: %+v, %v", s, err)
	}
	if err := db.DropTextSearch(t.Context()); err != nil {
		t.Fatalf("drop pg_textsearch: %v", err)
	}
	if s, err := db.Status(t.Context()); err != nil || !strings.Contains(s.Words(), "ts_rank_cd") {
		t.Fatalf("status without: %+v, %v", s, err)
	}
	small(t, db)
	hits := search(t, db, retrieval.LargeQuery{
		Org: tenant, Base: "clinica", Terms: spanish.Terms("¿Cuánto cuesta la resonancia?"), Vector: []float32{1, 0},
		Weak: 0.3, WordsWeight: 1, VectorsWeight: 1, K: 2,
	})
	if diff := cmp.Diff([]string{"a.md#0", "a.md#1"}, ids(hits)); diff != "" {
		t.Fatalf("hits (-want +got):\n%s", diff)
	}
	put(t, db, piecesOf("b.md", [][]float32{{0, 1}}, "La ecografía."))
	if hits := search(t, db, retrieval.LargeQuery{Org: tenant, Base: "clinica", Terms: spanish.Terms("ecografía"), WordsWeight: 1, K: 2}); len(hits) != 1 {
		t.Fatalf("%d hits for a word that came later", len(hits))
	}
	// It is installed meanwhile: the next indexing ranks by it.
	for range 2 {
		if err := db.Index(t.Context(), tenant, "clinica"); err != nil {
			t.Fatalf("index again: %v", err)
		}
		if _, err := postgres.Migrate(t.Context(), url); err != nil {
			t.Fatalf("migrate: %v", err)
		}
	}
	hits = search(t, db, retrieval.LargeQuery{Org: tenant, Base: "clinica", Terms: spanish.Terms("ecografía"), WordsWeight: 1, K: 2})
	seg := restored(t, db, tenant, "clinica")
	want := rankedBy(t, seg, fixed{2, []float32{0, 1}}, "ecografía", 1)[0].Hit.BM25
	if len(hits) != 1 || math.Abs(hits[0].BM25-want) > 1e-3 {
		t.Fatalf("hits %+v, want one with BM25 %v", hits, want)
	}
}

// BenchmarkSearchLarge is a search of 2,000 chunks by one statement.
func BenchmarkSearchLarge(b *testing.B) {
	b.ReportAllocs()
	db, h := open(b, migrated(b)), newHill(9, 50)
	fill(b, db, tenant, "docs", 2000, h)
	q := both(tenant, "docs", h.vector(), 8, "palabra12", "palabra340")
	for b.Loop() {
		if hits := search(b, db, q); len(hits) != 8 {
			b.Fatalf("%d hits", len(hits))
		}
	}
}

// Whatever the terms, PostgreSQL's parser finds the same ones in what they are
// spelt as.
func TestSpell(t *testing.T) {
	t.Parallel()
	db := open(t, migrated(t))
	terms := []string{"resonancia", "204", "ax204", "1e5x", "12e3e4", "3e2e", "1e5", "00123", "ñandu", "straße", "中文", "กา", "x", "7",
		"0x1f", "e5", "ǅ", "i̇", "ⅷ", "²", strings.Repeat("a", 300)}
	for _, term := range terms {
		lexemes, err := db.Lexemes(t.Context(), postgres.Spell([]string{term}))
		if err != nil || len(lexemes) != 1 {
			t.Fatalf("%q is spelt %q and read as %q, %v", term, postgres.Spell([]string{term}), lexemes, err)
		}
	}
	lexemes, err := db.Lexemes(t.Context(), postgres.Spell(terms))
	if err != nil || len(lexemes) != len(terms) {
		t.Fatalf("%d terms are read as %d: %q, %v", len(terms), len(lexemes), lexemes, err)
	}
	if got := postgres.Spell([]string{"", strings.Repeat("ñ", 1000)}); got != "" {
		t.Fatalf("what PostgreSQL ignores is spelt %q", got)
	}
}
