package retrieval_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"headstart/retrieval"
	"headstart/retrieval/chunk"
)

const benchDim = 384

var sizes = []int{1_000, 10_000, 100_000}

// benchCorpus is made once for all benchmarks, and a size of it is its beginning.
var benchCorpus = sync.OnceValues(func() ([]chunk.Chunk, []float32) {
	n := sizes[len(sizes)-1]
	return benchChunks(n), benchVectors(n)
})

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

// benchVectors are gathered about 300 topics, so that a question has a few thousand
// that are near and many that are not far, as with a model of language.
func benchVectors(n int) []float32 {
	r := rand.New(rand.NewPCG(1, 8))
	topics := make([]float32, 300*benchDim)
	for i := range topics {
		topics[i] = float32(r.NormFloat64())
	}
	list := make([]float32, 0, n*benchDim)
	for range n {
		topic := topics[r.IntN(300)*benchDim:]
		for i := range benchDim {
			list = append(list, 0.5+topic[i]+float32(r.Float64()*4-2))
		}
		unitLength(list[len(list)-benchDim:])
	}
	return list
}

func unitLength(v []float32) {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
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

// benchQuestions ask for five words each, from common to rare.
func benchQuestions() []string {
	list := make([]string, 50)
	for i := range list {
		words := []string{benchWord(3 + i%4), benchWord(40 + i), benchWord(400 + i), benchWord(2000 + i), benchWord(15000 + i)}
		list[i] = strings.Join(words, " ")
	}
	return list
}

// BenchmarkSearch asks one question after another; the embedder answers at once,
// so that what is measured is the search.
func BenchmarkSearch(b *testing.B) {
	for _, n := range sizes {
		chunks, vectors := benchCorpus()
		seg, err := retrieval.Restore("clinica", "es", "ready", benchDim, chunks[:n], vectors[:n*benchDim])
		if err != nil {
			b.Fatal(err)
		}
		var lib retrieval.Library
		lib.Put("org", seg)
		nth := 0
		ready := fake{"ready", benchDim, 1, func(context.Context, []string) ([][]float32, error) {
			nth = (nth + 1) % n
			return [][]float32{vectors[nth*benchDim : (nth+1)*benchDim]}, nil
		}}
		b.Run(fmt.Sprintf("words/%d", n), func(b *testing.B) { benchSearch(b, retrieval.NewSearcher(&lib, nil)) })
		b.Run(fmt.Sprintf("both/%d", n), func(b *testing.B) { benchSearch(b, retrieval.NewSearcher(&lib, ready)) })
		b.Run(fmt.Sprintf("follow/%d", n), func(b *testing.B) {
			benchSearch(b, retrieval.NewSearcher(&lib, serial(ready)), benchWord(70)+" "+benchWord(80))
		})
	}
}

// serial lets one question in at a time: two are embedded side by side.
func serial(e fake) fake {
	var one sync.Mutex
	answer := e.answer
	e.answer = func(ctx context.Context, texts []string) ([][]float32, error) {
		one.Lock()
		defer one.Unlock()
		return answer(ctx, texts)
	}
	return e
}

func benchSearch(b *testing.B, s *retrieval.Searcher, before ...string) {
	b.Helper()
	questions := benchQuestions()
	q := ask("")
	q.Before = before
	i := 0
	b.ReportAllocs()
	var times latencies
	for b.Loop() {
		q.Text = questions[i%len(questions)]
		if before != nil {
			q.Text = "y " + q.Text
		}
		i++
		times.begin()
		if r, err := s.Search(b.Context(), q); err != nil || len(r.Passages) == 0 {
			b.Fatal(r, err)
		}
		times.end()
	}
	times.report(b)
}

func BenchmarkBuild(b *testing.B) {
	for _, n := range sizes {
		all, _ := benchCorpus()
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := retrieval.Build(b.Context(), "clinica", "es", all[:n], nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
