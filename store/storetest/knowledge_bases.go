package storetest

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"headstart/retrieval"
	"headstart/retrieval/knowledge"
)

func unknownBase(t *testing.T, s knowledge.Store) {
	ctx := t.Context()
	_, _, filesErr := s.Files(ctx, org, "nada")
	_, _, readErr := readPieces(ctx, s, org, "nada")
	_, replaceErr := s.Replace(ctx, org, "nada", change(cut("a.md", "hola")))
	_, adoptErr := s.Adopt(ctx, "nada", knowledge.Space{Org: org, Model: model, Dim: dim})
	_, calibrateErr := s.Calibrate(ctx, org, "nada", nil)
	for what, err := range map[string]error{
		"files": filesErr, "read": readErr, "replace": replaceErr, "adopt": adoptErr, "calibrate": calibrateErr,
		"remove": s.Remove(ctx, org, "nada"),
	} {
		fails(t, what, err, knowledge.ErrUnknownBase)
	}
	all, err := s.AllBases(ctx)
	if err != nil || len(all) != 0 {
		t.Fatalf("bases of an empty store: %v, %v", all, err)
	}
}

func makeTwice(t *testing.T, s knowledge.Store) {
	first := base(t, s, org, "clinica")
	if first.Revision <= 0 || first.Updated.IsZero() {
		t.Fatalf("a base without revision or time: %+v", first)
	}
	same(t, "made again", first, base(t, s, org, "clinica"))
	_, pieces := readAll(t, s, org, "clinica")
	same(t, "pieces of an empty base", []knowledge.Piece(nil), pieces)
	same(t, "files of an empty base", []knowledge.File(nil), files(t, s, org, "clinica"))
	portuguese, err := s.Make(t.Context(), knowledge.Base{Org: org, Name: "clinica", Language: "pt", Model: model, Dim: dim})
	if err != nil || portuguese.Language != "pt" || portuguese.Revision <= first.Revision {
		t.Fatalf("made again in another language: %+v, %v", portuguese, err)
	}
}

func makeOther(t *testing.T, s knowledge.Store) {
	base(t, s, org, "clinica")
	other := knowledge.Base{Org: org, Name: "clinica", Language: "es", Model: "other", Dim: 2}
	b, err := s.Make(t.Context(), other)
	if err != nil || b.Model != "other" || b.Dim != 2 {
		t.Fatalf("another model while it is empty: %+v, %v", b, err)
	}
	base(t, s, org, "clinica")
	held := replace(t, s, org, "clinica", change(cut("a.md", "hola")))
	_, err = s.Make(t.Context(), other)
	want := retrieval.ErrMismatch{Base: "clinica", Holds: model, HoldsDim: dim, Got: "other", GotDim: 2}
	fails(t, "another model for a base with chunks", err, want)
	after, _ := readAll(t, s, org, "clinica")
	same(t, "base after the refusal", held, after)
}

func makeNames(t *testing.T, s knowledge.Store) {
	for _, name := range []string{"", ".", "..", "a/b", "a b", "a\x00", strings.Repeat("a", 65), "-a"} {
		if _, err := s.Make(t.Context(), knowledge.Base{Org: org, Name: name, Language: "es"}); err == nil {
			t.Fatalf("made a base named %q", name)
		}
		if _, err := s.Make(t.Context(), knowledge.Base{Org: name, Name: "a", Language: "es"}); err == nil {
			t.Fatalf("made a base of an org named %q", name)
		}
	}
}

func knowledgeRoundTrip(t *testing.T, s knowledge.Store) {
	made := base(t, s, org, "clinica")
	second, first := cut("b/z.md", "uno ñ \"'", "dos\n\n| a | b |", "tres ‽ 😀"), cut("b.md", "cuatro")
	empty := cut("c.md")
	after := replace(t, s, org, "clinica", change(second, first, empty))
	if after.Revision <= made.Revision || after.Files != 3 || after.Chunks != 4 {
		t.Fatalf("base after the change: %+v", after)
	}
	b, pieces := readAll(t, s, org, "clinica")
	same(t, "base", after, b)
	same(t, "pieces", append(slices.Clone(first.Pieces), second.Pieces...), pieces)
	_, listed, err := s.Files(t.Context(), org, "clinica")
	if err != nil {
		t.Fatalf("list files: %v", err)
	}
	want := []knowledge.File{first.File, second.File, empty.File}
	for i := range want {
		want[i].Updated = after.Updated
	}
	want[0].Chunks, want[1].Chunks = 1, 3
	same(t, "files", want, listed)
	bases, err := s.Bases(t.Context(), org)
	if err != nil {
		t.Fatalf("list bases: %v", err)
	}
	same(t, "bases", []knowledge.Base{after}, bases)
}

