package retrieval

import (
	"fmt"

	"headstart/retrieval/analyse"
	"headstart/retrieval/chunk"
	"headstart/retrieval/cosine"
)

// Restore makes the segment of a base from pieces that were embedded before: the
// vector of chunks[i] is vectors[i*dim : (i+1)*dim], of the model named. Without
// vectors (dim 0) the base has none. It asks no embedder, changes neither slice, and
// of two chunks with one id the first counts. It fails when the lengths do not fit or
// a vector is no vector. language and base are as Build has them.
func Restore(base, language, model string, dim int, chunks []chunk.Chunk, vectors []float32) (*Segment, error) {
	if dim < 0 || len(vectors) != dim*len(chunks) {
		return nil, fmt.Errorf("restore base %s: %d numbers for %d chunks of %d dimensions", base, len(vectors), len(chunks), dim)
	}
	at := make(map[string]int, len(chunks)) // of the first with each id
	for i, c := range chunks {
		if _, again := at[c.ID]; !again {
			at[c.ID] = i
		}
	}
	s := &Segment{base: base, analyser: analyse.New(language), chunks: inOrder(distinct(chunks))}
	if err := s.indexWords(func() error { return nil }); err != nil {
		return nil, fmt.Errorf("restore base %s: %w", base, err)
	}
	if dim == 0 {
		return s, nil
	}
	s.model, s.dim = model, dim
	s.vectors = cosine.New(dim, len(s.chunks))
	unit := make([]float32, dim)
	for _, c := range s.chunks {
		copy(unit, vectors[at[c.ID]*dim:])
		if err := normalise(unit); err != nil {
			return nil, fmt.Errorf("restore base %s: chunk %s: %w", base, c.ID, err)
		}
		s.vectors.Append(unit)
	}
	return s, nil
}
