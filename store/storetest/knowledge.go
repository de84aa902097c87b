package storetest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"headstart/retrieval/chunk"
	"headstart/retrieval/knowledge"
)

// Knowledge holds an implementation to what package knowledge asks of a store.
// open makes an empty store that lasts as long as its test, and returns a way to
// it: each call is another connection, as another process would have.
func Knowledge(t *testing.T, open func(t *testing.T) (connect func() knowledge.Store)) {
	t.Helper()
	for _, c := range []struct {
		name string
		test func(*testing.T, knowledge.Store)
	}{
		{"UnknownBase", unknownBase},
		{"MakeIsAskedTwice", makeTwice},
		{"MakeRefusesAnotherModel", makeOther},
		{"MakeRefusesNames", makeNames},
		{"RoundTrip", knowledgeRoundTrip},
		{"WordsAlone", wordsAlone},
		{"ReplaceIsWhole", replaceWhole},
		{"ReplaceRefusesPaths", replacePaths},
		{"ReplaceRefusesOtherVectors", replaceOther},
		{"VersionsLeaveNothingBehind", versions},
		{"ReadIsOfOneState", oneState},
		{"ReadStopsEarly", stopsEarly},
		{"Remove", removeBase},
		{"RevisionsAreNeverUsedTwice", revisions},
		{"OrgsAreApart", knowledgeOrgs},
		{"Quota", quota},
		{"ListOrgs", listOrgs},
		{"VectorsAreKept", vectorsKept},
		{"Sweep", sweep},
		{"Reembed", reembed},
		{"Calibrate", calibrate},
		{"ManyWriters", manyPushes},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.test(t, open(t)())
		})
	}
	t.Run("WatchTellsOfOwn", func(t *testing.T) {
		t.Parallel()
		s := open(t)()
		watching(t, s, s)
	})
	t.Run("WatchTellsOfOthers", func(t *testing.T) {
		t.Parallel()
		connect := open(t)
		watching(t, connect(), connect())
	})
}

const (
	model = "test-model"
	dim   = 4
)

// base makes a base of the test's model.
func base(t *testing.T, s knowledge.Store, org, name string) knowledge.Base {
	t.Helper()
	b, err := s.Make(t.Context(), knowledge.Base{Org: org, Name: name, Language: "es", Model: model, Dim: dim})
	if err != nil {
		t.Fatalf("make base %s: %v", name, err)
	}
	return b
}

// cut makes a file of one piece a text, each with a vector of its own.
func cut(path string, texts ...string) knowledge.Cut {
	whole := strings.Join(texts, "\n\n")
	c := knowledge.Cut{File: knowledge.File{Path: path, SHA256: sha256.Sum256([]byte(whole)), Format: chunk.Format, Bytes: int64(len(whole))}}
	for i, text := range texts {
		c.Pieces = append(c.Pieces, knowledge.Piece{
			Chunk: chunk.Chunk{
				ID: fmt.Sprintf("%s#%d", path, i), Path: path, Heading: "Tarifas › Revisión", Text: text, Seq: i,
				Section: 3, Glue: " ", Repeats: i, Oversize: i%2 == 1,
			},
			Vector: vectorOf(text),
		})
	}
	return c
}

// vectorOf is a unit vector that is the text's own.
func vectorOf(text string) []float32 {
	sum := sha256.Sum256([]byte(text))
	v, square := make([]float32, dim), 0.0
	for i := range v {
		v[i] = float32(sum[i]) - 127.5
		square += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(square))
	}
	return v
}

func change(put ...knowledge.Cut) knowledge.Change {
	return knowledge.Change{Model: model, Dim: dim, Put: put}
}

func replace(t *testing.T, s knowledge.Store, org, base string, c knowledge.Change) knowledge.Base {
	t.Helper()
	b, err := s.Replace(t.Context(), org, base, c)
	if err != nil {
		t.Fatalf("change base %s: %v", base, err)
	}
	return b
}

// readAll is a base with all its pieces.
func readAll(t *testing.T, s knowledge.Store, org, name string) (knowledge.Base, []knowledge.Piece) {
	t.Helper()
	b, pieces, err := readPieces(t.Context(), s, org, name)
	if err != nil {
		t.Fatalf("read base %s: %v", name, err)
	}
	return b, pieces
}

func readPieces(ctx context.Context, s knowledge.Store, org, name string) (b knowledge.Base, list []knowledge.Piece, err error) {
	err = s.Read(ctx, org, name, func(found knowledge.Base, pieces iter.Seq2[knowledge.Piece, error]) error {
		b = found
		for p, err := range pieces {
			if err != nil {
				return err
			}
			list = append(list, p)
		}
		return nil
	})
	return b, list, err
}

func files(t *testing.T, s knowledge.Store, org, name string) []knowledge.File {
	t.Helper()
	_, list, err := s.Files(t.Context(), org, name)
	if err != nil {
		t.Fatalf("list files of %s: %v", name, err)
	}
	return list
}

func paths(list []knowledge.File) []string {
	var names []string
	for _, f := range list {
		names = append(names, f.Path)
	}
	return names
}

func texts(list []knowledge.Piece) []string {
	var all []string
	for _, p := range list {
		all = append(all, p.Path+": "+p.Text)
	}
	return all
}

// nearly lets vectors lose what 16-bit floats lose.
var nearly = cmpopts.EquateApprox(0, 1e-3)

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got, nearly, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

func fails(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("%s: %v, want %v", what, err, want)
	}
}
