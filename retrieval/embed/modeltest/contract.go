// Package modeltest holds every embedder to one contract, and makes the small
// models that tests of embedders and of their commands need: no weights are
// fetched for a test. It is for tests alone.
package modeltest

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headstart/retrieval"
)

// texts are those that the contract embeds: of words that the models here know.
var texts = []string{"La revisión anual cuesta 60 euros.", "Abrimos a las ocho", "La revisión anual cuesta 60 euros.", "", " \n"}

// Contract is what every embedder owes a search: a vector a text, in order, of
// length 1 and of the length that it declares; the same for the same text,
// however it is batched; zeros for a text with nothing in it; an error with the
// cause of a context that has ended; and evidence cut-offs that make sense.
func Contract(t *testing.T, e retrieval.Embedder) {
	t.Helper()
	vectors, err := e.Embed(t.Context(), texts)
	if err != nil || len(vectors) != len(texts) {
		t.Fatalf("%d vectors, %v", len(vectors), err)
	}
	for i, v := range vectors {
		want := 1.0
		if i > 2 {
			want = 0
		}
		if len(v) != e.Dim() || math.Abs(square(v)-want) > 1e-5 {
			t.Fatalf("vector %d of %q has length %d and square %v", i, e.Name(), len(v), square(v))
		}
	}
	if d := cmp.Diff(vectors[0], vectors[2]); d != "" {
		t.Fatalf("one text, two vectors:\n%s", d)
	}
	if cmp.Equal(vectors[0], vectors[1]) {
		t.Fatal("two texts, one vector")
	}
	alone, err := e.Embed(t.Context(), texts[1:2])
	if err != nil || len(alone) != 1 || !near(alone[0], vectors[1]) {
		t.Fatalf("a batch changes a vector: %v\n%s", err, cmp.Diff(vectors[1:2], alone))
	}
	declares(t, e)
	gone(t, e)
	if none, err := e.Embed(t.Context(), nil); err != nil || len(none) != 0 {
		t.Fatalf("%d vectors for no text, %v", len(none), err)
	}
}

func declares(t *testing.T, e retrieval.Embedder) {
	t.Helper()
	strong, weak := retrieval.CutOffs(e)
	if w := retrieval.Weight(e); w < 0 || weak <= 0 || strong <= weak || strong >= 1 || e.Name() == "" {
		t.Fatalf("%q declares weight %v, cut-offs %v and %v", e.Name(), w, strong, weak)
	}
	v, err := retrieval.EmbedQuery(t.Context(), e, texts[1])
	if err != nil || len(v) != e.Dim() || math.Abs(square(v)-1) > 1e-5 {
		t.Fatalf("a question has length %d and square %v, %v", len(v), square(v), err)
	}
}

func gone(t *testing.T, e retrieval.Embedder) {
	t.Helper()
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	if _, err := e.Embed(ctx, texts); !errors.Is(err, stopped) {
		t.Fatalf("embedded after its context ended: %v", err)
	}
}

func square(v []float32) (sum float64) {
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return sum
}

// near allows for sums of floats in another order.
func near(a, b []float32) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if math.Abs(float64(a[i]-b[i])) > 1e-6 {
			return false
		}
	}
	return true
}
