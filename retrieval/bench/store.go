package bench

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"headstart/retrieval"
	"headstart/retrieval/chunk"
)

// Store is where a collection is indexed and searched.
type Store interface {
	Name() string
	// Index indexes what is loaded and says what that took.
	Index(ctx context.Context, l Load) (Ranker, Index, error)
}

// Load is what a store is to index.
type Load struct {
	Language string
	Embedder retrieval.Embedder // nil without vectors
	Chunks   []chunk.Chunk
	Vectors  []float32 // a chunk each, side by side

	took time.Duration // of the embedder
}

// batch is the number of documents of one call to an embedder.
const batch = 64

// embed gives every chunk its vector.
func (l *Load) embed(ctx context.Context, progress Progress) error {
	if l.Embedder == nil {
		return nil
	}
	l.Vectors = make([]float32, 0, len(l.Chunks)*l.Embedder.Dim())
	began := time.Now()
	for from := 0; from < len(l.Chunks); from += batch {
		if err := l.embedBatch(ctx, l.Chunks[from:min(from+batch, len(l.Chunks))]); err != nil {
			return err
		}
		progress("embed", min(from+batch, len(l.Chunks)), len(l.Chunks))
	}
	l.took = time.Since(began)
	return nil
}

func (l *Load) embedBatch(ctx context.Context, chunks []chunk.Chunk) error {
	texts := make([]string, len(chunks))
	for i, c := range chunks {
		texts[i] = c.Indexed()
	}
	vectors, err := l.Embedder.Embed(ctx, texts)
	switch {
	case err != nil:
		return err
	case len(vectors) != len(texts):
		return fmt.Errorf("%d vectors for %d documents", len(vectors), len(texts))
	}
	for i, v := range vectors {
		if len(v) != l.Embedder.Dim() {
			return fmt.Errorf("document %s: %d dimensions, want %d", chunks[i].ID, len(v), l.Embedder.Dim())
		}
		l.Vectors = append(l.Vectors, v...)
	}
	return nil
}

// Memory searches in this process.
type Memory struct{}

// Name implements Store.
func (Memory) Name() string { return "memory" }

// Index builds the segment that calls are answered from. Its size is what the
// process holds more than before, after collecting what nobody needs.
func (Memory) Index(_ context.Context, l Load) (Ranker, Index, error) {
	before, began := held(), time.Now()
	seg, err := l.segment()
	if err != nil {
		return nil, Index{}, err
	}
	took := time.Since(began)
	index := Index{Seconds: took.Seconds(), Bytes: max(0, held()-before)}
	return newShelf(seg, l.Embedder), index, nil
}

func (l *Load) segment() (*retrieval.Segment, error) {
	if l.Embedder == nil {
		return retrieval.Restore(Base, l.Language, "", 0, l.Chunks, nil)
	}
	return retrieval.Restore(Base, l.Language, l.Embedder.Name(), l.Embedder.Dim(), l.Chunks, l.Vectors)
}

func held() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// shelf is a collection in memory.
type shelf struct {
	segment  *retrieval.Segment
	embedder retrieval.Embedder
	*retrieval.Searcher
}

func newShelf(seg *retrieval.Segment, e retrieval.Embedder) *shelf {
	var lib retrieval.Library
	lib.Put(Org, seg)
	return &shelf{seg, e, retrieval.NewSearcher(&lib, e)}
}

// calibrated is the same collection searched with a calibration.
func (s *shelf) calibrated(c retrieval.Calibration) *shelf {
	return newShelf(s.segment.Calibrated(&c), s.embedder)
}
