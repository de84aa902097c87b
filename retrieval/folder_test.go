package retrieval_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headstart/retrieval"
	"headstart/retrieval/embed"
	"headstart/retrieval/read"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, to, path string) {
	t.Helper()
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
}

func TestLoadFolder(t *testing.T) {
	t.Parallel()
	outside, dir := t.TempDir(), filepath.Join(t.TempDir(), "base")
	write(t, filepath.Join(outside, "secret.md"), "# Secreto\ncontraseña\n")
	write(t, filepath.Join(dir, "a.md"), "# A\nuno\n")
	write(t, filepath.Join(dir, "b.md"), "# B\nd\x00os y tres \xff\n")
	write(t, filepath.Join(dir, "sub", "c.MD"), "# C\ncuatro\n")
	write(t, filepath.Join(dir, "notes.txt"), "Notas\n\napuntes\n")
	write(t, filepath.Join(dir, "big.md"), string(make([]byte, 17<<20)))
	link(t, filepath.Join(outside, "secret.md"), filepath.Join(dir, "leaves.md"))
	link(t, "../../../etc/passwd", filepath.Join(dir, "climbs.md"))
	link(t, outside, filepath.Join(dir, "folder"))
	link(t, "sub/c.MD", filepath.Join(dir, "inside.md"))
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.md"), 0o644); err != nil {
		t.Fatal(err)
	}
	var steps []retrieval.Progress
	seg, bad, err := retrieval.LoadFolder(t.Context(), dir, "base", "es", embed.Hashing(64), func(p retrieval.Progress) { steps = append(steps, p) })
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, b := range bad {
		names = append(names, b.Path)
	}
	if d := cmp.Diff([]string{"big.md", "climbs.md", "folder", "leaves.md", "pipe.md"}, names); d != "" {
		t.Fatalf("left out (-want +got):\n%s", d)
	}
	if !errors.Is(bad[0], retrieval.ErrTooLarge) || !errors.Is(bad[4], retrieval.ErrNotAFile) {
		t.Fatalf("reasons: %v", bad)
	}
	wantSteps := []retrieval.Progress{{Files: 1}, {Files: 2}, {Files: 3}, {Files: 4}, {Files: 5}, {Files: 5, Embedded: 5, AllChunks: 5}}
	if d := cmp.Diff(wantSteps, steps); d != "" {
		t.Fatal(d)
	}
	var lib retrieval.Library
	lib.Put("org", seg)
	s := retrieval.NewSearcher(&lib, nil)
	// sub/c.MD is in as well, and says what inside.md says.
	for asks, want := range map[string][]string{"dos": {"b.md"}, "cuatro": {"inside.md"}, "contraseña": nil, "apuntes": {"notes.txt"}} {
		r, err := s.Search(t.Context(), ask(asks, retrieval.Attachment{Base: "base"}))
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]bool{}
		for _, p := range r.Passages {
			found[p.Path] = true
		}
		if len(found) != len(want) {
			t.Fatalf("%q found %v, want %v", asks, found, want)
		}
		for _, path := range want {
			if !found[path] {
				t.Fatalf("%q found %v, want %v", asks, found, want)
			}
		}
	}
}

func TestLoadFolderFails(t *testing.T) {
	t.Parallel()
	if _, _, err := retrieval.LoadFolder(t.Context(), filepath.Join(t.TempDir(), "none"), "b", "es", nil, nil); !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.md"), "uno")
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	if _, _, err := retrieval.LoadFolder(ctx, dir, "b", "es", nil, nil); !errors.Is(err, stopped) {
		t.Fatal(err)
	}
	broken := fake{"m", 4, 1, func(context.Context, []string) ([][]float32, error) { return [][]float32{{1, 2}}, nil }}
	var mismatch retrieval.ErrMismatch
	if seg, _, err := retrieval.LoadFolder(t.Context(), dir, "b", "es", broken, nil); !errors.As(err, &mismatch) || mismatch.GotDim != 2 || seg != nil {
		t.Fatal(seg, err)
	}
	empty, bad, err := retrieval.LoadFolder(t.Context(), t.TempDir(), "b", "es", nil, nil)
	if err != nil || bad != nil || empty.Len() != 0 {
		t.Fatal(empty, bad, err)
	}
}

// One broken file of a push is told by name, and the others land.
func TestLoadFolderKinds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.html"), "<h1>Tarifas</h1><p>La limpieza cuesta 50 euros.</p>")
	write(t, filepath.Join(dir, "b.pdf"), "%PDF-1.7\nroto startxref")
	write(t, filepath.Join(dir, "c.csv"), "Servicio;Precio\nEmpaste;70\nImplante;900\n")
	write(t, filepath.Join(dir, "d.docx"), "PK\x03\x04 roto")
	write(t, filepath.Join(dir, "e.txt"), "Horario de verano")
	write(t, filepath.Join(dir, "f.png"), "\x89PNG")
	write(t, filepath.Join(dir, ".DS_Store"), "x")
	write(t, filepath.Join(dir, ".git", "description.txt"), "oculto")
	seg, bad, err := retrieval.LoadFolder(t.Context(), dir, "base", "es", embed.Hashing(64), nil)
	if err != nil || seg.Len() != 4 {
		t.Fatal(seg.Len(), err)
	}
	var names []string
	for _, b := range bad {
		names = append(names, b.Path)
	}
	if d := cmp.Diff([]string{"b.pdf", "d.docx", "f.png"}, names); d != "" {
		t.Fatalf("left out (-want +got):\n%s", d)
	}
	var broken read.BrokenError
	var kind read.KindError
	if !errors.As(bad[0], &broken) || !errors.As(bad[1], &broken) || !errors.As(bad[2], &kind) || kind.Ext != ".png" {
		t.Fatal(bad)
	}
	var lib retrieval.Library
	lib.Put("org", seg)
	r, err := retrieval.NewSearcher(&lib, nil).Search(t.Context(), ask("implante", retrieval.Attachment{Base: "base"}))
	if err != nil || len(r.Passages) != 1 || !strings.Contains(r.Passages[0].Text, "Servicio: Implante\nPrecio: 900") {
		t.Fatal(r.Passages, err)
	}
}
