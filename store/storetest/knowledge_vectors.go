package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"headstart/retrieval"
	"headstart/retrieval/knowledge"
)

func quota(t *testing.T, s knowledge.Store) {
	ctx := t.Context()
	none, err := s.Quota(ctx, org)
	if err != nil {
		t.Fatalf("read quota: %v", err)
	}
	same(t, "quota that nobody set", knowledge.Quota{}, none)
	base(t, s, org, "clinica")
	base(t, s, org, "otra")
	replace(t, s, org, "otra", change(cut("a.md", "uno")))
	set := func(n int) {
		t.Helper()
		if err := s.SetQuota(ctx, org, knowledge.Quota{KnowledgeChunks: &n}); err != nil {
			t.Fatalf("set quota: %v", err)
		}
	}
	set(3)
	replace(t, s, org, "clinica", change(cut("a.md", "dos", "tres")))
	before, _ := readAll(t, s, org, "clinica")
	_, err = s.Replace(ctx, org, "clinica", change(cut("b.md", "cuatro")))
	fails(t, "over the quota", err, knowledge.QuotaError{Org: org, Limit: 3, Holds: 3, Needs: 4})
	after, pieces := readAll(t, s, org, "clinica")
	same(t, "base after the refusal", before, after)
	same(t, "pieces", []string{"a.md: dos", "a.md: tres"}, texts(pieces))
	replace(t, s, org, "clinica", change(cut("a.md", "dos bis", "tres bis")))
	set(0)
	replace(t, s, org, "clinica", change(cut("a.md", "uno"))) // it shrinks
	_, err = s.Replace(ctx, org, "clinica", change(cut("a.md", "uno", "dos")))
	fails(t, "at zero", err, knowledge.QuotaError{Org: org, Limit: 0, Holds: 2, Needs: 3})
	base(t, s, "vecina", "clinica")
	replace(t, s, "vecina", "clinica", change(cut("a.md", "uno")))
}

func listOrgs(t *testing.T, s knowledge.Store) {
	chunks, facts := 10, 0
	q := knowledge.Quota{KnowledgeChunks: &chunks, MemoryFacts: &facts}
	if err := s.SetQuota(t.Context(), "b", q); err != nil {
		t.Fatalf("set quota: %v", err)
	}
	if err := s.SetQuota(t.Context(), "a/b", q); err == nil {
		t.Fatal("a quota for an org that no base may have")
	}
	base(t, s, "a", "uno")
	base(t, s, "a", "dos")
	replace(t, s, "a", "dos", change(cut("a.md", "uno", "dos")))
	list, err := s.Orgs(t.Context())
	if err != nil {
		t.Fatalf("list orgs: %v", err)
	}
	same(t, "orgs", []knowledge.Org{{Name: "a", Bases: 2, Chunks: 2}, {Name: "b", Quota: q}}, list)
}

func vectorsKept(t *testing.T, s knowledge.Store) {
	space := knowledge.Space{Org: org, Model: model, Dim: dim}
	one, two := knowledge.DigestOf("uno"), knowledge.DigestOf("dos")
	if err := s.Keep(t.Context(), space, []knowledge.Digest{one}, [][]float32{vectorOf("uno")}); err != nil {
		t.Fatalf("keep: %v", err)
	}
	if err := s.Keep(t.Context(), space, []knowledge.Digest{two, one}, [][]float32{vectorOf("dos"), vectorOf("otro")}); err != nil {
		t.Fatalf("keep again: %v", err)
	}
	if err := s.Keep(t.Context(), space, []knowledge.Digest{knowledge.DigestOf("tres")}, [][]float32{{1}}); err == nil {
		t.Fatal("kept a vector of another length")
	}
	got, err := s.Vectors(t.Context(), space, []knowledge.Digest{two, knowledge.DigestOf("tres"), one})
	if err != nil {
		t.Fatalf("find vectors: %v", err)
	}
	same(t, "vectors", [][]float32{vectorOf("dos"), nil, vectorOf("uno")}, got)
	for _, other := range []knowledge.Space{{Org: "otra", Model: model, Dim: dim}, {Org: org, Model: "other", Dim: dim}, {Org: org, Model: model, Dim: 2}} {
		got, err := s.Vectors(t.Context(), other, []knowledge.Digest{one})
		if err != nil || got[0] != nil {
			t.Fatalf("vectors of %+v: %v, %v", other, got, err)
		}
	}
	// Those of the pieces of a base are kept with it.
	base(t, s, org, "clinica")
	c := cut("a.md", "cuatro")
	replace(t, s, org, "clinica", change(c))
	got, err = s.Vectors(t.Context(), space, []knowledge.Digest{knowledge.DigestOf(c.Pieces[0].Indexed())})
	if err != nil {
		t.Fatalf("find vectors of a base: %v", err)
	}
	same(t, "vectors of a base", [][]float32{c.Pieces[0].Vector}, got)
}

