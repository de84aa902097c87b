package knowledge_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"headstart/retrieval"
	"headstart/retrieval/knowledge"
)

// shelved runs a shelf on the desk's store until the test ends.
func (d *desk) shelved(cfg knowledge.ShelfConfig) *retrieval.Library {
	d.t.Helper()
	library := &retrieval.Library{}
	shelf := knowledge.NewShelf(d.store, library, cfg, zap.NewNop())
	ctx, cancel := context.WithCancel(d.t.Context())
	done := make(chan error, 1)
	go func() { done <- shelf.Run(ctx) }()
	d.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			d.t.Errorf("run: %v", err)
		}
	})
	return library
}

// found are the texts that a search finds.
func (d *desk) found(library *retrieval.Library, asks string) ([]string, error) {
	r, err := retrieval.NewSearcher(library, nil).Search(d.t.Context(), retrieval.Query{
		Org: "org", Text: asks, Bases: []retrieval.Attachment{{Base: "clinica"}},
	})
	var texts []string
	for _, p := range r.Passages {
		texts = append(texts, p.Text)
	}
	return texts, err
}

// What is pushed is searched within a second, what is removed is not any more.
func TestShelfFollowsTheStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		library := d.shelved(knowledge.ShelfConfig{})
		settle := func() { time.Sleep(time.Second); synctest.Wait() }
		settle()
		if _, err := d.found(library, "radiografía"); !errors.Is(err, retrieval.ErrNotReady{Base: "clinica"}) {
			t.Fatalf("search of a base that is not there: %v", err)
		}
		d.must(folder("a.md", "# A\n\nLa radiografía cuesta 30 euros.", "b.md", "# B\n\nAbrimos los lunes."))
		settle()
		texts, err := d.found(library, "radiografía")
		if err != nil {
			t.Fatalf("search: %v", err)
		}
		equal(t, "found", []string{"La radiografía cuesta 30 euros."}, texts)

		d.must(folder("a.md", "# A\n\nLa radiografía cuesta 40 euros.", "b.md", "# B\n\nAbrimos los lunes."))
		settle()
		texts, _ = d.found(library, "radiografía")
		equal(t, "found after a push", []string{"La radiografía cuesta 40 euros."}, texts)

		// A file that was deleted is never found again.
		d.must(folder("b.md", "# B\n\nAbrimos los lunes."))
		settle()
		texts, err = d.found(library, "radiografía")
		if err != nil || texts != nil {
			t.Fatalf("found after its file went: %v, %v", texts, err)
		}
		if err := d.store.Remove(t.Context(), "org", "clinica"); err != nil {
			t.Fatalf("remove base: %v", err)
		}
		settle()
		if _, err = d.found(library, "lunes"); !errors.Is(err, retrieval.ErrNotReady{Base: "clinica"}) {
			t.Fatalf("search of a base that was removed: %v", err)
		}
	})
}

// An org whose quota is zero searches nothing, which is not an error to log.
func TestShelfSilencesQuotaZero(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.must(folder("a.md", "# A\n\nLa radiografía cuesta 30 euros."))
		library := d.shelved(knowledge.ShelfConfig{})
		zero, some := 0, 10
		for _, step := range []struct {
			quota *int
			want  error
		}{{nil, nil}, {&zero, retrieval.ErrNoBase}, {&some, nil}, {&zero, retrieval.ErrNoBase}, {nil, nil}} {
			if err := d.store.SetQuota(t.Context(), "org", knowledge.Quota{KnowledgeChunks: step.quota}); err != nil {
				t.Fatalf("set quota: %v", err)
			}
			time.Sleep(time.Second)
			synctest.Wait()
			if _, err := d.found(library, "radiografía"); !errors.Is(err, step.want) {
				t.Fatalf("search: %v, want %v", err, step.want)
			}
		}
	})
}

