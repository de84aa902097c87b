package retrieval

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func randomList(r *rand.Rand, n int) []candidate {
	var list []candidate
	for range n {
		list = append(list, candidate{score: float64(r.IntN(6)), id: fmt.Sprintf("c%02d", r.IntN(40))})
	}
	return rank(list)
}

// TestFuse holds what fusion promises, over random lists.
func TestFuse(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 5))
		a, b := randomList(r, r.IntN(60)), randomList(r, r.IntN(60))
		fused := fuse(branch{a, 1}, branch{b, 0.5})
		want := make(map[string]float64)
		for i, c := range a {
			want[c.id] += 1 / float64(61+i)
		}
		for i, c := range b {
			want[c.id] += 0.5 / float64(61+i)
		}
		if len(fused) != len(want) {
			t.Fatalf("seed %d: %d fused of %d", seed, len(fused), len(want))
		}
		if len(fused) > 0 && fused[0].score != 1 {
			t.Fatalf("seed %d: the best is %v", seed, fused[0].score)
		}
		for i, c := range fused {
			if c.score != want[c.id]/want[fused[0].id] {
				t.Fatalf("seed %d: %s has %v", seed, c.id, c.score)
			}
			if i > 0 && better(fused[i-1], c) >= 0 {
				t.Fatalf("seed %d: %v stands before %v", seed, fused[i-1], c)
			}
		}
	}
}

// TestFuseOfOneBranch: with one branch, fusion keeps its order, so whoever keeps
// rank n keeps 1 to n-1.
func TestFuseOfOneBranch(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	list := randomList(r, 50)
	name := func(c candidate) string { return c.id }
	if d := cmp.Diff(collect(list, name), collect(fuse(branch{list, 0.05}), name)); d != "" {
		t.Fatal(d)
	}
}

func collect[T, U any](list []T, f func(T) U) []U {
	var out []U
	for _, x := range list {
		out = append(out, f(x))
	}
	return out
}

// TestTop holds the bounded list against sorting everything.
func TestTop(t *testing.T) {
	t.Parallel()
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 6))
		all := make([]candidate, r.IntN(200))
		best := newTop(1 + r.IntN(40))
		for i := range all {
			all[i] = candidate{score: float64(r.IntN(9)), id: fmt.Sprintf("%03d", i)}
		}
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		for _, c := range all {
			best.offer(c)
		}
		slices.SortFunc(all, better)
		if d := cmp.Diff(all[:min(len(all), best.limit)], best.list, cmp.AllowUnexported(candidate{})); d != "" && len(all) > 0 {
			t.Fatalf("seed %d:\n%s", seed, d)
		}
	}
}

func TestDot(t *testing.T) {
	t.Parallel()
	for n := range 40 {
		a, b, want := make([]float32, n), make([]float32, n), float32(0)
		for i := range n {
			a[i], b[i] = float32(i%7-3), float32(i%5-2)
			want += a[i] * b[i]
		}
		if got := dot(a, b); got != want { // small integers: exact in any order
			t.Fatalf("length %d: %v, want %v", n, got, want)
		}
	}
}