func sweep(t *testing.T, s knowledge.Store) {
	space := knowledge.Space{Org: org, Model: model, Dim: dim}
	base(t, s, org, "clinica")
	c := cut("a.md", "uno")
	replace(t, s, org, "clinica", change(c))
	unused := knowledge.DigestOf("dos")
	for _, o := range []string{org, "otra"} {
		if err := s.Keep(t.Context(), knowledge.Space{Org: o, Model: model, Dim: dim}, []knowledge.Digest{unused}, [][]float32{vectorOf("dos")}); err != nil {
			t.Fatalf("keep: %v", err)
		}
	}
	for _, step := range []struct {
		before time.Time
		want   int
	}{{time.Now().Add(-time.Hour), 0}, {time.Now().Add(time.Hour), 1}, {time.Now().Add(time.Hour), 0}} {
		if n, err := s.Sweep(t.Context(), org, step.before); err != nil || n != step.want {
			t.Fatalf("swept %d, %v, want %d", n, err, step.want)
		}
	}
	got, err := s.Vectors(t.Context(), space, []knowledge.Digest{knowledge.DigestOf(c.Pieces[0].Indexed()), unused})
	if err != nil {
		t.Fatalf("find vectors: %v", err)
	}
	same(t, "vectors", [][]float32{c.Pieces[0].Vector, nil}, got)
	_, pieces := readAll(t, s, org, "clinica")
	same(t, "pieces", c.Pieces, pieces)
}

// reembed: the base is read as it was until the new vectors are adopted, and
// then has them all.
func reembed(t *testing.T, s knowledge.Store) {
	ctx := t.Context()
	base(t, s, org, "clinica")
	replace(t, s, org, "clinica", change(cut("a.md", "uno", "dos", "dos"), cut("b.md", "tres")))
	if _, err := s.Calibrate(ctx, org, "clinica", &retrieval.Calibration{Embedder: model, Dim: dim, Strong: 0.5}); err != nil {
		t.Fatalf("calibrate: %v", err)
	}
	before, old := readAll(t, s, org, "clinica")
	next := knowledge.Space{Org: org, Model: "next", Dim: 2}
	_, err := s.Adopt(ctx, "clinica", next)
	fails(t, "adopt before anything is staged", err, knowledge.ErrUnstaged)
	staged := 0
	for after := (knowledge.Digest{}); ; staged++ {
		missing, err := s.Missing(ctx, "clinica", next, after, 1)
		if err != nil {
			t.Fatalf("list missing: %v", err)
		}
		if len(missing) == 0 {
			break
		}
		if len(missing) > 1 || missing[0].Digest != knowledge.DigestOf(missing[0].Text) {
			t.Fatalf("missing: %+v", missing)
		}
		after = missing[0].Digest
		if err := s.Keep(ctx, next, []knowledge.Digest{after}, [][]float32{{0.6, 0.8}}); err != nil {
			t.Fatalf("stage: %v", err)
		}
	}
	if staged != 3 {
		t.Fatalf("staged %d texts, want each of 3 once", staged)
	}
	now, pieces := readAll(t, s, org, "clinica")
	same(t, "base while its vectors are staged", before, now)
	same(t, "pieces meanwhile", old, pieces)

	replace(t, s, org, "clinica", change(cut("c.md", "cuatro")))
	_, err = s.Adopt(ctx, "clinica", next)
	fails(t, "adopt after another push", err, knowledge.ErrUnstaged)
	replace(t, s, org, "clinica", knowledge.Change{Remove: []string{"c.md"}})
	adopted, err := s.Adopt(ctx, "clinica", next)
	if err != nil {
		t.Fatalf("adopt: %v", err)
	}
	now, pieces = readAll(t, s, org, "clinica")
	same(t, "base after", adopted, now)
	if now.Model != "next" || now.Dim != 2 || now.Calibration != nil || now.Revision <= before.Revision {
		t.Fatalf("base after: %+v", now)
	}
	for i := range old {
		old[i].Vector = []float32{0.6, 0.8}
	}
	same(t, "pieces after", old, pieces)
	again, err := s.Adopt(ctx, "clinica", next)
	if err != nil {
		t.Fatalf("adopt again: %v", err)
	}
	same(t, "base adopted again", adopted, again)
	_, err = s.Replace(ctx, org, "clinica", change(cut("d.md", "cinco")))
	fails(t, "vectors of the old model", err, retrieval.ErrMismatch{Base: "clinica", Holds: "next", HoldsDim: 2, Got: model, GotDim: dim})
	if _, err := s.Adopt(ctx, "clinica", knowledge.Space{Org: org}); err != nil {
		t.Fatalf("adopt words alone: %v", err)
	}
	_, pieces = readAll(t, s, org, "clinica")
	if pieces[0].Vector != nil {
		t.Fatalf("a piece of a base of words alone has vector %v", pieces[0].Vector)
	}
}

