package retrieval_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headstart/retrieval"
)

// TestRank: each arm alone gives the oracle's order to any depth, with marks of that
// arm alone.
func TestRank(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 31))
		c := newCorpus(r, 1+r.IntN(400))
		asks, vector := randomWords(r, 5), randomVector(r)
		e := c.embedder(vector)
		var lib retrieval.Library
		putChunks(t, &lib, "b", c.chunks, e)
		depth := 1 + r.IntN(500)
		for arm, want := range map[retrieval.Arm][]scored{retrieval.Words: c.words(asks), retrieval.Vectors: c.cosines(vector)} {
			got := rankedBy(t, &lib, e, asks, arm, depth)
			if len(got.Chunks) != min(depth, len(want)) {
				t.Fatalf("seed %d, %s: %d of %d to depth %d", seed, arm, len(got.Chunks), len(want), depth)
			}
			for i, one := range got.Chunks {
				h := one.Hit
				if arm == retrieval.Words {
					rightMark(t, seed, want, h.ID, h.BM25, h.WordRank)
				} else {
					rightMark(t, seed, want, h.ID, h.Cosine, h.VectorRank)
				}
				if max(h.WordRank, h.VectorRank) != i+1 || min(h.WordRank, h.VectorRank) != 0 || one.Chunk.ID != h.ID || one.Base != "b" {
					t.Fatalf("seed %d, %s: place %d is %+v", seed, arm, i+1, one)
				}
			}
			if d := cmp.Diff([]retrieval.Branch{arm}, got.Branches); d != "" {
				t.Fatal(d)
			}
		}
	}
}

// TestRankIsTheSearch: to the pool's depth it is the order of the passages, where
// each chunk is a passage.
func TestRankIsTheSearch(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 32))
		c := newCorpus(r, 1+r.IntN(400))
		asks, e := randomWords(r, 5), c.embedder(randomVector(r))
		var lib retrieval.Library
		putChunks(t, &lib, "b", c.chunks, e)
		q := ask(asks, retrieval.Attachment{Base: "b", K: 100})
		q.Ranks = seed%2 == 0
		res, err := retrieval.NewSearcher(&lib, e).Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range res.Passages {
			if place := p.Hits[0].Fused; q.Ranks && place != i+1 || !q.Ranks && place != 0 {
				t.Fatalf("seed %d: passage %d has place %d after the fusion, asked for places: %v", seed, i+1, place, q.Ranks)
			}
		}
		want := ids(res)
		got := rankedIDs(rankedBy(t, &lib, e, asks, "", retrieval.Pool))
		if d := cmp.Diff(want[:min(len(want), retrieval.Pool)], got); d != "" {
			t.Fatalf("seed %d (-search +ranked):\n%s", seed, d)
		}
	}
}

func rankedIDs(r retrieval.Ranked) []string {
	list := []string{}
	for _, one := range r.Chunks {
		list = append(list, one.Chunk.ID)
	}
	return list
}

func rankedBy(t *testing.T, lib *retrieval.Library, e retrieval.Embedder, asks string, arm retrieval.Arm, depth int) retrieval.Ranked {
	t.Helper()
	got, err := retrieval.NewSearcher(lib, e).Rank(t.Context(), retrieval.Ranking{Query: ask(asks, retrieval.Attachment{Base: "b"}), Depth: depth, Arm: arm})
	if err != nil || got.Degraded != nil {
		t.Fatal(err, got.Degraded)
	}
	return got
}

func TestRankRefuses(t *testing.T) {
	t.Parallel()
	s := retrieval.NewSearcher(library(t, "clinica", handbook, nil), nil)
	_, err := s.Rank(t.Context(), retrieval.Ranking{Query: ask("tarifas"), Depth: 10, Arm: retrieval.Vectors})
	if !errors.Is(err, retrieval.ErrNoVectors) {
		t.Fatalf("vectors of a base without: %v", err)
	}
	if _, err := s.Rank(t.Context(), retrieval.Ranking{Depth: 10}); !errors.Is(err, retrieval.ErrNoBase) {
		t.Fatalf("no base: %v", err)
	}
}

// TestRankBetween: a follow-up is ranked by the vector that lies between the
// question's and that of both together, as if that had been asked.
func TestRankBetween(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 33))
		c := newCorpus(r, 1+r.IntN(1500))
		plain, together := randomVector(r), randomVector(r)
		unitLength(plain)
		unitLength(together)
		e := fake{"table", 11, 1, func(ctx context.Context, texts []string) ([][]float32, error) {
			if strings.Contains(texts[0], "\n") {
				return [][]float32{together}, nil
			}
			return c.embedder(plain).Embed(ctx, texts)
		}}
		between := make([]float32, len(plain))
		for i := range between {
			between[i] = plain[i] + together[i]
		}
		var lib retrieval.Library
		putChunks(t, &lib, "b", c.chunks, c.embedder(plain))
		q := ask(randomWords(r, 3), retrieval.Attachment{Base: "b"})
		q.Before = []string{randomWords(r, 3)}
		got, err := retrieval.NewSearcher(&lib, e).Rank(t.Context(), retrieval.Ranking{Query: q, Depth: retrieval.Pool, Arm: retrieval.Vectors})
		if err != nil || !got.Followed {
			t.Fatal(err)
		}
		check(t, seed, "between", c.cosines(between), rankedIDs(got))
	}
}
