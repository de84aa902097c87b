package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"headstart/retrieval"
	"headstart/retrieval/knowledge"
)

// The index goes with its base: what is pushed is found, what is gone is not, another
// model is searched at once, and another language or another base of the name is not
// before it is indexed anew.
func TestIndexFollowsBase(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	db, other := open(t, url), open(t, url) // what one remembers of tables, another changes
	ctx := t.Context()
	q := retrieval.LargeQuery{Org: tenant, Base: "clinica", Terms: []string{"cuest"}, WordsWeight: 1, K: 9}
	if _, err := db.SearchLarge(ctx, q); !errors.Is(err, knowledge.ErrUnknownBase) {
		t.Fatalf("search of no base: %v", err)
	}
	small(t, db)
	found := func(want ...string) {
		t.Helper()
		if diff := cmp.Diff(append([]string{}, want...), ids(search(t, db, q))); diff != "" {
			t.Fatalf("hits (-want +got):\n%s", diff)
		}
	}
	found("a.md#0", "a.md#1")
	put(t, other, piecesOf("a.md", [][]float32{{1, 0}}, "Cuesta menos."), piecesOf("b.md", [][]float32{{0, 1}}, "Cuesta mucho dinero siempre aquí."))
	found("a.md#0", "b.md#0")
	if _, err := other.Replace(ctx, tenant, "clinica", knowledge.Change{Remove: []string{"a.md"}}); err != nil {
		t.Fatalf("remove file: %v", err)
	}
	found("b.md#0")
	notReady := func(after string) {
		t.Helper()
		if _, err := db.SearchLarge(ctx, q); !errors.Is(err, retrieval.ErrNotReady{Base: "clinica"}) {
			t.Fatalf("search after %s: %v", after, err)
		}
		for range 2 {
			if err := other.Index(ctx, tenant, "clinica"); err != nil {
				t.Fatalf("index after %s: %v", after, err)
			}
		}
	}
	if _, err := other.Adopt(ctx, "clinica", knowledge.Space{Org: tenant}); err != nil {
		t.Fatalf("adopt: %v", err)
	}
	found("b.md#0")
	if _, err := other.Make(ctx, knowledge.Base{Org: tenant, Name: "clinica", Language: "pt"}); err != nil {
		t.Fatalf("make: %v", err)
	}
	notReady("another language")
	if err := other.Remove(ctx, tenant, "clinica"); err != nil {
		t.Fatalf("remove: %v", err)
	}
	if _, err := other.Make(ctx, knowledge.Base{Org: tenant, Name: "clinica", Language: "es", Model: model, Dim: 2}); err != nil {
		t.Fatalf("make: %v", err)
	}
	notReady("another base of the name")
	found()
	q.Vector, q.VectorsWeight = []float32{1, 0, 0}, 1
	want := retrieval.ErrMismatch{Base: "clinica", Holds: model, HoldsDim: 2, Got: model, GotDim: 3}
	if _, err := db.SearchLarge(ctx, q); !errors.Is(err, want) {
		t.Fatalf("search with a vector of another length: %v, want %v", err, want)
	}
}

// Bases that grow above a size are indexed without being told to, each once.
func TestKeepIndexed(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	db := open(t, url)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	told := make(chan string, 10)
	var keeping sync.WaitGroup
	for range 2 {
		other := open(t, url)
		keeping.Go(func() {
			err := other.KeepIndexed(ctx, 2, func(b knowledge.Base, _ time.Duration, err error) { told <- fmt.Sprint(b.Name, err) })
			if err != nil {
				t.Errorf("keep indexed: %v", err)
			}
		})
	}
	if _, err := db.Make(ctx, knowledge.Base{Org: tenant, Name: "clinica", Language: "es", Model: model, Dim: 2}); err != nil {
		t.Fatalf("make: %v", err)
	}
	put(t, db, piecesOf("a.md", [][]float32{{1, 0}, {0, 1}}, "Cuesta 320 euros.", "Cuesta 40 euros."))
	q := retrieval.LargeQuery{Org: tenant, Base: "clinica", Terms: []string{"cuest"}, WordsWeight: 1, K: 9}
	if _, err := db.SearchLarge(ctx, q); !errors.Is(err, retrieval.ErrNotReady{Base: "clinica"}) {
		t.Fatalf("search of a base that is small: %v", err)
	}
	put(t, db, piecesOf("b.md", [][]float32{{1, 0}}, "Cuesta 100 euros."))
	select {
	case got := <-told:
		if got != "clinica<nil>" {
			t.Fatalf("told %q", got)
		}
	case <-t.Context().Done():
		t.Fatal("not indexed")
	}
	if hits := search(t, db, q); len(hits) != 3 {
		t.Fatalf("%d hits, want 3", len(hits))
	}
	cancel()
	keeping.Wait()
}
