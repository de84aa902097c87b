package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"headstart/retrieval"
	"headstart/retrieval/knowledge"
	"headstart/store/postgres"
)

// turned embeds by where a text stands among all that it was asked, so that another
// model's vectors are of other texts.
type turned struct {
	name  string
	dim   int
	asked int
}

func (e *turned) Name() string { return e.name }
func (e *turned) Dim() int     { return e.dim }
func (e *turned) Embed(_ context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i := range vectors {
		vectors[i] = make([]float32, e.dim)
		vectors[i][e.asked%e.dim] = 1
		e.asked++
	}
	return vectors, nil
}

// A large base that is embedded anew is searched all the while, by a process that
// learns of it late too: by its old vectors, then by the new ones. A question that was
// embedded with the old model is refused from then on, whatever its length is.
func TestLargeBaseIsReembeddedWithoutAGap(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	db, other := open(t, url), open(t, url)
	ctx := t.Context()
	fill(t, db, tenant, "docs", 3000, newHill(9, 20))
	words := retrieval.LargeQuery{Org: tenant, Base: "docs", Terms: []string{"palabra3"}, WordsWeight: 1, K: 5}
	old := both(tenant, "docs", newHill(9, 20).vector(), 5)
	old.Model = model
	if hits := search(t, db, old); len(hits) != 5 {
		t.Fatalf("%d hits before", len(hits))
	}
	stop, asking := make(chan struct{}), make(chan error, 1)
	go func() { asking <- askUntil(ctx, db, words, stop) }()
	for _, dim := range []int{dim, 2 * dim} { // the same length, and another
		next := &turned{name: fmt.Sprint("next-", dim), dim: dim}
		base, _, err := knowledge.Reembed{Store: other, Org: tenant, Base: "docs", Embedder: next}.Run(ctx)
		if err != nil || base.Model != next.name || base.Dim != dim {
			t.Fatalf("reembed: %+v, %v", base, err)
		}
		if _, err := db.SearchLarge(ctx, old); !errors.Is(err, retrieval.ErrMismatch{Base: "docs", Holds: next.name, HoldsDim: dim, Got: model, GotDim: len(old.Vector)}) {
			t.Fatalf("asked with the old model: %v", err)
		}
		q := both(tenant, "docs", make([]float32, dim), 5)
		q.Model, q.Vector[3] = next.name, 1
		hits := search(t, db, q)
		if len(hits) != 5 || hits[4].Cosine < 0.999 {
			t.Fatalf("asked with the new model: %+v", hits)
		}
	}
	put := knowledge.Cut{File: knowledge.File{Path: "new.md"}, Pieces: piecesOf("new.md", [][]float32{make([]float32, 2*dim)}, "palabra9999").Pieces}
	if _, err := other.Replace(ctx, tenant, "docs", knowledge.Change{Model: "next-32", Dim: 2 * dim, Put: []knowledge.Cut{put}}); err != nil {
		t.Fatalf("push after: %v", err)
	}
	if hits := search(t, db, retrieval.LargeQuery{Org: tenant, Base: "docs", Terms: []string{"palabra9999"}, WordsWeight: 1, K: 5}); len(hits) != 1 {
		t.Fatalf("%d hits of what was pushed after", len(hits))
	}
	close(stop)
	if err := <-asking; err != nil {
		t.Fatalf("searched meanwhile: %v", err)
	}
}

// askUntil asks again and again, and must be answered each time.
func askUntil(ctx context.Context, db *postgres.DB, q retrieval.LargeQuery, stop <-chan struct{}) error {
	for {
		select {
		case <-stop:
			return nil
		default:
		}
		if hits, err := db.SearchLarge(ctx, q); err != nil || len(hits) != q.K {
			return fmt.Errorf("%d hits, %w", len(hits), err)
		}
	}
}

// A push that lands while the new vectors are kept is embedded too.
func TestLargeBaseIsNotAdoptedUnstaged(t *testing.T) {
	t.Parallel()
	db := open(t, migrated(t))
	small(t, db)
	next := knowledge.Space{Org: tenant, Model: "next", Dim: 2}
	if _, err := db.Adopt(t.Context(), "clinica", next); !errors.Is(err, knowledge.ErrUnstaged) {
		t.Fatalf("adopt: %v", err)
	}
	if hits := search(t, db, retrieval.LargeQuery{Org: tenant, Base: "clinica", Vector: []float32{0, 1}, Model: model, VectorsWeight: 1, K: 1}); len(hits) != 1 {
		t.Fatalf("%d hits by the old vectors", len(hits))
	}
}

// The vectors of an index that an older program made get the name of their model.
func TestMigrationNamesVectors(t *testing.T) {
	t.Parallel()
	db := open(t, migrated(t))
	small(t, db)
	if err := db.ForgetNamesOfVectors(t.Context(), tenant, "clinica"); err != nil {
		t.Fatal(err)
	}
	q := retrieval.LargeQuery{Org: tenant, Base: "clinica", Vector: []float32{0, 1}, VectorsWeight: 1, Weak: 0.3, K: 1}
	if _, err := db.SearchLarge(t.Context(), q); err == nil {
		t.Fatal("searched by vectors of nobody's name")
	}
	if err := db.Apply(t.Context(), "0004_vectors_of_a_model"); err != nil {
		t.Fatal(err)
	}
	if hits := search(t, db, q); len(hits) != 1 || hits[0].Chunk.ID != "a.md#2" {
		t.Fatalf("hits %+v", hits)
	}
}
