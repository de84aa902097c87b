package postgres_test

import (
	"context"
	"fmt"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"headstart/retrieval"
	"headstart/retrieval/analyse"
	"headstart/retrieval/beir"
	"headstart/retrieval/chunk"
	"headstart/retrieval/embed"
	"headstart/retrieval/knowledge"
	"headstart/store/postgres"
)

// held is a base as it is read.
type held struct {
	base    knowledge.Base
	chunks  []chunk.Chunk
	vectors []float32
	words   [][]string // of each chunk
}

func readBase(t testing.TB, db *postgres.DB, org, name string) held {
	t.Helper()
	var h held
	err := db.Read(t.Context(), org, name, func(b knowledge.Base, pieces iter.Seq2[knowledge.Piece, error]) error {
		h.base = b
		for p, err := range pieces {
			if err != nil {
				return err
			}
			h.chunks, h.vectors = append(h.chunks, p.Chunk), append(h.vectors, p.Vector...)
			h.words = append(h.words, strings.Fields(p.Text))
		}
		return nil
	})
	if err != nil {
		t.Fatalf("read base: %v", err)
	}
	return h
}

// cosines compares every vector.
func (h held) cosines(vector []float32) []float64 {
	all := make([]float64, len(h.chunks))
	for i := range h.chunks {
		for j, x := range vector {
			all[i] += float64(x) * float64(h.vectors[i*len(vector)+j])
		}
	}
	return all
}

// nearest are the ids of the k best.
func (h held) nearest(vector []float32, k int) []string {
	cosines, order := h.cosines(vector), make([]int, len(h.chunks))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return -compare(cosines[a], cosines[b]) })
	var list []string
	for _, i := range order[:k] {
		list = append(list, h.chunks[i].ID)
	}
	return list
}

// matching counts the pieces that are a candidate of either branch.
func (h held) matching(q retrieval.LargeQuery) (n int) {
	floor := math.Inf(1)
	var cosines []float64
	if len(q.Vector) > 0 {
		cosines = h.cosines(q.Vector)
		if floor = q.Weak; q.Weak > -1 {
			floor = max(floor, retrieval.VectorMargin*slices.Max(cosines))
		}
	}
	for i, words := range h.words {
		if slices.ContainsFunc(q.Terms, func(term string) bool { return slices.Contains(words, term) }) || cosines != nil && cosines[i] >= floor {
			n++
		}
	}
	return n
}

func restored(t testing.TB, db *postgres.DB, org, name string) *retrieval.Segment {
	t.Helper()
	h := readBase(t, db, org, name)
	seg, err := retrieval.Restore(name, h.base.Language, h.base.Model, h.base.Dim, h.chunks, h.vectors)
	if err != nil {
		t.Fatalf("restore: %v", err)
	}
	return seg
}

// fixed embeds every question as one vector.
type fixed struct {
	dim    int
	vector []float32
}

func (f fixed) Name() string { return model }
func (f fixed) Dim() int     { return f.dim }
func (f fixed) Embed(_ context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i := range vectors {
		vectors[i] = slices.Clone(f.vector)
	}
	return vectors, nil
}

// rankedBy is what the search in memory makes of a question.
func rankedBy(t testing.TB, seg *retrieval.Segment, e retrieval.Embedder, question string, k int) []retrieval.RankedChunk {
	t.Helper()
	library := &retrieval.Library{}
	library.Put(tenant, seg)
	ranked, err := retrieval.NewSearcher(library, e).Rank(t.Context(), retrieval.Ranking{
		Query: retrieval.Query{Org: tenant, Text: question, Bases: []retrieval.Attachment{{Base: seg.Base()}}}, Depth: k,
	})
	if err != nil {
		t.Fatalf("rank in memory: %v", err)
	}
	return ranked.Chunks
}

// even counts both branches the same: a hashing embedder alone would leave the
// vectors next to nothing to say.
type even struct{ retrieval.Embedder }

