package v1_test

import (
	"context"
	"sync/atomic"
	"testing"

	"headstart/retrieval"
	"headstart/retrieval/chunk"
	"headstart/retrieval/embed"
	v1 "headstart/worker/api/v1"
)

// counted is an embedder that counts what it is asked.
type counted struct {
	retrieval.Embedder
	asked atomic.Int64
}

func (c *counted) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	c.asked.Add(int64(len(texts)))
	return c.Embedder.Embed(ctx, texts)
}

// The tester tells every place of what it found, and embeds the question once.
func TestFindEmbedsOnce(t *testing.T) {
	t.Parallel()
	e := &counted{Embedder: embed.Hashing(64)}
	chunks := []chunk.Chunk{
		{ID: "a", Path: "a.md", Heading: "Revisión", Text: "La revisión anual cuesta 60 euros."},
		{ID: "b", Path: "b.md", Heading: "Horarios", Text: "La revisión de los sábados."},
	}
	vectors, err := e.Embed(t.Context(), []string{chunks[0].Text, chunks[1].Text})
	if err != nil {
		t.Fatal(err)
	}
	segment, err := retrieval.Restore("clinica", "es", e.Name(), e.Dim(), chunks, append(vectors[0], vectors[1]...))
	if err != nil {
		t.Fatal(err)
	}
	var lib retrieval.Library
	lib.Put("org", segment)
	e.asked.Store(0)
	q := retrieval.Query{Org: "org", Text: "¿Cuánto cuesta la revisión anual?", Bases: []retrieval.Attachment{{Base: "clinica"}}, Ranks: true}
	found, err := v1.Find(t.Context(), retrieval.NewSearcher(&lib, e), q, func(string, string) int { return 1 })
	if err != nil || len(found.Passages) != 2 || len(found.Branches) != 2 {
		t.Fatalf("%+v, %v", found, err)
	}
	for i, p := range found.Passages {
		if h := p.Hits[0]; h.Fused != i+1 || h.WordRank != i+1 || h.VectorRank == 0 {
			t.Fatalf("passage %d: %+v", i+1, h)
		}
	}
	if n := e.asked.Load(); n != 1 {
		t.Fatalf("%d texts embedded for one question", n)
	}
}