func calibrate(t *testing.T, s knowledge.Store) {
	made := base(t, s, org, "clinica")
	c := &retrieval.Calibration{Embedder: model, Dim: dim, Strong: 0.71, Weak: 0.5, WordsWeight: 1, VectorsWeight: 0.25}
	after, err := s.Calibrate(t.Context(), org, "clinica", c)
	if err != nil || after.Revision <= made.Revision {
		t.Fatalf("calibrate: %+v, %v", after, err)
	}
	held := replace(t, s, org, "clinica", change(cut("a.md", "uno")))
	same(t, "calibration after a push", c, held.Calibration)
	read, _ := readAll(t, s, org, "clinica")
	same(t, "calibration as it is read", c, read.Calibration)
	_, err = s.Calibrate(t.Context(), org, "clinica", &retrieval.Calibration{Embedder: "other", Dim: dim})
	fails(t, "calibration of another embedder", err, retrieval.ErrMismatch{Base: "clinica", Holds: model, HoldsDim: dim, Got: "other", GotDim: dim})
	if after, err = s.Calibrate(t.Context(), org, "clinica", nil); err != nil || after.Calibration != nil {
		t.Fatalf("drop calibration: %+v, %v", after, err)
	}
}

// manyPushes: writers of one base at once, and readers between them, who see
// every file whole.
func manyPushes(t *testing.T, s knowledge.Store) {
	base(t, s, org, "clinica")
	ctx := t.Context()
	errs := make(chan error, 8)
	for w := range 4 {
		go func() {
			path := fmt.Sprintf("%d.md", w)
			var err error
			for round := range 5 {
				text := fmt.Sprintf("ronda %d", round)
				if _, err = s.Replace(ctx, org, "clinica", change(cut(path, text, text, text))); err != nil {
					break
				}
			}
			errs <- err
		}()
		go func() {
			var err error
			for range 5 {
				var b knowledge.Base
				var pieces []knowledge.Piece
				if b, pieces, err = readPieces(ctx, s, org, "clinica"); err == nil && (len(pieces) != b.Chunks || len(pieces)%3 != 0) {
					err = fmt.Errorf("read %d pieces of %d", len(pieces), b.Chunks)
				}
				if err != nil {
					break
				}
			}
			errs <- err
		}()
	}
	for range 8 {
		if err := <-errs; err != nil {
			t.Fatalf("writers and readers: %v", err)
		}
	}
	same(t, "files", []string{"0.md", "1.md", "2.md", "3.md"}, paths(files(t, s, org, "clinica")))
}

// watching: what is changed through one connection is told through another.
func watching(t *testing.T, s, writer knowledge.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	told, done := make(chan string, 100), make(chan error, 1)
	go func() { done <- s.Watch(ctx, func(org, base string) { told <- org + "/" + base }) }()
	await := func(want string) {
		t.Helper()
		for {
			select {
			case got := <-told:
				if got == want || got == "/" && want != "/" { // anything may have changed
					return
				}
			case err := <-done:
				t.Fatalf("watch ended: %v", err)
			case <-ctx.Done():
				t.Fatalf("not told of %s", want)
			}
		}
	}
	await("/")
	base(t, writer, org, "clinica")
	await(org + "/clinica")
	replace(t, writer, org, "clinica", change(cut("a.md", "uno")))
	await(org + "/clinica")
	none := 0
	if err := writer.SetQuota(ctx, org, knowledge.Quota{KnowledgeChunks: &none}); err != nil {
		t.Fatalf("set quota: %v", err)
	}
	await(org + "/")
	if err := writer.Remove(ctx, org, "clinica"); err != nil {
		t.Fatalf("remove: %v", err)
	}
	await(org + "/clinica")
	cancel()
	if err := <-done; err != nil {
		t.Fatalf("watch that was ended: %v", err)
	}
}
