package retrieval_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"headstart/retrieval"
	"headstart/retrieval/chunk"
)

// stores is a Large of several bases, and what it was asked.
type stores struct {
	bases map[string]retrieval.LargeOf
	took  time.Duration
	err   error
	fails func(retrieval.LargeQuery) bool // nil for all, when err is set
}

func (s stores) SearchLarge(ctx context.Context, q retrieval.LargeQuery) ([]retrieval.LargeHit, error) {
	if s.took > 0 {
		select {
		case <-time.After(s.took):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if s.err != nil && (s.fails == nil || s.fails(q)) {
		return nil, s.err
	}
	return s.bases[q.Base].SearchLarge(ctx, q)
}

func built(t *testing.T, base string, chunks []chunk.Chunk, e retrieval.Embedder) *retrieval.Segment {
	t.Helper()
	seg, err := retrieval.Build(t.Context(), base, "simple", chunks, e)
	if err != nil {
		t.Fatal(err)
	}
	return seg
}

// largeLibrary knows a segment's base as large, and answers for it.
func largeLibrary(lib *retrieval.Library, seg *retrieval.Segment, language string) retrieval.LargeOf {
	model, dim := seg.Model()
	lib.PutLarge("org", retrieval.LargeBase{Name: seg.Base(), Language: language, Model: model, Dim: dim, Calibration: seg.Calibration()})
	return retrieval.LargeOf{Segment: seg}
}

// TestLargeIsAsInMemory: a base finds the same passages with the same marks wherever
// it is kept, with the turns before the question too.
func TestLargeIsAsInMemory(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 41))
		c := newCorpus(r, 1+r.IntN(500))
		e := c.embedder(randomVector(r))
		seg := built(t, "b", c.chunks, e)
		if model, dim := seg.Model(); seed%3 == 0 {
			seg = seg.Calibrated(&retrieval.Calibration{Embedder: model, Dim: dim, Strong: 0.9, Weak: 0.1, WordsWeight: 1, VectorsWeight: 3})
		}
		var held, kept retrieval.Library
		held.Put("org", seg)
		s := retrieval.NewSearcher(&kept, e).WithLarge(stores{bases: map[string]retrieval.LargeOf{"b": largeLibrary(&kept, seg, "simple")}})
		q := ask(randomWords(r, 5), retrieval.Attachment{Base: "b", K: 100})
		if seed%2 == 0 {
			q.Before = []string{randomWords(r, 4)}
		}
		want, err := retrieval.NewSearcher(&held, e).Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Search(t.Context(), q)
		if err != nil || got.Degraded != nil {
			t.Fatal(err, got.Degraded)
		}
		if d := cmp.Diff(ids(want), ids(got)); d != "" || got.Evidence != want.Evidence && !want.Followed || got.Followed != want.Followed {
			t.Fatalf("seed %d: evidence %s, want %s (-held +kept):\n%s", seed, got.Evidence, want.Evidence, d)
		}
		for i, p := range want.Passages {
			w, g := p.Hits[0], got.Passages[i].Hits[0]
			if !want.Followed && (w.BM25-g.BM25 > 1e-9 || g.BM25-w.BM25 > 1e-9 || w.Cosine != g.Cosine || w.Score-g.Score > 1e-9) {
				t.Fatalf("seed %d: held %+v, kept %+v", seed, w, g)
			}
		}
	}
}

// TestOneFusion: of chunks shared between memory and a store, the vectors give the
// order that one base gives.
func TestOneFusion(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 42))
		c := newCorpus(r, 2+r.IntN(retrieval.Pool-2))
		e := c.embedder(randomVector(r))
		cut := r.IntN(len(c.chunks))
		var one, two retrieval.Library
		putChunks(t, &one, "all", c.chunks, e)
		putChunks(t, &two, "held", c.chunks[:cut], e)
		kept := largeLibrary(&two, built(t, "kept", c.chunks[cut:], e), "simple")
		want, err := retrieval.NewSearcher(&one, e).Search(t.Context(), ask("nada", retrieval.Attachment{Base: "all", K: 50}))
		if err != nil {
			t.Fatal(err)
		}
		got, err := retrieval.NewSearcher(&two, e).WithLarge(stores{bases: map[string]retrieval.LargeOf{"kept": kept}}).
			Search(t.Context(), ask("nada", retrieval.Attachment{Base: "kept", K: 50}, retrieval.Attachment{Base: "held", K: 50}))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(ids(want), ids(got)); d != "" || got.Evidence != want.Evidence || len(got.Passages) > 0 && got.Cosine != want.Cosine {
			t.Fatalf("seed %d: %s %v, want %s %v (-one +two):\n%s", seed, got.Evidence, got.Cosine, want.Evidence, want.Cosine, d)
		}
	}
}

