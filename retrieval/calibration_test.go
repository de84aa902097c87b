package retrieval_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headstart/retrieval"
	"headstart/retrieval/chunk"
)

// pages makes one chunk a text, each in a file of its own, with its vector.
func pages(base string, texts ...string) []chunk.Chunk {
	var list []chunk.Chunk
	for i, text := range texts {
		list = append(list, chunk.Chunk{ID: base + string(rune('a'+i)), Path: base + string(rune('a'+i)) + ".md", Text: text})
	}
	return list
}

// restored is a base of two dimensions: the first of the question, the second of
// nothing that is asked.
func restored(t *testing.T, base string, chunks []chunk.Chunk, cosines ...float32) *retrieval.Segment {
	t.Helper()
	var vectors []float32
	for _, c := range cosines {
		vectors = append(vectors, c, 1-c)
	}
	seg, err := retrieval.Restore(base, "es", "plane", 2, chunks, vectors)
	if err != nil {
		t.Fatal(err)
	}
	return seg
}

// plane embeds every question along the first dimension.
var plane = fake{"plane", 2, 1, func(_ context.Context, texts []string) ([][]float32, error) {
	return slices.Repeat([][]float32{{1, 0}}, len(texts)), nil
}}

func found(t *testing.T, q retrieval.Query, segments ...*retrieval.Segment) retrieval.Result {
	t.Helper()
	var lib retrieval.Library
	q.Bases = nil
	for _, seg := range segments {
		lib.Put("org", seg)
		q.Bases = append(q.Bases, retrieval.Attachment{Base: seg.Base()})
	}
	r, err := retrieval.NewSearcher(&lib, plane).Search(t.Context(), q)
	if err != nil || r.Degraded != nil {
		t.Fatal(err, r.Degraded)
	}
	return r
}

// TestCalibratedWeights: of a chunk that leads the words and one that leads the
// vectors, the weights of their base decide.
func TestCalibratedWeights(t *testing.T) {
	t.Parallel()
	seg := restored(t, "b", pages("b", "parking gratuito", "coche fuera"), 0.1, 0.9)
	cases := []struct {
		words, vectors float64
		want           []string
	}{
		{1, 2, []string{"bb", "ba"}},
		{2, 1, []string{"ba", "bb"}},
		{0, 1, []string{"bb"}},
		{3, 0, []string{"ba"}},
		{1, 1, []string{"ba", "bb"}}, // a tie, by id
	}
	for _, c := range cases {
		one := seg.Calibrated(&retrieval.Calibration{Embedder: "plane", Dim: 2, Strong: 0.5, Weak: 0.3, WordsWeight: c.words, VectorsWeight: c.vectors})
		r := found(t, ask("parking"), one)
		if d := cmp.Diff(c.want, ids(r)); d != "" {
			t.Fatalf("%v and %v (-want +got):\n%s", c.words, c.vectors, d)
		}
		if asked := slices.Contains(r.Branches, retrieval.Vectors); asked != (c.vectors > 0) {
			t.Fatalf("weight %v, branches %v", c.vectors, r.Branches)
		}
	}
}

// TestCalibratedCutOffs: each base is judged by its own, and the strongest counts.
func TestCalibratedCutOffs(t *testing.T) {
	t.Parallel()
	cut := func(seg *retrieval.Segment, strong, weak float64) *retrieval.Segment {
		return seg.Calibrated(&retrieval.Calibration{Embedder: "plane", Dim: 2, Strong: strong, Weak: weak, WordsWeight: 1, VectorsWeight: 1})
	}
	a := restored(t, "a", pages("a", "uno"), 0.6) // cosine 0.83
	b := restored(t, "b", pages("b", "dos"), 0.5) // cosine 0.71
	none, strong := cut(a, 0.95, 0.9), cut(b, 0.7, 0.5)
	r := found(t, ask("zeta"), none, strong)
	if d := cmp.Diff([]string{"ba"}, ids(r)); d != "" || r.Evidence != retrieval.EvidenceStrong || r.Cosine < 0.8 {
		t.Fatalf("evidence %s at %v (-want +got):\n%s", r.Evidence, r.Cosine, d)
	}
	if r := found(t, ask("zeta"), none); len(r.Passages) != 0 || r.Evidence != retrieval.EvidenceNone {
		t.Fatalf("below its cut-off: %+v", r)
	}
}

