package retrieval_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"headstart/retrieval"
	"headstart/retrieval/chunk"
	"headstart/retrieval/embed"
)

const benchDim = 256

// benchChunks makes n chunks of 60 words, drawn so that word r of 20,000 comes
// about once in r words: some are in most chunks, most are in few.
func benchChunks(n int) []chunk.Chunk {
	r := rand.New(rand.NewPCG(1, 7))
	zipf := rand.NewZipf(r, 1.1, 4, 19_999)
	list := make([]chunk.Chunk, n)
	words := make([]string, 60)
	for i := range list {
		for j := range words {
			words[j] = benchWord(int(zipf.Uint64()))
		}
		list[i] = chunk.Chunk{ID: fmt.Sprintf("%08d", i), Path: "b.md", Heading: "Título", Text: strings.Join(words, " "), Seq: i}
	}
	return list
}

// benchWord is a word of letters alone, so that it is no code.
func benchWord(n int) string {
	var b strings.Builder
	b.WriteString("pal")
	for range 4 {
		b.WriteByte("bcdfglmnrstp"[n%12])
		b.WriteByte("aeiou"[n%5])
		n /= 12
	}
	return b.String()
}

// benchQuestion asks for five words, from common to rare.
func benchQuestion() string {
	return strings.Join([]string{benchWord(3), benchWord(40), benchWord(400), benchWord(2000), benchWord(15000)}, " ")
}

var sizes = []int{1_000, 10_000, 100_000}

func BenchmarkSearch(b *testing.B) {
	hash := embed.Hashing(benchDim)
	vectors, err := hash.Embed(b.Context(), []string{benchQuestion()})
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range sizes {
		seg, err := retrieval.Build(b.Context(), "clinica", "es", benchChunks(n), hash)
		if err != nil {
			b.Fatal(err)
		}
		var lib retrieval.Library
		lib.Put("org", seg)
		// The embedder answers at once: what is measured is the search.
		ready := fake{hash.Name(), benchDim, 1, func(context.Context, []string) ([][]float32, error) { return vectors, nil }}
		b.Run(fmt.Sprintf("words/%d", n), func(b *testing.B) { benchSearch(b, retrieval.NewSearcher(&lib, nil)) })
		b.Run(fmt.Sprintf("both/%d", n), func(b *testing.B) { benchSearch(b, retrieval.NewSearcher(&lib, ready)) })
		b.Run(fmt.Sprintf("follow/%d", n), func(b *testing.B) { benchSearch(b, retrieval.NewSearcher(&lib, ready), "y "+benchWord(70)) })
	}
}

func benchSearch(b *testing.B, s *retrieval.Searcher, before ...string) {
	b.Helper()
	q := ask(benchQuestion())
	if before != nil {
		q.Text, q.Before = "y "+q.Text, before
	}
	b.ReportAllocs()
	for b.Loop() {
		if r, err := s.Search(b.Context(), q); err != nil || len(r.Passages) == 0 {
			b.Fatal(r, err)
		}
	}
}

func BenchmarkBuild(b *testing.B) {
	for _, n := range sizes {
		chunks := benchChunks(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := retrieval.Build(b.Context(), "clinica", "es", chunks, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
