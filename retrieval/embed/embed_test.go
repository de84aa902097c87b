package embed_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"headstart/retrieval"
	"headstart/retrieval/embed"
	"headstart/retrieval/embed/embedtest"
	"headstart/retrieval/embed/modeltest"
	"headstart/retrieval/embed/openai"
	"headstart/retrieval/embed/remote"
	"headstart/retrieval/embed/voyage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func cosine(a, b []float32) float64 {
	var sum float64
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func TestContract(t *testing.T) {
	t.Parallel()
	modeltest.Contract(t, embed.Hashing(8))
	modeltest.Contract(t, embed.Hashing(512))
	modeltest.Contract(t, embed.Delayed(embed.Hashing(64), time.Millisecond))
	transport := embedtest.Transport(&embedtest.Server{Delay: -1})
	for _, open := range []func(context.Context, remote.Config, *zap.Logger) (*remote.Embedder, error){openai.Open, voyage.Open} {
		e, err := open(t.Context(), remote.Config{Key: "k", Model: "m", Transport: transport}, zap.NewNop())
		if err != nil {
			t.Fatal(err)
		}
		modeltest.Contract(t, e)
	}
}

// TestHashingIsTheSameEverywhere pins a vector: a base that was embedded by one
// binary is asked by another.
func TestHashingIsTheSameEverywhere(t *testing.T) {
	t.Parallel()
	vectors, err := embed.Hashing(8).Embed(t.Context(), []string{"Revisión AX-204"})
	if err != nil {
		t.Fatal(err)
	}
	var rounded []float64
	for _, x := range vectors[0] {
		rounded = append(rounded, math.Round(float64(x)*1000)/1000)
	}
	if d := cmp.Diff(pinned, rounded); d != "" {
		t.Fatal(d)
	}
}

var pinned = []float64{-0.543, -0.125, -0.292, -0.125, 0, 0, -0.543, -0.543}

// TestHashingCutOffs: sentences that share their words are above the cut-offs,
// sentences that share none are below.
func TestHashingCutOffs(t *testing.T) {
	t.Parallel()
	e := embed.Hashing(512)
	strong, weak := e.CutOffs()
	texts := []string{
		"¿Cuánto cuesta la revisión anual?",
		"La revisión anual cuesta 60 euros.",
		"Los domingos y festivos la clínica permanece cerrada.",
		"Traiga su tarjeta sanitaria y el volante del médico.",
		"Our cancellation policy asks for a day of notice.",
	}
	vectors, err := e.Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	if near := cosine(vectors[0], vectors[1]); near < strong {
		t.Fatalf("a question and its answer are at %v", near)
	}
	for i := 2; i < len(texts); i++ {
		if far := cosine(vectors[0], vectors[i]); far >= weak {
			t.Fatalf("%q and %q are at %v", texts[0], texts[i], far)
		}
	}
}

func TestDelayed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := embed.Delayed(embed.Hashing(64), 80*time.Millisecond)
		began := time.Now()
		if _, err := e.Embed(t.Context(), []string{"x"}); err != nil || time.Since(began) != 80*time.Millisecond {
			t.Fatalf("%v after %v", err, time.Since(began))
		}
		ctx, cancel := context.WithTimeoutCause(t.Context(), 30*time.Millisecond, retrieval.ErrBudgetSpent)
		defer cancel()
		began = time.Now()
		if _, err := e.Embed(ctx, []string{"x"}); !errors.Is(err, retrieval.ErrBudgetSpent) || time.Since(began) != 30*time.Millisecond {
			t.Fatalf("%v after %v", err, time.Since(began))
		}
		if strong, weak := retrieval.CutOffs(e); e.Name() != "hashing-64" || retrieval.Weight(e) != 0.05 || strong != 0.40 || weak != 0.20 {
			t.Fatalf("%s declares %v, %v, %v", e.Name(), retrieval.Weight(e), strong, weak)
		}
	})
}

func BenchmarkHashing(b *testing.B) {
	e := embed.Hashing(256)
	texts := []string{"¿Cuánto cuesta la revisión anual y qué preparación necesito?"}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Embed(b.Context(), texts); err != nil {
			b.Fatal(err)
		}
	}
}
