package retrieval_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"headstart/retrieval"
)

// randomList is up to n of forty ids, in any order, each once.
func randomList(r *rand.Rand, n int) []string {
	list := []string{}
	for _, i := range r.Perm(40)[:r.IntN(n+1)] {
		list = append(list, fmt.Sprintf("c%02d", i))
	}
	return list
}

// TestFuse holds fusion against its definition, over random lists.
func TestFuse(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 5))
		a, b, weight := randomList(r, 40), randomList(r, 40), []float64{1, 0.5, 0.05}[r.IntN(3)]
		want := make(map[string]float64)
		for i, id := range a {
			want[id] += 1 / float64(61+i)
		}
		for i, id := range b {
			want[id] += weight / float64(61+i)
		}
		var sorted []scored
		for id, score := range want {
			sorted = append(sorted, scored{id, score})
		}
		order(sorted)
		ids, scores := retrieval.Fuse(a, b, weight)
		if len(ids) != len(sorted) {
			t.Fatalf("seed %d: %d fused, want %d", seed, len(ids), len(sorted))
		}
		for i, s := range sorted {
			if ids[i] != s.id || scores[i] != s.score/sorted[0].score {
				t.Fatalf("seed %d: place %d is %s at %v, want %s at %v", seed, i+1, ids[i], scores[i], s.id, s.score/sorted[0].score)
			}
		}
	}
}

// TestFuseIsMonotone: a chunk that stands before another in both lists stands
// before it in the answer, so whoever keeps rank n keeps 1 to n-1.
func TestFuseIsMonotone(t *testing.T) {
	t.Parallel()
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 8))
		a, b := randomList(r, 40), randomList(r, 40)
		ids, _ := retrieval.Fuse(a, b, 0.5)
		before := func(list []string, x, y string) bool {
			i, j := slices.Index(list, x), slices.Index(list, y)
			return j < 0 || i >= 0 && i < j
		}
		for j, y := range ids {
			for _, x := range ids[j+1:] {
				if before(a, x, y) && before(b, x, y) && (slices.Contains(a, x) || slices.Contains(b, x)) {
					t.Fatalf("seed %d: %s leads %s in both lists and follows it", seed, x, y)
				}
			}
		}
		alone, _ := retrieval.Fuse(a, nil, 1)
		if d := gocmp.Diff(a, append([]string{}, alone...)); d != "" {
			t.Fatalf("seed %d: fusion reorders one list:\n%s", seed, d)
		}
	}
}

// TestTop holds the bounded list against sorting everything.
func TestTop(t *testing.T) {
	t.Parallel()
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 6))
		all := make([]scored, r.IntN(200))
		for i := range all {
			all[i] = scored{fmt.Sprintf("%03d", i), float64(r.IntN(9))}
		}
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		var ids []string
		var scores []float64
		for _, s := range all {
			ids, scores = append(ids, s.id), append(scores, s.score)
		}
		limit := 1 + r.IntN(40)
		got := retrieval.Top(limit, ids, scores)
		slices.SortFunc(all, func(a, b scored) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.id, b.id)) })
		want := []string{}
		for _, s := range all[:min(limit, len(all))] {
			want = append(want, s.id)
		}
		if d := gocmp.Diff(want, got); d != "" {
			t.Fatalf("seed %d:\n%s", seed, d)
		}
	}
}
