package v1

import (
	"context"

	"headstart/retrieval"
)

// Found is what a search came to, and why: the retrieval tester.
type Found struct {
	Question string             `json:"question"`
	Bases    []string           `json:"bases"`
	Evidence retrieval.Evidence `json:"evidence"`
	Cosine   float64            `json:"cosine"` // the best
	Branches []retrieval.Branch `json:"branches"`
	Degraded string             `json:"degraded,omitempty"` // why the words answered alone
	Unranked string             `json:"unranked,omitempty"` // why a reranker's order is not shown
	Followed bool               `json:"followed"`           // the turns before it were asked with it
	Passages []FoundPassage     `json:"passages"`           // none: the agent would say that it does not know
}

// FoundPassage is one section as the model reads it.
type FoundPassage struct {
	Base    string     `json:"base"`
	Path    string     `json:"path"`
	Heading string     `json:"heading"`
	Score   float64    `json:"score"`
	Format  int        `json:"format"` // in which its file was cut
	Text    string     `json:"text"`
	Hits    []FoundHit `json:"hits"`
}

// FoundHit is a chunk that was found. What a branch has nothing to say to is 0.
type FoundHit struct {
	ID         string  `json:"id"`
	Vectors    float64 `json:"vectors"` // the cosine
	VectorRank int     `json:"vector_rank"`
	Words      float64 `json:"words"` // BM25
	WordRank   int     `json:"word_rank"`
	Fused      int     `json:"fused"`    // its place after the fusion, from 1
	Reranked   int     `json:"reranked"` // its place after a reranker; 0 without one
}

// Find searches as a call does, once, and tells the places of what was found where
// the query asks for them. format tells in which format a file of a base was cut. It
// fails as a search does, and with retrieval.ErrMismatch where a base holds vectors of
// another embedder: what the words alone find would be taken for what both do.
func Find(ctx context.Context, s *retrieval.Searcher, q retrieval.Query, format func(base, path string) int) (Found, error) {
	if err := s.Fits(q); err != nil {
		return Found{}, err
	}
	r, err := s.Search(ctx, q)
	if err != nil {
		return Found{}, err
	}
	f := Found{
		Question: q.Text, Evidence: r.Evidence, Cosine: r.Cosine, Branches: r.Branches, Followed: r.Followed, Passages: []FoundPassage{},
	}
	for _, a := range q.Bases {
		f.Bases = append(f.Bases, a.Base)
	}
	if r.Degraded != nil {
		f.Degraded = r.Degraded.Error()
	}
	if r.Unranked != nil {
		f.Unranked = r.Unranked.Error()
	}
	for _, p := range r.Passages {
		f.Passages = append(f.Passages, wirePassage(p, format(p.Base, p.Path)))
	}
	return f, nil
}

func wirePassage(p retrieval.Passage, format int) FoundPassage {
	shown := FoundPassage{Base: p.Base, Path: p.Path, Heading: p.Heading, Score: p.Score, Format: format, Text: p.Text}
	for _, h := range p.Hits {
		shown.Hits = append(shown.Hits, FoundHit{
			ID: h.ID, Vectors: h.Cosine, VectorRank: h.VectorRank, Words: h.BM25, WordRank: h.WordRank, Fused: h.Fused, Reranked: h.Reranked,
		})
	}
	return shown
}
