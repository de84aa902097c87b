package rivals_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/philippgille/chromem-go"

	"headstart/retrieval"
	"headstart/retrieval/beir"
	"headstart/retrieval/chunk"
	"headstart/retrieval/embed"
)

const (
	dim   = 384
	depth = 10
)

// set is SciFact, with the same vectors for all: of hashed words, since what is
// measured is the search.
type set struct {
	documents []beir.Document
	queries   []beir.Query
	judged    beir.Qrels
	vectors   map[string][]float32 // by the id of a document
	asked     [][]float32          // of each query
}

var sciFact = sync.OnceValues(func() (*set, error) {
	dir := filepath.Join(os.Getenv("HEADSTART_SHARED"), "data", "beir", "scifact")
	s := &set{vectors: map[string][]float32{}}
	var err error
	if s.judged, err = beir.ReadQrels(dir); err != nil {
		return nil, err
	}
	for d, err := range beir.Documents(dir) {
		if err != nil {
			return nil, err
		}
		s.documents = append(s.documents, d)
	}
	for q, err := range beir.Queries(dir) {
		if err != nil {
			return nil, err
		}
		s.queries = append(s.queries, q)
	}
	return s, s.embed()
})

func (s *set) embed() error {
	e := embed.Hashing(dim)
	texts := make([]string, len(s.documents))
	for i, d := range s.documents {
		texts[i] = chunkOf(d).Indexed()
	}
	vectors, err := e.Embed(context.Background(), texts)
	if err != nil {
		return err
	}
	for i, d := range s.documents {
		s.vectors[d.ID] = vectors[i]
	}
	asked := make([]string, len(s.queries))
	for i, q := range s.queries {
		asked[i] = q.Text
	}
	s.asked, err = e.Embed(context.Background(), asked)
	return err
}

func chunkOf(d beir.Document) chunk.Chunk {
	return chunk.Chunk{ID: d.ID, Path: d.ID, Heading: d.Title, Text: d.Text}
}

func collection(b *testing.B) *set {
	b.Helper()
	if os.Getenv("HEADSTART_SHARED") == "" {
		if os.Getenv("CI") == "true" {
			b.Fatal("HEADSTART_SHARED names no folder of test collections, and CI=true")
		}
		b.Skip("HEADSTART_SHARED names no folder of test collections")
	}
	s, err := sciFact()
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// measure asks the queries one after another: one turn of the loop is one query. It
// tells the times and, of the queries that were asked, how good the first ten are.
func (s *set) measure(b *testing.B, search func(query int) ([]beir.Found, error)) {
	b.Helper()
	b.ReportAllocs()
	var times []time.Duration
	scores := map[int]beir.Scores{}
	at := 0
	for b.Loop() {
		began := time.Now()
		found, err := search(at)
		times = append(times, time.Since(began))
		if err != nil {
			b.Fatal(err)
		}
		if _, done := scores[at]; !done {
			scores[at] = beir.Score(s.judged[s.queries[at].ID], found)
		}
		at = (at + 1) % len(s.queries)
	}
	slices.Sort(times)
	for _, p := range []int{50, 95, 99} {
		b.ReportMetric(float64(times[min(len(times)-1, len(times)*p/100)].Nanoseconds()), fmt.Sprintf("p%d-ns", p))
	}
	list := make([]beir.Scores, 0, len(scores))
	for i := range s.queries {
		if one, ok := scores[i]; ok {
			list = append(list, one)
		}
	}
	b.ReportMetric(beir.Mean(list).NDCG10, "ndcg@10")
}

// ready is an embedder that has the vectors of the query in hand.
type ready struct {
	*embed.Hash // its name, its weight and its cut-offs
	of          *set
	next        int
}

func (r *ready) Embed(context.Context, []string) ([][]float32, error) {
	return [][]float32{r.of.asked[r.next]}, nil
}

// BenchmarkHeadstart measures each branch alone, and both as they are searched.
func BenchmarkHeadstart(b *testing.B) {
	s := collection(b)
	var chunks []chunk.Chunk
	var vectors []float32
	for _, d := range s.documents {
		chunks, vectors = append(chunks, chunkOf(d)), append(vectors, s.vectors[d.ID]...)
	}
	seg, err := retrieval.Restore("scifact", "en", "hashing-384", dim, chunks, vectors)
	if err != nil {
		b.Fatal(err)
	}
	var lib retrieval.Library
	lib.Put("org", seg)
	r := &ready{Hash: embed.Hashing(dim), of: s}
	searcher := retrieval.NewSearcher(&lib, r)
	for _, arm := range []retrieval.Arm{retrieval.Words, retrieval.Vectors, retrieval.Fused} {
		b.Run(string(arm), func(b *testing.B) {
			s.measure(b, func(query int) ([]beir.Found, error) {
				r.next = query
				ranked, err := searcher.Rank(b.Context(), retrieval.Ranking{
					Query: retrieval.Query{Org: "org", Text: s.queries[query].Text, Bases: []retrieval.Attachment{{Base: "scifact"}}},
					Depth: depth, Arm: arm,
				})
				var list []beir.Found
				for _, c := range ranked.Chunks {
					list = append(list, beir.Found{ID: c.Chunk.ID, Score: c.Hit.Score})
				}
				return list, err
			})
		})
	}
}

// BenchmarkBleve measures the words: in memory, with its English analyser and BM25.
func BenchmarkBleve(b *testing.B) {
	s := collection(b)
	mapping := bleve.NewIndexMapping()
	mapping.DefaultAnalyzer, mapping.ScoringModel = en.AnalyzerName, "bm25"
	mapping.StoreDynamic = false
	index, err := bleve.NewMemOnly(mapping)
	if err != nil {
		b.Fatal(err)
	}
	defer index.Close()
	batch := index.NewBatch()
	for _, d := range s.documents {
		if err := batch.Index(d.ID, map[string]string{"text": chunkOf(d).Indexed()}); err != nil {
			b.Fatal(err)
		}
	}
	if err := index.Batch(batch); err != nil {
		b.Fatal(err)
	}
	s.measure(b, func(query int) ([]beir.Found, error) {
		match := bleve.NewMatchQuery(s.queries[query].Text)
		match.SetField("text")
		result, err := index.Search(bleve.NewSearchRequestOptions(match, depth, 0, false))
		if err != nil {
			return nil, err
		}
		var list []beir.Found
		for _, h := range result.Hits {
			list = append(list, beir.Found{ID: h.ID, Score: h.Score})
		}
		return list, nil
	})
}

// BenchmarkChromem measures the vectors. It compares on every core; -cpu 1 gives it
// the one that ours has.
func BenchmarkChromem(b *testing.B) {
	s := collection(b)
	c, err := chromem.NewDB().CreateCollection("scifact", nil, func(context.Context, string) ([]float32, error) {
		return nil, fmt.Errorf("no text is embedded here")
	})
	if err != nil {
		b.Fatal(err)
	}
	for _, d := range s.documents {
		if err := c.AddDocument(b.Context(), chromem.Document{ID: d.ID, Embedding: s.vectors[d.ID], Content: d.Text}); err != nil {
			b.Fatal(err)
		}
	}
	s.measure(b, func(query int) ([]beir.Found, error) {
		result, err := c.QueryEmbedding(b.Context(), s.asked[query], depth, nil, nil)
		if err != nil {
			return nil, err
		}
		var list []beir.Found
		for _, h := range result {
			list = append(list, beir.Found{ID: h.ID, Score: float64(h.Similarity)})
		}
		return list, nil
	})
}
