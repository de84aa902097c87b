package knowledge_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"headstart/retrieval"
	"headstart/retrieval/knowledge"
	"headstart/retrieval/knowledge/knowledgetest"
)

func TestPushEmbedsWhatChanged(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	files := folder("a.md", sections("A", 3), "sub/b.md", sections("B", 2), "c.txt", "Notas sueltas.")
	r := d.must(files)
	if r.Put != 3 || r.Embedded != 6 || r.Base.Chunks != 6 || r.Base.Language != "es" || d.embedder.asked() != 6 {
		t.Fatalf("first push: %+v", r)
	}
	d.store.Asked()
	r = d.must(files)
	if r.Changed() || r.Kept != 3 || d.embedder.asked() != 0 {
		t.Fatalf("push of the same: %+v", r)
	}
	equal(t, "statements of a push that changes nothing", map[string]int{"Files": 1}, d.store.Asked())

	files["sub/b.md"] = &fstest.MapFile{Data: []byte(sections("B", 3))}
	r = d.must(files)
	if r.Put != 1 || r.Kept != 2 || r.Embedded != 1 || r.Reused != 2 || d.embedder.asked() != 1 {
		t.Fatalf("push of one changed file: %+v", r)
	}
	// What was embedded once is not embedded again, in another base neither.
	r = d.must(files, func(p *knowledge.Push) { p.Base = "otra" })
	if r.Put != 3 || r.Embedded != 0 || r.Reused != 7 || d.embedder.asked() != 0 {
		t.Fatalf("push to another base: %+v", r)
	}
}

// Small files share calls to the embedder; none is of more than 64 texts.
func TestPushBatches(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	files := fstest.MapFS{}
	for i := range 100 {
		files[fmt.Sprintf("%03d.md", i)] = &fstest.MapFile{Data: []byte(sections(fmt.Sprint("Página ", i), 3))}
	}
	d.must(files)
	if len(d.embedder.calls) > 6 || slices.Max(d.embedder.calls) > 64 || d.embedder.asked() != 300 {
		t.Fatalf("calls of %v texts", d.embedder.calls)
	}
	if n := d.store.Asked()["Replace"]; n != 100 {
		t.Fatalf("%d transactions for 100 files", n)
	}
}

func TestPushRemovesWhatIsGone(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(folder("a.md", "# A\nuno", "b.md", "# B\ndos", "c.md", "# C\ntres"))
	r := d.must(folder("a.md", "# A\nuno", "c.md", "# C\ncuatro"))
	if r.Removed != 1 || r.Put != 1 || r.Kept != 1 || r.Base.Files != 2 {
		t.Fatalf("push: %+v", r)
	}
	equal(t, "base", []string{"a.md: uno", "c.md: cuatro"}, d.holds())
}

// A push that would remove more than half is refused and changes nothing.
func TestPushGuardsAgainstEmptying(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		held, left int
		refused    bool
	}{{4, 2, false}, {4, 1, true}, {3, 2, false}, {3, 1, true}, {1, 0, true}, {2, 0, true}} {
		d := newDesk(t)
		files := fstest.MapFS{}
		for i := range c.held {
			files[fmt.Sprintf("%d.md", i)] = &fstest.MapFile{Data: fmt.Appendf(nil, "# T\ntexto %d", i)}
		}
		d.must(files)
		before := d.holds()
		for i := c.left; i < c.held; i++ {
			delete(files, fmt.Sprintf("%d.md", i))
		}
		if c.left > 0 {
			files["0.md"] = &fstest.MapFile{Data: []byte("# T\notro")}
		}
		_, err := d.push().Folder(t.Context(), files)
		if !c.refused {
			if err != nil {
				t.Fatalf("%d of %d left: %v", c.left, c.held, err)
			}
			continue
		}
		want := knowledge.PruneError{Base: "clinica", Gone: c.held - c.left, Files: c.held}
		if !errors.Is(err, want) {
			t.Fatalf("%d of %d left: %v, want %v", c.left, c.held, err, want)
		}
		equal(t, "base after the refusal", before, d.holds())
		d.embedder.asked()
		d.must(files, func(p *knowledge.Push) { p.Prune = true })
		equal(t, "files after --prune", c.left, len(d.holds()))
	}
}

// Fault 23: versions leave nothing behind, and nothing twice.
func TestPushVersions(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	v1, v2 := folder("a.md", sections("uno", 5)), folder("a.md", sections("dos", 3))
	for i, want := range []struct {
		files  fstest.MapFS
		chunks int
	}{{v1, 5}, {v2, 3}, {v1, 5}, {v1, 5}} {
		r := d.must(want.files)
		if r.Base.Chunks != want.chunks || len(d.holds()) != want.chunks {
			t.Fatalf("push %d: %d chunks counted, %d held, want %d", i, r.Base.Chunks, len(d.holds()), want.chunks)
		}
	}
	if n := d.embedder.asked(); n != 8 {
		t.Fatalf("embedded %d texts, want the 8 that differ", n)
	}
}

