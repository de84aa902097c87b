package knowledge_test

import (
	"context"
	"errors"
	"io/fs"
	"testing"
	"testing/fstest"

	"headstart/retrieval"
	"headstart/retrieval/read"
)

// Fault 20: one NUL byte, or bytes that are no text, cost their file what cannot
// be read, and the others nothing.
func TestPushCleansAndRefusesByFile(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	files := folder("a.md", "# A\nuno\x00 dos", "b.md", "# B\nt\xffres", "c.md", "# C\ncuatro",
		"d.pdf", "no es un PDF", "e.xyz", "nada", ".hidden.md", "# H\nno")
	files["pipe.md"] = &fstest.MapFile{Mode: fs.ModeNamedPipe}
	r := d.must(files)
	equal(t, "base", []string{"a.md: uno dos", "b.md: t\ufffdres", "c.md: cuatro"}, d.holds())
	var refused []string
	for _, f := range r.Refused {
		refused = append(refused, f.Path)
	}
	equal(t, "refused", []string{"d.pdf", "e.xyz", "pipe.md"}, refused)
	if !errors.Is(r.Refused[1].Err, read.KindError{Ext: ".xyz"}) || !errors.Is(r.Refused[2].Err, retrieval.ErrNotAFile) {
		t.Fatalf("reasons: %v", r.Refused)
	}
}

// A file that was readable once and is not now stays as it was, and is told.
func TestPushKeepsWhatCannotBeReadNow(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(folder("a.txt", "Uno.", "b.txt", "Dos."))
	r := d.must(folder("a.txt", "", "b.txt", "Tres."))
	equal(t, "base", []string{"a.txt: Uno.", "b.txt: Tres."}, d.holds())
	if len(r.Refused) != 1 || !errors.Is(r.Refused[0], read.ErrEmpty) || r.Removed != 0 {
		t.Fatalf("push: %+v", r)
	}
}

// A folder that cannot be looked into may hold what the base has of it.
func TestPushKeepsWhatCannotBeSeen(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(folder("a.md", "# A\nuno", "sub/b.md", "# B\ndos", "sub/c.md", "# C\ntres"))
	r, err := d.push().Folder(t.Context(), closed{folder("a.md", "# A\nuno", "sub/b.md", "# B\ndos")})
	if err != nil || r.Removed != 0 || len(r.Refused) != 1 || !errors.Is(r.Refused[0], fs.ErrPermission) {
		t.Fatalf("push: %+v, %v", r, err)
	}
	equal(t, "chunks", 3, len(d.holds()))
}

// closed is a folder whose sub may not be listed.
type closed struct{ fstest.MapFS }

func (c closed) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == "sub" {
		return nil, fs.ErrPermission
	}
	return c.MapFS.ReadDir(name)
}

// Fault 21: another embedder is refused before anything is read or written, and
// the error names both and the way out.
func TestPushRefusesAnotherEmbedder(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(folder("a.md", "# A\nuno"))
	before := d.holds()
	d.store.Asked()
	other := newCounted(8)
	p := d.push()
	p.Embedder = other
	_, err := p.Folder(t.Context(), folder("a.md", "# A\ndos"))
	want := retrieval.ErrMismatch{Base: "clinica", Holds: "counted-32", HoldsDim: 32, Got: "counted-8", GotDim: 8}
	if !errors.Is(err, want) || other.asked() != 0 {
		t.Fatalf("push with another embedder: %v, want %v", err, want)
	}
	equal(t, "statements", map[string]int{"Files": 1}, d.store.Asked())
	equal(t, "base", before, d.holds())

	// An embedder that does not give what it declares.
	lies := newCounted(32)
	lies.name = "lies"
	p.Base, p.Embedder = "otra", short{lies}
	if _, err = p.Folder(t.Context(), folder("a.md", "# A\nuno")); !errors.As(err, &retrieval.ErrMismatch{}) {
		t.Fatalf("push with an embedder that lies: %v", err)
	}
}

// short gives vectors that are shorter than it says.
type short struct{ *counted }

func (s short) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, err := s.counted.Embed(ctx, texts)
	for i := range vectors {
		vectors[i] = vectors[i][:8]
	}
	return vectors, err
}