// TestLargeSections: what stands around a hit is read with it, and nothing that was
// not given.
func TestLargeSections(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("# Tarifas\n")
	for i := range 9 {
		fmt.Fprintf(&text, "Párrafo %s: %s parte%c.\n\n", benchWord(i), strings.Repeat("palabra ", 200), 'a'+i)
	}
	chunks := chunk.Split("t.md", text.String())
	seg := built(t, "b", chunks, nil)
	var held, kept retrieval.Library
	held.Put("org", seg)
	s := retrieval.NewSearcher(&kept, nil).WithLarge(stores{bases: map[string]retrieval.LargeOf{"b": largeLibrary(&kept, seg, "simple")}})
	for i := range 9 {
		q := ask(fmt.Sprintf("parte%c", 'a'+i), retrieval.Attachment{Base: "b"})
		want, err := retrieval.NewSearcher(&held, nil).Search(t.Context(), q)
		if err != nil || len(want.Passages) != 1 {
			t.Fatal(err, want.Passages)
		}
		got, err := s.Search(t.Context(), q)
		if d := cmp.Diff(want.Passages, got.Passages); d != "" || err != nil {
			t.Fatalf("%s: %v (-held +kept):\n%s", q.Text, err, d)
		}
	}
	// The first and the last of a section, and not what is between.
	r, err := s.Search(t.Context(), ask("partea partei", retrieval.Attachment{Base: "b"}))
	if err != nil || len(r.Passages) != 2 {
		t.Fatalf("%d passages, %v", len(r.Passages), err)
	}
}

// TestLargeFails: a store that breaks or is late costs only what it holds.
func TestLargeFails(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	r := rand.New(rand.NewPCG(1, 43))
	c := newCorpus(r, 60)
	e := c.embedder(randomVector(r))
	asks := c.chunks[3].Text
	seg := built(t, "kept", c.chunks[30:], e)
	cases := []struct {
		name     string
		store    stores
		bases    []string
		err      error
		degraded bool
		branches int
	}{
		{"alone and down", stores{err: down}, []string{"kept"}, down, true, 0},
		{"down beside another", stores{err: down}, []string{"kept", "held"}, nil, true, 2},
		{"its vectors fail", stores{err: down, fails: func(q retrieval.LargeQuery) bool { return q.Vector != nil }}, []string{"kept"}, nil, true, 1},
		{"its words alone fail", stores{err: down, fails: func(q retrieval.LargeQuery) bool { return q.Vector == nil }}, []string{"kept"}, nil, false, 2},
		{"not known", stores{}, []string{"other"}, retrieval.ErrNotReady{Base: "other"}, false, 0},
	}
	for _, tt := range cases {
		var lib retrieval.Library
		putChunks(t, &lib, "held", c.chunks[:30], e)
		tt.store.bases = map[string]retrieval.LargeOf{"kept": largeLibrary(&lib, seg, "simple")}
		var bases []retrieval.Attachment
		for _, b := range tt.bases {
			bases = append(bases, retrieval.Attachment{Base: b})
		}
		got, err := retrieval.NewSearcher(&lib, e).WithLarge(tt.store).Search(t.Context(), ask(asks, bases...))
		if !errors.Is(err, tt.err) || err == nil && (len(got.Passages) == 0 || (got.Degraded != nil) != tt.degraded || len(got.Branches) != tt.branches) {
			t.Fatalf("%s: %+v, %v", tt.name, got, err)
		}
		if _, err := retrieval.NewSearcher(&lib, e).Search(t.Context(), ask(asks, retrieval.Attachment{Base: "kept"})); !errors.Is(err, retrieval.ErrNotReady{Base: "kept"}) {
			t.Fatalf("without a store: %v", err)
		}
	}
}

// TestLargeWordsAlone: when the embedder is late the store has answered for the words.
func TestLargeWordsAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCorpus(rand.New(rand.NewPCG(1, 44)), 60)
		seg := built(t, "kept", c.chunks, c.embedder(make([]float32, 11)))
		slow := fake{"table", 11, 1, func(ctx context.Context, _ []string) ([][]float32, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		var lib retrieval.Library
		store := stores{took: 20 * time.Millisecond, bases: map[string]retrieval.LargeOf{"kept": largeLibrary(&lib, seg, "simple")}}
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(250*time.Millisecond, func() { cancel(retrieval.ErrBudgetSpent) })
		began := time.Now()
		r, err := retrieval.NewSearcher(&lib, slow).WithLarge(store).Search(ctx, ask(c.chunks[3].Text, retrieval.Attachment{Base: "kept"}))
		if time.Since(began) != 250*time.Millisecond || err != nil || r.Degraded == nil || len(r.Passages) == 0 || len(r.Branches) != 1 {
			t.Fatalf("after %v: %+v, %v", time.Since(began), r, err)
		}
	})
}

// TestAnotherModelsLargeBase is refused as one in memory is.
func TestAnotherModelsLargeBase(t *testing.T) {
	t.Parallel()
	c := newCorpus(rand.New(rand.NewPCG(1, 45)), 20)
	e := c.embedder(make([]float32, 11))
	seg := built(t, "kept", c.chunks, e)
	var lib retrieval.Library
	store := stores{bases: map[string]retrieval.LargeOf{"kept": largeLibrary(&lib, seg, "simple")}}
	r, err := retrieval.NewSearcher(&lib, plane).WithLarge(store).Search(t.Context(), ask(c.chunks[3].Text, retrieval.Attachment{Base: "kept"}))
	if _, ok := errors.AsType[retrieval.ErrMismatch](r.Degraded); err != nil || !ok || len(r.Passages) == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
}