// Property: whatever a folder becomes, a push makes the base hold it and no
// more, and pushed again it changes nothing.
func TestPushFollowsTheFolder(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 8))
	d := newDesk(t)
	files := fstest.MapFS{}
	for round := range 40 {
		for range 3 {
			path := fmt.Sprintf("%c/%d.md", 'a'+random.IntN(2), random.IntN(5))
			if random.IntN(3) == 0 {
				delete(files, path)
			} else {
				files[path] = &fstest.MapFile{Data: []byte(sections(fmt.Sprint(random.IntN(4)), random.IntN(4)))}
			}
		}
		prune := func(p *knowledge.Push) { p.Prune = true }
		r := d.must(files, prune)
		fresh := newDesk(t)
		fresh.must(files)
		equal(t, fmt.Sprintf("base after round %d", round), fresh.holds(), d.holds())
		d.store.Asked()
		again := d.must(files, prune)
		if again.Changed() || again.Base.Revision != r.Base.Revision || d.store.Asked()["Files"] != 1 {
			t.Fatalf("round %d pushed again: %+v", round, again)
		}
	}
}

// What breaks off leaves whole files, and goes on from there.
func TestPushBrokenOff(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	files := fstest.MapFS{}
	for i := range 8 {
		files[fmt.Sprintf("%d.md", i)] = &fstest.MapFile{Data: []byte(sections(fmt.Sprint("Página ", i), 100))}
	}
	down := errors.New("embedder is down")
	d.embedder.fail = func(call int) error {
		if call > 7 {
			return down
		}
		return nil
	}
	if _, err := d.push().Folder(t.Context(), files); !errors.Is(err, down) {
		t.Fatalf("push over a broken embedder: %v", err)
	}
	if n := len(d.holds()); n == 0 || n%100 != 0 {
		t.Fatalf("%d pieces after it broke, want whole files", n)
	}
	paid := 7 * 64
	d.embedder.fail = nil
	d.embedder.asked()
	d.must(files)
	if n := d.embedder.asked(); n > 800-paid+2*64 || len(d.holds()) != 800 {
		t.Fatalf("embedded %d texts again after %d were paid, %d held", n, paid, len(d.holds()))
	}

	full := errors.New("disk is full")
	d.store.Fail(func(method string) error {
		if method == "Replace" {
			return full
		}
		return nil
	})
	files["0.md"] = &fstest.MapFile{Data: []byte("# Cero\n\nOtro.")}
	if _, err := d.push().Folder(t.Context(), files); !errors.Is(err, full) {
		t.Fatalf("push over a full disk: %v", err)
	}
	d.store.Fail(nil)
	equal(t, "pieces after it", 800, len(d.holds()))

	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := d.push().Folder(ended, files); !errors.Is(err, context.Canceled) {
		t.Fatalf("push that was ended: %v", err)
	}
}

func TestPushQuota(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	limit := func(n int) {
		t.Helper()
		if err := d.store.SetQuota(t.Context(), "org", knowledge.Quota{KnowledgeChunks: &n}); err != nil {
			t.Fatalf("set quota: %v", err)
		}
	}
	limit(4)
	_, err := d.push().Folder(t.Context(), folder("a.md", sections("A", 3), "b.md", sections("B", 2)))
	if want := (knowledge.QuotaError{Org: "org", Limit: 4, Needs: 5}); !errors.Is(err, want) || d.embedder.asked() != 0 {
		t.Fatalf("push over the quota: %v, want %v", err, want)
	}
	if asked := d.store.Asked(); asked["Make"]+asked["Replace"]+asked["Keep"] != 0 {
		t.Fatalf("written although refused: %v", asked)
	}
	d.must(folder("a.md", sections("A", 3), "b.md", sections("B", 1)))
	// It fits only if what shrinks goes first.
	d.must(folder("a.md", sections("A", 1), "b.md", sections("B", 3)))
	d.must(folder("a.md", sections("A", 3), "b.md", sections("B", 1)))
	d.must(folder("a.md", sections("A", 1), "c.md", sections("C", 3)))
	limit(0)
	d.must(folder("a.md", sections("A", 1), "c.md", sections("C", 2))) // it may always shrink
	if _, err := d.push().File(t.Context(), "d.md", []byte("# D\ncuatro")); !errors.As(err, &knowledge.QuotaError{}) {
		t.Fatalf("push of a file at quota zero: %v", err)
	}
}