// TestBasesWeighTheSame: a chunk that leads both branches of its base is not worth
// more because its calibration has larger numbers.
func TestBasesWeighTheSame(t *testing.T) {
	t.Parallel()
	a := restored(t, "a", pages("a", "parking uno"), 0.6)
	b := restored(t, "b", pages("b", "parking dos"), 0.6)
	loud := &retrieval.Calibration{Embedder: "plane", Dim: 2, Strong: 0.5, Weak: 0.3, WordsWeight: 50, VectorsWeight: 50}
	r := found(t, ask("parking"), a, b.Calibrated(loud))
	if d := cmp.Diff([]string{"aa", "ba"}, ids(r)); d != "" {
		t.Fatalf("(-want +got):\n%s", d)
	}
}

func TestCalibrationIsOfItsEmbedder(t *testing.T) {
	t.Parallel()
	seg := restored(t, "b", pages("b", "parking"), 0.5)
	good := retrieval.Calibration{Embedder: "plane", Dim: 2, Strong: 0.5, Weak: 0.3, WordsWeight: 1, VectorsWeight: 1}
	if d := cmp.Diff(&good, seg.Calibrated(&good).Calibration()); d != "" || seg.Calibration() != nil {
		t.Fatalf("kept:\n%s", d)
	}
	bad := []func(*retrieval.Calibration){
		func(c *retrieval.Calibration) { c.Embedder = "other" },
		func(c *retrieval.Calibration) { c.Dim = 3 },
		func(c *retrieval.Calibration) { c.Weak = 0.6 },
		func(c *retrieval.Calibration) { c.WordsWeight, c.VectorsWeight = 0, 0 },
		func(c *retrieval.Calibration) { c.WordsWeight = -1 },
	}
	for i, spoil := range bad {
		c := good
		spoil(&c)
		if got := seg.Calibrated(&c).Calibration(); got != nil {
			t.Fatalf("case %d keeps %+v", i, got)
		}
	}
	if seg.Calibrated(&good).Calibrated(nil).Calibration() != nil {
		t.Fatal("not taken away")
	}
}

// TestRestore: what is restored from stored vectors is what was built.
func TestRestore(t *testing.T) {
	t.Parallel()
	chunks := pages("b", "parking gratuito", "coche fuera", "nada", "parking de pago")
	slices.Reverse(chunks)
	seg := restored(t, "b", append(chunks, chunks[0]), 0.4, 0.3, 0.9, 0.1, 0.7)
	built, err := retrieval.Build(t.Context(), "b", "es", chunks, fake{"plane", 2, 1, func(_ context.Context, texts []string) ([][]float32, error) {
		cosines := map[string]float32{"parking gratuito": 0.1, "coche fuera": 0.9, "nada": 0.3, "parking de pago": 0.4}
		var list [][]float32
		for _, text := range texts {
			list = append(list, []float32{cosines[text], 1 - cosines[text]})
		}
		return list, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	want, got := found(t, ask("parking"), built), found(t, ask("parking"), seg)
	want.EmbedTook, got.EmbedTook = 0, 0
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("(-built +restored):\n%s", d)
	}
	if _, err := retrieval.Restore("b", "es", "plane", 2, chunks, make([]float32, 7)); err == nil {
		t.Fatal("7 numbers for 4 chunks of 2 dimensions were taken")
	}
}

// TestLateSkip: one base that says so gives up the search.
func TestLateSkip(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	broken := fake{"plane", 2, 1, func(context.Context, []string) ([][]float32, error) { return nil, down }}
	var lib retrieval.Library
	lib.Put("org", restored(t, "a", pages("a", "parking"), 0.5))
	lib.Put("org", restored(t, "b", pages("b", "parking"), 0.5))
	s := retrieval.NewSearcher(&lib, broken)
	words, err := s.Search(t.Context(), ask("parking", retrieval.Attachment{Base: "a"}, retrieval.Attachment{Base: "b"}))
	if err != nil || !errors.Is(words.Degraded, down) || len(words.Passages) == 0 {
		t.Fatalf("%+v, %v", words, err)
	}
	_, err = s.Search(t.Context(), ask("parking", retrieval.Attachment{Base: "a"}, retrieval.Attachment{Base: "b", Late: retrieval.LateSkip}))
	if late, ok := errors.AsType[retrieval.ErrLate](err); !ok || late.Base != "b" || !errors.Is(err, down) {
		t.Fatalf("gave up with %v", err)
	}
}

func TestQueryK(t *testing.T) {
	t.Parallel()
	seg := restored(t, "b", pages("b", "parking uno", "parking dos", "parking tres"), 0.5, 0.5, 0.5)
	for k, want := range map[int]int{0: 3, 1: 1, 2: 2, 9: 3} {
		q := ask("parking")
		q.K = k
		if r := found(t, q, seg); len(r.Passages) != want {
			t.Fatalf("k %d gives %d", k, len(r.Passages))
		}
	}
}
