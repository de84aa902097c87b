package knowledge_test

import (
	"errors"
	"testing"

	"headstart/retrieval/knowledge"
)

// A base answers with its old vectors until the new ones are all there.
func TestReembed(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(folder("a.md", sections("A", 150)))
	next := newCounted(8)
	down := errors.New("embedder is down")
	next.fail = func(call int) error {
		if call == 2 {
			return down
		}
		return nil
	}
	r := knowledge.Reembed{Store: d.store, Org: "org", Base: "clinica", Embedder: next}
	if _, asked, err := r.Run(t.Context()); !errors.Is(err, down) || asked != 64 {
		t.Fatalf("reembed over a broken embedder: %v after %d texts", err, asked)
	}
	if bases, err := d.store.Bases(t.Context(), "org"); err != nil || bases[0].Model != "counted-32" {
		t.Fatalf("base meanwhile: %+v, %v", bases, err)
	}
	next.fail = nil
	b, asked, err := r.Run(t.Context())
	if err != nil || asked != 150-64 || b.Model != "counted-8" || b.Dim != 8 {
		t.Fatalf("reembed: %+v, %d, %v", b, asked, err)
	}
	equal(t, "pieces", 150, len(d.holds()))
	r.Base = "nada"
	if _, _, err := r.Run(t.Context()); !errors.Is(err, knowledge.ErrUnknownBase) {
		t.Fatalf("reembed what is not there: %v", err)
	}
}

// A push that lands while vectors are staged is staged as well.
func TestReembedWhilePushed(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(folder("a.md", sections("A", 3)))
	pushed := false
	r := knowledge.Reembed{Store: d.store, Org: "org", Base: "clinica", Embedder: newCounted(8), Progress: func(knowledge.Progress) {
		if !pushed {
			pushed = true
			d.must(folder("a.md", sections("A", 3), "b.md", sections("B", 2)))
		}
	}}
	b, asked, err := r.Run(t.Context())
	if err != nil || asked != 5 || b.Chunks != 5 || b.Dim != 8 {
		t.Fatalf("reembed: %+v, %d, %v", b, asked, err)
	}
}
