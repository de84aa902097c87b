package retrieval_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"headstart/retrieval"
	"headstart/retrieval/chunk"
	"headstart/retrieval/embed"
)

// sciFact is a public collection of abstracts and of claims to look up in them.
type sciFact struct {
	chunks  []chunk.Chunk // a document each
	queries []string
}

// readSciFact skips where the collection is not, and fails there in CI.
func readSciFact(t testing.TB) sciFact {
	t.Helper()
	shared := os.Getenv("HEADSTART_SHARED")
	if shared == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("HEADSTART_SHARED names no folder")
		}
		t.Skip("HEADSTART_SHARED names no folder of test collections")
	}
	var s sciFact
	dir := filepath.Join(shared, "data", "beir", "scifact")
	jsonLines(t, filepath.Join(dir, "corpus.jsonl"), func(d document) {
		s.chunks = append(s.chunks, chunk.Chunk{ID: d.ID, Path: d.ID, Heading: d.Title, Text: d.Text})
	})
	jsonLines(t, filepath.Join(dir, "queries.jsonl"), func(d document) { s.queries = append(s.queries, d.Text) })
	return s
}

type document struct {
	ID    string `json:"_id"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

func jsonLines(t testing.TB, name string, each func(document)) {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var d document
		if err := json.Unmarshal(lines.Bytes(), &d); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		each(d)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkSciFact asks all 300 claims of 5,183 abstracts, with vectors of 384
// dimensions; one turn of the loop is one claim. The embedder answers at once.
func BenchmarkSciFact(b *testing.B) {
	set := readSciFact(b)
	hash := embed.Hashing(384)
	seg, err := retrieval.Build(b.Context(), "scifact", "en", set.chunks, hash)
	if err != nil {
		b.Fatal(err)
	}
	vectors, err := hash.Embed(b.Context(), set.queries)
	if err != nil {
		b.Fatal(err)
	}
	var lib retrieval.Library
	lib.Put("org", seg)
	at := 0
	ready := fake{hash.Name(), 384, 1, func(context.Context, []string) ([][]float32, error) { return vectors[at : at+1], nil }}
	s := retrieval.NewSearcher(&lib, ready)
	q := ask("", retrieval.Attachment{Base: "scifact"})
	b.ReportAllocs()
	var times latencies
	for b.Loop() {
		at = (at + 1) % len(set.queries)
		q.Text = set.queries[at]
		times.begin()
		if _, err := s.Search(b.Context(), q); err != nil {
			b.Fatal(err)
		}
		times.end()
	}
	times.report(b)
}

// latencies are the times of a benchmark's searches one by one: the slow ones are
// what a caller hears.
type latencies struct {
	began time.Time
	all   []time.Duration
}

func (l *latencies) begin() { l.began = time.Now() }
func (l *latencies) end()   { l.all = append(l.all, time.Since(l.began)) }

func (l *latencies) report(b *testing.B) {
	b.Helper()
	slices.Sort(l.all)
	for _, p := range []int{50, 95, 99} {
		at := l.all[min(len(l.all)-1, len(l.all)*p/100)]
		b.ReportMetric(float64(at.Nanoseconds()), fmt.Sprintf("p%d-ns", p))
	}
}
