package beir_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"headstart/retrieval/beir"
)

// near takes figures that were computed by hand to six places.
var near = cmpopts.EquateApprox(0, 5e-7)

// falling makes a ranking of ids in their order.
func falling(ids ...string) []beir.Found {
	var list []beir.Found
	for i, id := range ids {
		list = append(list, beir.Found{ID: id, Score: float64(len(ids) - i)})
	}
	return list
}

// after puts n documents that nobody judged before others.
func after(n int, ids ...string) []beir.Found {
	all := make([]string, n)
	for i := range all {
		all[i] = string(rune('A'+i/26)) + string(rune('a'+i%26))
	}
	return falling(append(all, ids...)...)
}

func TestScore(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name    string
		judged  map[string]int
		ranking []beir.Found
		want    beir.Scores
	}{
		{"the only one, first", map[string]int{"a": 1}, falling("a", "b"), beir.Scores{NDCG10: 1, Recall10: 1, Recall100: 1, MRR: 1}},
		{"the only one, second: 1/log2(3)", map[string]int{"a": 1}, falling("b", "a"), beir.Scores{NDCG10: 0.630930, Recall10: 1, Recall100: 1, MRR: 0.5}},
		{"two of three, first and third: (1+1/2)/(1+0.630930+1/2)", map[string]int{"a": 1, "b": 1, "c": 1}, falling("a", "x", "b"),
			beir.Scores{NDCG10: 0.703918, Recall10: 0.666667, Recall100: 0.666667, MRR: 1}},
		{"the gain is the judgement: (1+3/log2(3))/(3+1/log2(3))", map[string]int{"a": 3, "b": 1}, falling("b", "a"),
			beir.Scores{NDCG10: 0.796708, Recall10: 1, Recall100: 1, MRR: 1}},
		{"judged as not relevant", map[string]int{"a": 0, "b": 1, "c": -1}, falling("a", "c", "b"), beir.Scores{NDCG10: 0.5, Recall10: 1, Recall100: 1, MRR: 0.333333}},
		{"tenth: 1/log2(11)", map[string]int{"z": 1}, after(9, "z"), beir.Scores{NDCG10: 0.289065, Recall10: 1, Recall100: 1, MRR: 0.1}},
		{"eleventh", map[string]int{"z": 1}, after(10, "z"), beir.Scores{Recall100: 1, MRR: 0.090909}},
		{"hundredth", map[string]int{"z": 1}, after(99, "z"), beir.Scores{Recall100: 1, MRR: 0.01}},
		{"hundred and first", map[string]int{"z": 1}, after(100, "z"), beir.Scores{MRR: 0.009901}},
		{"more relevant than places: the ideal is cut too", map[string]int{"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1, "g": 1, "h": 1, "i": 1, "j": 1, "k": 1, "l": 1},
			falling("a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"), beir.Scores{NDCG10: 1, Recall10: 0.833333, Recall100: 0.916667, MRR: 1}},
		{"what the corpus lacks counts all the same", map[string]int{"a": 1, "gone": 1}, falling("a"), beir.Scores{NDCG10: 0.613147, Recall10: 0.5, Recall100: 0.5, MRR: 1}},
		{"of equal scores the greater id first", map[string]int{"a": 1}, []beir.Found{{"a", 2}, {"b", 2}, {"c", 1}}, beir.Scores{NDCG10: 0.630930, Recall10: 1, Recall100: 1, MRR: 0.5}},
		{"ids are compared as bytes", map[string]int{"10": 1}, []beir.Found{{"10", 1}, {"9", 1}}, beir.Scores{NDCG10: 0.630930, Recall10: 1, Recall100: 1, MRR: 0.5}},
		{"by score, whatever the order", map[string]int{"a": 1}, []beir.Found{{"b", 1}, {"a", 5}}, beir.Scores{NDCG10: 1, Recall10: 1, Recall100: 1, MRR: 1}},
		{"nothing found", map[string]int{"a": 1}, nil, beir.Scores{}},
		{"nothing relevant", map[string]int{"a": 0}, falling("a"), beir.Scores{}},
		{"not judged", nil, falling("a"), beir.Scores{}},
	}
	for _, c := range cases {
		if d := cmp.Diff(c.want, beir.Score(c.judged, c.ranking), near); d != "" {
			t.Fatalf("%s (-want +got):\n%s", c.name, d)
		}
	}
}

func TestMean(t *testing.T) {
	t.Parallel()
	got := beir.Mean([]beir.Scores{{NDCG10: 1, Recall10: 0.5, Recall100: 1, MRR: 1}, {}, {NDCG10: 0.5, Recall10: 1, Recall100: 1, MRR: 0.2}})
	if d := cmp.Diff(beir.Scores{NDCG10: 0.5, Recall10: 0.5, Recall100: 0.666667, MRR: 0.4}, got, near); d != "" {
		t.Fatalf("(-want +got):\n%s", d)
	}
	if d := cmp.Diff(beir.Scores{}, beir.Mean(nil)); d != "" {
		t.Fatalf("of none (-want +got):\n%s", d)
	}
}

// TestScoreProperties: scores stay between 0 and 1, a better order never scores
// less, and the order of the list says nothing.
func TestScoreProperties(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 5))
		judged := map[string]int{}
		var list []beir.Found
		for i := range 1 + r.IntN(30) {
			id := string(rune('a'+i%26)) + string(rune('a'+i/26))
			if r.IntN(3) == 0 {
				judged[id] = r.IntN(4)
			}
			list = append(list, beir.Found{ID: id, Score: float64(i)})
		}
		got := beir.Score(judged, list)
		for _, s := range []float64{got.NDCG10, got.Recall10, got.Recall100, got.MRR} {
			if s < 0 || s > 1+1e-12 || math.IsNaN(s) {
				t.Fatalf("seed %d: %+v", seed, got)
			}
		}
		best := make([]beir.Found, len(list))
		for i, f := range list {
			best[i] = beir.Found{ID: f.ID, Score: float64(judged[f.ID])}
		}
		if b := beir.Score(judged, best); b.NDCG10 < got.NDCG10-1e-12 || b.MRR < got.MRR || b.Recall10 < got.Recall10 {
			t.Fatalf("seed %d: the best order scores %+v, another %+v", seed, b, got)
		}
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		if d := cmp.Diff(got, beir.Score(judged, list)); d != "" {
			t.Fatalf("seed %d: shuffled (-before +after):\n%s", seed, d)
		}
	}
}