func TestPushFile(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	ctx := t.Context()
	file := func(path, text string) (knowledge.Report, error) { return d.push().File(ctx, path, []byte(text)) }
	if r, err := file("faq/a.md", "# A\nuno"); err != nil || r.Put != 1 || r.Base.Files != 1 {
		t.Fatalf("push file: %+v, %v", r, err)
	}
	if r, err := file("b.md", "# B\ndos"); err != nil || r.Base.Files != 2 {
		t.Fatalf("push another: %+v, %v", r, err)
	}
	d.store.Asked()
	if r, err := file("b.md", "# B\ndos"); err != nil || r.Changed() || r.Kept != 1 {
		t.Fatalf("push it again: %+v, %v", r, err)
	}
	equal(t, "statements", map[string]int{"Files": 1}, d.store.Asked())
	for _, path := range []string{"../a.md", "/a.md", "", "a\x00.md", "a/../b.md"} {
		if _, err := file(path, "# A\nuno"); err == nil {
			t.Fatalf("pushed a file at %q", path)
		}
	}
	var refused retrieval.FileError
	if _, err := file("c.xyz", "nada"); !errors.As(err, &refused) || refused.Path != "c.xyz" {
		t.Fatalf("push of a file of no known kind: %v", err)
	}
	if _, err := d.push().Delete(ctx, "nada.md"); !errors.Is(err, knowledge.ErrUnknownFile) {
		t.Fatalf("delete a file that is not there: %v", err)
	}
	if b, err := d.push().Delete(ctx, "faq/a.md"); err != nil || b.Files != 1 {
		t.Fatalf("delete: %+v, %v", b, err)
	}
	equal(t, "base", []string{"b.md: dos"}, d.holds())
}

func TestPushLanguage(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	say := func(language string) func(*knowledge.Push) {
		return func(p *knowledge.Push) { p.Language = language }
	}
	files := folder("a.md", "# A\nuno")
	for _, step := range []struct{ say, want string }{{"", knowledge.DefaultLanguage}, {"en", "en"}, {"", "en"}} {
		if r := d.must(files, say(step.say)); r.Base.Language != step.want {
			t.Fatalf("language %q after saying %q, want %q", r.Base.Language, step.say, step.want)
		}
	}
	if d.embedder.asked() != 1 {
		t.Fatal("another language was embedded again")
	}
}

func TestPushWordsAlone(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	r := d.must(folder("a.md", "# A\nuno"), func(p *knowledge.Push) { p.Embedder = nil })
	if r.Base.Model != "" || r.Base.Chunks != 1 || r.Embedded != 0 {
		t.Fatalf("push: %+v", r)
	}
	equal(t, "base", []string{"a.md: uno"}, d.holds())
}

func TestPushTellsProgress(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	var told []knowledge.Progress
	d.must(folder("a.md", sections("A", 2), "b.md", "# B\nuno", "c.xyz", "nada"), func(p *knowledge.Push) {
		p.Progress = func(p knowledge.Progress) { told = append(told, p) }
	})
	equal(t, "progress", []knowledge.Progress{
		{Stage: knowledge.Reading, Files: 3}, {Stage: knowledge.Reading, Files: 3, Done: 1},
		{Stage: knowledge.Reading, Files: 3, Done: 2}, {Stage: knowledge.Reading, Files: 3, Done: 3},
		{Stage: knowledge.Writing, Files: 3}, {Stage: knowledge.Writing, Files: 3, Done: 1},
		{Stage: knowledge.Writing, Files: 3, Done: 1, Embedded: 3},
		{Stage: knowledge.Writing, Files: 3, Done: 2, Embedded: 3, Chunks: 2},
		{Stage: knowledge.Writing, Files: 3, Done: 3, Embedded: 3, Chunks: 3},
	}, told)
}

// A folder of this machine: nothing outside it is read.
func TestPushDir(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	outside, dir := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{filepath.Join(outside, "secret.md"): "# S\ncontraseña", filepath.Join(dir, "a.md"): "# A\nuno"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"leaves.md": filepath.Join(outside, "secret.md"), "folder": outside, "inside.md": "a.md"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	r, err := d.push().Dir(t.Context(), dir)
	if err != nil || len(r.Refused) != 2 {
		t.Fatalf("push: %+v, %v", r, err)
	}
	equal(t, "base", []string{"a.md: uno", "inside.md: uno"}, d.holds())
	if _, err := d.push().Dir(t.Context(), filepath.Join(dir, "nada")); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("push of a folder that is not there: %v", err)
	}
}

// BenchmarkPush is 5,000 chunks that are read, cut and written to a store in
// memory, without an embedder.
func BenchmarkPush(b *testing.B) {
	b.ReportAllocs()
	files := fstest.MapFS{}
	for i := range 500 {
		files[fmt.Sprintf("%03d.md", i)] = &fstest.MapFile{Data: []byte(sections(fmt.Sprint("Página ", i), 10))}
	}
	for b.Loop() {
		p := knowledge.Push{Store: &knowledgetest.Store{}, Org: "org", Base: "b"}
		if r, err := p.Folder(b.Context(), files); err != nil || r.Base.Chunks != 5000 {
			b.Fatalf("push: %+v, %v", r, err)
		}
	}
}