func wordsAlone(t *testing.T, s knowledge.Store) {
	if _, err := s.Make(t.Context(), knowledge.Base{Org: org, Name: "clinica", Language: "es"}); err != nil {
		t.Fatalf("make base: %v", err)
	}
	c := cut("a.md", "hola")
	c.Pieces[0].Vector = nil
	replace(t, s, org, "clinica", knowledge.Change{Put: []knowledge.Cut{c}})
	_, pieces := readAll(t, s, org, "clinica")
	same(t, "pieces", c.Pieces, pieces)
}

func replaceWhole(t *testing.T, s knowledge.Store) {
	base(t, s, org, "clinica")
	before := replace(t, s, org, "clinica", change(cut("a.md", "uno", "dos"), cut("b.md", "tres")))
	bad := cut("c.md", "cuatro")
	bad.Pieces[0].Vector = []float32{1}
	c := change(cut("a.md", "otro"), bad)
	c.Remove = []string{"b.md"}
	if _, err := s.Replace(t.Context(), org, "clinica", c); err == nil {
		t.Fatal("a vector of another length was taken")
	}
	after, pieces := readAll(t, s, org, "clinica")
	same(t, "base after a change that failed", before, after)
	same(t, "pieces", []string{"a.md: uno", "a.md: dos", "b.md: tres"}, texts(pieces))

	after = replace(t, s, org, "clinica", knowledge.Change{Remove: []string{"nada.md"}})
	same(t, "base after a change of nothing", before, after)
	c = change(cut("a.md", "otro"))
	c.Remove = []string{"b.md", "nada.md"}
	after = replace(t, s, org, "clinica", c)
	_, pieces = readAll(t, s, org, "clinica")
	same(t, "pieces after", []string{"a.md: otro"}, texts(pieces))
	if after.Files != 1 || after.Chunks != 1 {
		t.Fatalf("counted %d files, %d chunks", after.Files, after.Chunks)
	}
}

func replacePaths(t *testing.T, s knowledge.Store) {
	base(t, s, org, "clinica")
	for _, path := range []string{"", ".", "../a.md", "/a.md", "a//b.md", "a\x00.md", strings.Repeat("a", 1025)} {
		if _, err := s.Replace(t.Context(), org, "clinica", change(cut(path, "hola"))); err == nil {
			t.Fatalf("put a file at %q", path)
		}
	}
}

func replaceOther(t *testing.T, s knowledge.Store) {
	made := base(t, s, org, "clinica")
	c := change(cut("a.md", "hola"))
	c.Model = "other"
	_, err := s.Replace(t.Context(), org, "clinica", c)
	fails(t, "vectors of another model", err, retrieval.ErrMismatch{Base: "clinica", Holds: model, HoldsDim: dim, Got: "other", GotDim: dim})
	after, pieces := readAll(t, s, org, "clinica")
	same(t, "base", made, after)
	same(t, "pieces", []knowledge.Piece(nil), pieces)
}

// versions: five chunks, then three, then five again. Nothing of one is in
// another, and nothing twice.
func versions(t *testing.T, s knowledge.Store) {
	base(t, s, org, "clinica")
	v1 := cut("a.md", "uno", "dos", "tres", "cuatro", "cinco")
	v2 := cut("a.md", "uno", "dos bis", "tres")
	for round, want := range []knowledge.Cut{v1, v2, v1, v1} {
		after := replace(t, s, org, "clinica", change(want))
		_, pieces := readAll(t, s, org, "clinica")
		same(t, fmt.Sprintf("pieces of version %d", round), want.Pieces, pieces)
		if after.Chunks != len(want.Pieces) || after.Files != 1 {
			t.Fatalf("version %d counts %d files, %d chunks", round, after.Files, after.Chunks)
		}
	}
}

