package postgres_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"headstart/retrieval"
	"headstart/store/postgres"
)

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