// The search in memory and the one in PostgreSQL agree on the same corpora: the
// same first hit for at least 95 questions in 100, and nine of the first ten.
func TestAgreesWithMemory(t *testing.T) {
	t.Parallel()
	shared := os.Getenv("HEADSTART_SHARED")
	if shared == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("HEADSTART_SHARED is not set, and CI=true")
		}
		t.Skip("HEADSTART_SHARED does not name the folder of judged collections")
	}
	for _, c := range []struct {
		name, language string
		questions      int
	}{{"xquad-es", "es", 400}, {"scifact", "en", 300}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			agree(t, filepath.Join(shared, "data", "beir", c.name), c.language, c.questions)
		})
	}
}

func agree(t *testing.T, dir, language string, questions int) {
	db, e := open(t, migrated(t)), even{embed.Hashing(128)}
	shelve(t, db, dir, language, e)
	seg := restored(t, db, tenant, "docs")
	analyser := analyse.New(language)
	asked, first, overlap := 0, 0, 0.0
	for q, err := range beir.Queries(dir) {
		if err != nil {
			t.Fatalf("read questions: %v", err)
		}
		if asked == questions {
			break
		}
		memory := rankedBy(t, seg, e, q.Text, 10)
		vector, err := retrieval.EmbedQuery(t.Context(), e, q.Text)
		if err != nil {
			t.Fatalf("embed: %v", err)
		}
		hits := search(t, db, retrieval.LargeQuery{
			Org: tenant, Base: "docs", Terms: analyser.Terms(q.Text), Vector: vector, Weak: retrieval.DefaultWeak, WordsWeight: 1, VectorsWeight: 1, K: 10,
		})
		if len(memory) == 0 && len(hits) == 0 {
			continue
		}
		asked++
		if len(memory) > 0 && len(hits) > 0 && memory[0].Chunk.ID == hits[0].Chunk.ID {
			first++
		}
		overlap += shareOf(memory, hits)
	}
	same, common := float64(first)/float64(asked), overlap/float64(asked)
	t.Logf("%d questions: the same first hit in %.1f %%, overlap of the first ten %.3f", asked, 100*same, common)
	if asked < 200 || same < 0.95 || common < 0.9 {
		t.Fatalf("%d questions: the same first hit in %.1f %%, want 95; overlap of the first ten %.3f, want 0.9", asked, 100*same, common)
	}
}

// shareOf is how much of the longer list both have.
func shareOf(memory []retrieval.RankedChunk, hits []retrieval.LargeHit) float64 {
	list, common := ids(hits), 0
	for _, c := range memory {
		if slices.Contains(list, c.Chunk.ID) {
			common++
		}
	}
	return float64(common) / float64(max(len(memory), len(hits)))
}

// shelve brings a collection into a base, each document a piece, and indexes it.
func shelve(t testing.TB, db *postgres.DB, dir, language string, e retrieval.Embedder) {
	t.Helper()
	if _, err := db.Make(t.Context(), knowledge.Base{Org: tenant, Name: "docs", Language: language, Model: e.Name(), Dim: e.Dim()}); err != nil {
		t.Fatalf("make base: %v", err)
	}
	var c knowledge.Change
	flush := func() {
		t.Helper()
		c.Model, c.Dim = e.Name(), e.Dim()
		if _, err := db.Replace(t.Context(), tenant, "docs", c); err != nil {
			t.Fatalf("shelve: %v", err)
		}
		c = knowledge.Change{}
	}
	n := 0
	for d, err := range beir.Documents(dir) {
		if err != nil {
			t.Fatalf("read documents: %v", err)
		}
		path := fmt.Sprintf("%06d.md", n)
		piece := knowledge.Piece{Chunk: chunk.Chunk{ID: d.ID, Path: path, Heading: d.Title, Text: d.Text}}
		vectors, err := e.Embed(t.Context(), []string{piece.Indexed()})
		if err != nil {
			t.Fatalf("embed: %v", err)
		}
		piece.Vector = vectors[0]
		c.Put = append(c.Put, knowledge.Cut{File: knowledge.File{Path: path}, Pieces: []knowledge.Piece{piece}})
		if n++; n%500 == 0 {
			flush()
		}
	}
	flush()
	if err := db.Index(t.Context(), tenant, "docs"); err != nil {
		t.Fatalf("index: %v", err)
	}
}
