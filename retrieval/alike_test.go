package retrieval_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headstart/retrieval"
)

// words are n different words from the nth on.
func manyWords(from, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = benchWord(from + i)
	}
	return list
}

func TestAlike(t *testing.T) {
	t.Parallel()
	long := strings.Join(manyWords(0, 120), " ")
	changed := manyWords(0, 120)
	changed[60] = "otra"
	twice := manyWords(0, 120)
	twice[30], twice[90] = "otra", "más"
	cases := []struct {
		name, a, b string
		want       []string // what is kept; a ranks first
	}{
		{"the same", long, long, []string{"a"}},
		{"case, accents and marks", "La Revisión, cuesta sesenta euros", "la revision cuesta: sesenta euros", []string{"a"}},
		{"one word of 120", long, strings.Join(changed, " "), []string{"a"}},
		{"two words of 120", long, strings.Join(twice, " "), []string{"a", "b"}},
		{"another year", long + " precio de 2025", long + " precio de 2026", []string{"a", "b"}},
		{"another price", long + " 1.250 euros", long + " 12.50 euros", []string{"a", "b"}},
		{"a number more", long, long + " 7", []string{"a", "b"}},
		{"numbers change places", "9 lunes " + long + " 10 martes", "10 lunes " + long + " 9 martes", []string{"a", "b"}},
		{"short and the same", "Hola", "hola.", []string{"a"}},
		{"short and not", "Abrimos a las ocho", "Abrimos a las nueve", []string{"a", "b"}},
		{"without words", "—", "…", []string{"a"}},
	}
	for _, c := range cases {
		got := retrieval.Distinct(map[string]string{"a": c.a, "b": c.b}, map[string]float64{"a": 1, "b": 0.5})
		if d := cmp.Diff(c.want, got); d != "" {
			t.Fatalf("%s (-want +got):\n%s", c.name, d)
		}
	}
}

// TestDistinct: what is kept is of the ranking alone, whatever the order in which
// it came; keeping again keeps all of it; what is not kept is like a better one.
func TestDistinct(t *testing.T) {
	t.Parallel()
	collapsed := 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 21))
		texts, scores := map[string]string{}, map[string]float64{}
		for i := range 2 + r.IntN(12) {
			text := manyWords(200*r.IntN(2), 100)
			for range r.IntN(3) {
				text[r.IntN(len(text))] = []string{"otra", "2025", "2026"}[r.IntN(3)]
			}
			id := fmt.Sprintf("c%02d", i)
			texts[id], scores[id] = strings.Join(text, " "), float64(r.IntN(4))
		}
		kept := retrieval.Distinct(texts, scores)
		for range 3 { // each walks its maps in another order
			if d := cmp.Diff(kept, retrieval.Distinct(texts, scores)); d != "" {
				t.Fatalf("seed %d: %s", seed, d)
			}
		}
		again := maps.Clone(texts)
		maps.DeleteFunc(again, func(id, _ string) bool { return !strings.Contains(strings.Join(kept, " "), id) })
		if d := cmp.Diff(kept, retrieval.Distinct(again, scores)); d != "" {
			t.Fatalf("seed %d: kept again:\n%s", seed, d)
		}
		collapsed += len(texts) - len(kept)
	}
	if collapsed < 100 {
		t.Fatalf("only %d collapsed: nothing was held", collapsed)
	}
}

// TestJaccard holds the early stop against counting sets.
func TestJaccard(t *testing.T) {
	t.Parallel()
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 22))
		text := manyWords(0, 1+r.IntN(80))
		other := append([]string{}, text...)
		for range r.IntN(4) {
			other[r.IntN(len(other))] = "otra"
		}
		least := []float64{0.5, 0.9, 1}[r.IntN(3)]
		got, a, b := retrieval.Jaccard(strings.Join(text, " "), strings.Join(other, " "), least)
		union := map[uint64]int{}
		for _, x := range append(append([]uint64{}, a...), b...) {
			union[x]++
		}
		shared := len(a) + len(b) - len(union)
		if got && least == 0.9 && !retrieval.MayBeLike(strings.Join(text, " "), strings.Join(other, " ")) {
			t.Fatalf("seed %d: prints part what is alike", seed)
		}
		if want := float64(shared)/float64(len(union)) >= least; got != want {
			t.Fatalf("seed %d: %d of %d at %v is %v", seed, shared, len(union), least, got)
		}
	}
}

// TestPrints: texts of other words are told apart without their shingles.
func TestPrints(t *testing.T) {
	t.Parallel()
	for _, n := range []int{5, 20, 100, 270} {
		if retrieval.MayBeLike(strings.Join(manyWords(0, n), " "), strings.Join(manyWords(n, n), " ")) {
			t.Fatalf("%d words: the prints leave it open", n)
		}
	}
}
