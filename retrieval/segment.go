package retrieval

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"headstart/retrieval/analyse"
	"headstart/retrieval/chunk"
	"headstart/retrieval/cosine"
)

// Segment is one base in memory: its chunks, their postings and their vectors.
// It never changes once it is built, so any number of searches may read it; a
// push builds another and swaps it in.
type Segment struct {
	base     string
	analyser *analyse.Analyser
	chunks   []chunk.Chunk // those of a file side by side, in its order
	prints   []print       // of each chunk
	sizes    []float64     // of each chunk: the tokens of its text
	words    index
	model    string // the embedder of vectors; empty without
	dim      int
	vectors  *cosine.Table // one a chunk; nil without an embedder
	// large bases are searched where they are kept: this one has no chunks.
	large bool
	// partial ones hold only some of their base's chunks: what a large base gave.
	partial bool
	// calibration is of this model and length, nil without.
	calibration *Calibration
}

// Base is the name of the base.
func (s *Segment) Base() string { return s.base }

// Len is the number of chunks.
func (s *Segment) Len() int { return len(s.chunks) }

// Model is the name of the embedder that made the vectors, and their length;
// empty and 0 when the base has none.
func (s *Segment) Model() (name string, dim int) { return s.model, s.dim }

// embedded tells whether there are vectors to ask.
func (s *Segment) embedded() bool {
	return s.large && s.dim > 0 || s.vectors != nil && len(s.chunks) > 0
}

// Build makes the segment of a base. Both branches read the heading path before
// the text of each chunk. Of two chunks with one id the first counts. Without an
// embedder (nil) the base has no vectors and the words answer alone. It fails
// when ctx ends or the embedder fails: there is no half-built base.
func Build(ctx context.Context, base, language string, chunks []chunk.Chunk, e Embedder) (*Segment, error) {
	return build(ctx, base, language, chunks, e, func(int, int) {})
}

// ctxBlock is the number of chunks between two looks at the context: a block
// takes well under a millisecond to scan.
const ctxBlock = 1024

// embedBatch is the number of texts of one call to an embedder when a base is
// built, small enough for every provider's limit.
const embedBatch = 64

func build(ctx context.Context, base, language string, chunks []chunk.Chunk, e Embedder, progress func(done, all int)) (*Segment, error) {
	s := &Segment{base: base, analyser: analyse.New(language), chunks: inOrder(distinct(chunks))}
	if err := s.indexWords(func() error { return stopped(ctx) }); err != nil {
		return nil, fmt.Errorf("build base %s: %w", base, err)
	}
	if e == nil {
		return s, nil
	}
	if err := s.embed(ctx, e, progress); err != nil {
		return nil, fmt.Errorf("build base %s: %w", base, err)
	}
	return s, nil
}

// stopped is why a context ended, nil while it has not.
func stopped(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return context.Cause(ctx)
}

// indexWords makes the postings. It asks now and then whether it is to stop, and
// fails with that alone.
func (s *Segment) indexWords(stop func() error) error {
	s.prints, s.sizes = make([]print, len(s.chunks)), make([]float64, len(s.chunks))
	b := newIndexer(s.analyser)
	for i, c := range s.chunks {
		if i%ctxBlock == 0 {
			if err := stop(); err != nil {
				return err
			}
		}
		text := c.Indexed()
		b.add(text)
		s.prints[i], s.sizes[i] = printOf(text), chunk.Tokens(c.Text)
	}
	s.words = b.index
	return nil
}

func distinct(chunks []chunk.Chunk) []chunk.Chunk {
	seen := make(map[string]bool, len(chunks))
	kept := make([]chunk.Chunk, 0, len(chunks))
	for _, c := range chunks {
		if !seen[c.ID] {
			seen[c.ID] = true
			kept = append(kept, c)
		}
	}
	return kept
}

// inOrder puts the chunks of each file side by side, in its order.
func inOrder(chunks []chunk.Chunk) []chunk.Chunk {
	slices.SortStableFunc(chunks, func(a, b chunk.Chunk) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Seq, b.Seq))
	})
	return chunks
}

func (s *Segment) embed(ctx context.Context, e Embedder, progress func(done, all int)) error {
	s.model, s.dim = e.Name(), e.Dim()
	s.vectors = cosine.New(s.dim, len(s.chunks))
	for from := 0; from < len(s.chunks); from += embedBatch {
		batch := s.chunks[from:min(from+embedBatch, len(s.chunks))]
		texts := make([]string, len(batch))
		for i, c := range batch {
			texts[i] = c.Indexed()
		}
		vectors, err := embed(ctx, e, s.base, texts)
		if err != nil {
			return err
		}
		for _, v := range vectors {
			s.vectors.Append(v)
		}
		progress(from+len(batch), len(s.chunks))
	}
	return nil
}