// oneState: a base that changes while it is read is read as it was.
func oneState(t *testing.T, s knowledge.Store) {
	base(t, s, org, "clinica")
	before := cut("a.md", "uno", "dos", "tres")
	replace(t, s, org, "clinica", change(before))
	var got []knowledge.Piece
	err := s.Read(t.Context(), org, "clinica", func(b knowledge.Base, pieces iter.Seq2[knowledge.Piece, error]) error {
		replace(t, s, org, "clinica", change(cut("a.md", "otro"), cut("b.md", "más")))
		for p, err := range pieces {
			if err != nil {
				return err
			}
			if len(got) == 0 {
				replace(t, s, org, "clinica", knowledge.Change{Remove: []string{"a.md"}})
			}
			got = append(got, p)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	same(t, "pieces", before.Pieces, got)
	_, pieces := readAll(t, s, org, "clinica")
	same(t, "pieces after", []string{"b.md: más"}, texts(pieces))
}

func stopsEarly(t *testing.T, s knowledge.Store) {
	base(t, s, org, "clinica")
	replace(t, s, org, "clinica", change(cut("a.md", "uno", "dos", "tres")))
	enough := errors.New("enough")
	err := s.Read(t.Context(), org, "clinica", func(_ knowledge.Base, pieces iter.Seq2[knowledge.Piece, error]) error {
		for range pieces {
			return enough
		}
		return nil
	})
	fails(t, "read that stops early", err, enough)
	_, pieces := readAll(t, s, org, "clinica")
	same(t, "pieces", []string{"a.md: uno", "a.md: dos", "a.md: tres"}, texts(pieces))
}

func removeBase(t *testing.T, s knowledge.Store) {
	base(t, s, org, "clinica")
	base(t, s, org, "otra")
	replace(t, s, org, "clinica", change(cut("a.md", "uno")))
	replace(t, s, org, "otra", change(cut("a.md", "dos")))
	if err := s.Remove(t.Context(), org, "clinica"); err != nil {
		t.Fatalf("remove: %v", err)
	}
	fails(t, "remove again", s.Remove(t.Context(), org, "clinica"), knowledge.ErrUnknownBase)
	base(t, s, org, "clinica")
	_, pieces := readAll(t, s, org, "clinica")
	same(t, "pieces of a base that was removed and made again", []knowledge.Piece(nil), pieces)
	_, pieces = readAll(t, s, org, "otra")
	same(t, "pieces of the other", []string{"a.md: dos"}, texts(pieces))
}

func revisions(t *testing.T, s knowledge.Store) {
	seen := map[int64]bool{}
	note := func(b knowledge.Base) {
		if seen[b.Revision] {
			t.Fatalf("revision %d twice", b.Revision)
		}
		seen[b.Revision] = true
	}
	for range 2 {
		note(base(t, s, org, "clinica"))
		note(base(t, s, "otra", "clinica"))
		note(replace(t, s, org, "clinica", change(cut("a.md", "uno"))))
		note(replace(t, s, org, "clinica", change(cut("a.md", "dos"))))
		for _, o := range []string{org, "otra"} {
			if err := s.Remove(t.Context(), o, "clinica"); err != nil {
				t.Fatalf("remove: %v", err)
			}
		}
	}
}

func knowledgeOrgs(t *testing.T, s knowledge.Store) {
	for _, o := range []string{"a", "b"} {
		base(t, s, o, "clinica")
		replace(t, s, o, "clinica", change(cut("a.md", "de "+o)))
	}
	if err := s.Remove(t.Context(), "a", "clinica"); err != nil {
		t.Fatalf("remove: %v", err)
	}
	_, pieces := readAll(t, s, "b", "clinica")
	same(t, "pieces of b", []string{"a.md: de b"}, texts(pieces))
	if list, err := s.Bases(t.Context(), "a"); err != nil || len(list) != 0 {
		t.Fatalf("bases of a: %v, %v", list, err)
	}
	kept, err := s.Vectors(t.Context(), knowledge.Space{Org: "c", Model: model, Dim: dim}, []knowledge.Digest{knowledge.DigestOf(pieces[0].Indexed())})
	if err != nil {
		t.Fatalf("find vectors: %v", err)
	}
	same(t, "vectors of another org", [][]float32{nil}, kept)
}