// A store that fails leaves the library as it is, and is asked again.
func TestShelfOutlivesItsStore(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"Watch", "AllBases", "Orgs", "Read"} {
		synctest.Test(t, func(t *testing.T) {
			d := newDesk(t)
			d.must(folder("a.md", "# A\n\nLa radiografía cuesta 30 euros."))
			library := d.shelved(knowledge.ShelfConfig{})
			time.Sleep(time.Second)
			down := true
			d.store.Fail(func(asked string) error {
				if down && asked == method {
					return errors.New("store is down")
				}
				return nil
			})
			d.must(folder("a.md", "# A\n\nLa radiografía cuesta 40 euros."))
			time.Sleep(time.Minute)
			texts, err := d.found(library, "radiografía")
			want := []string{"La radiografía cuesta 30 euros."}
			if method == "Watch" { // the one that was on goes on
				want = []string{"La radiografía cuesta 40 euros."}
			}
			if err != nil {
				t.Fatalf("search over a broken store: %v", err)
			}
			equal(t, "found over a store whose "+method+" fails", want, texts)
			d.store.Fail(func(string) error { return nil })
			time.Sleep(10 * time.Second)
			synctest.Wait()
			texts, _ = d.found(library, "radiografía")
			equal(t, "found afterwards", []string{"La radiografía cuesta 40 euros."}, texts)
		})
	}
}

// Many changes at once are one reading, and nothing is read that has not changed.
func TestShelfReadsWhatChanged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.must(folder("a.md", "# A\n\nuno"), func(p *knowledge.Push) { p.Base = "otra" })
		d.shelved(knowledge.ShelfConfig{})
		time.Sleep(time.Second)
		d.store.Asked()
		files := folder()
		for _, name := range []string{"a.md", "b.md", "c.md", "d.md"} {
			files[name] = folder(name, "# T\n\ntexto "+name)[name]
		}
		d.must(files)
		time.Sleep(time.Second)
		if n := d.store.Asked()["Read"]; n != 1 {
			t.Fatalf("read %d bases, want the one that changed once", n)
		}
	})
}

func TestShelfCalibrates(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.must(folder("a.md", "# A\n\nuno"))
	c := retrieval.Calibration{Embedder: "counted-32", Dim: 32, Strong: 0.9, Weak: 0.8, WordsWeight: 1, VectorsWeight: 1}
	if _, err := d.store.Calibrate(t.Context(), "org", "clinica", &c); err != nil {
		t.Fatalf("calibrate: %v", err)
	}
	library := &retrieval.Library{}
	if err := knowledge.NewShelf(d.store, library, knowledge.ShelfConfig{}, zap.NewNop()).Load(t.Context()); err != nil {
		t.Fatalf("load: %v", err)
	}
	segment, ok := library.Get("org", "clinica")
	if !ok {
		t.Fatal("base is not in the library")
	}
	equal(t, "calibration", &c, segment.Calibration())
	if name, dim := segment.Model(); name != "counted-32" || dim != 32 {
		t.Fatalf("model %s with %d dimensions", name, dim)
	}
}

// A base above the limit is handed on instead, and taken back when it shrinks.
func TestShelfHandsLargeBasesOn(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	var told []int
	library := &retrieval.Library{}
	shelf := knowledge.NewShelf(d.store, library, knowledge.ShelfConfig{MaxChunks: 3, Large: func(b knowledge.Base) { told = append(told, b.Chunks) }}, zap.NewNop())
	for i, chunks := range []int{3, 4, 5, 2, 4} {
		d.must(folder("a.md", sections("A", chunks)))
		if err := shelf.Load(t.Context()); err != nil {
			t.Fatalf("load: %v", err)
		}
		if _, here := library.Get("org", "clinica"); here != (chunks <= 3) {
			t.Fatalf("step %d: a base of %d chunks in memory: %v", i, chunks, here)
		}
	}
	if err := d.store.Remove(t.Context(), "org", "clinica"); err != nil {
		t.Fatalf("remove: %v", err)
	}
	if err := shelf.Load(t.Context()); err != nil {
		t.Fatalf("load: %v", err)
	}
	equal(t, "told", []int{4, 5, 0, 4, 0}, told)
}
