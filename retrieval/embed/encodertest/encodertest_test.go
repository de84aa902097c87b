package encodertest_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/zap"

	"headstart/retrieval"
	"headstart/retrieval/embed/encodertest"
	"headstart/retrieval/embed/openai"
)

// The encoder knows what is near, and gives the same vector from the cache as at
// first, and as one of its processes that no cache stands before.
func TestEncoder(t *testing.T) {
	t.Parallel()
	e := encodertest.Open(t)
	texts := []string{"How much is a check-up?", "The price of an annual examination", "The dog sleeps under the table"}
	vectors := embedded(t, e, texts)
	if near, far := dot(vectors[0], vectors[1]), dot(vectors[0], vectors[2]); near <= far || len(vectors[0]) != encodertest.Dim {
		t.Fatalf("cosines %.3f and %.3f, %d dimensions", near, far, len(vectors[0]))
	}
	if d := cmp.Diff(vectors, embedded(t, e, texts)); d != "" {
		t.Fatalf("asked twice (-first +second):\n%s", d)
	}
	slow, err := openai.Open(t.Context(), openai.Config{BaseURL: encodertest.Slow(t, time.Millisecond), Model: "encoder", Timeout: time.Minute}, zap.NewNop())
	if err != nil {
		t.Fatalf("open encoder: %v", err)
	}
	defer slow.Close()
	if d := cmp.Diff(vectors, embedded(t, slow, texts), cmpopts.EquateApprox(0, 1e-4)); d != "" {
		t.Fatalf("from the cache and not (-cached +asked):\n%s", d)
	}
}

func embedded(t *testing.T, e retrieval.Embedder, texts []string) [][]float32 {
	t.Helper()
	vectors, err := e.Embed(t.Context(), texts)
	if err != nil || len(vectors) != len(texts) {
		t.Fatalf("%d vectors, %v", len(vectors), err)
	}
	return vectors
}

func dot(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}
