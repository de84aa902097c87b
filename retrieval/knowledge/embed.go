package knowledge

import (
	"context"
	"errors"
	"fmt"

	"headstart/retrieval"
)

// embedBatch is the number of texts of one call to an embedder, small enough for
// every provider's limit, and of one transaction that keeps them.
const embedBatch = 64

// embed gives the pieces that wait their vectors: the kept ones, else new ones.
func (r *run) embed(ctx context.Context) error {
	if r.Embedder == nil || r.waiting == 0 {
		return nil
	}
	texts, places := r.texts()
	digests := make([]Digest, len(texts))
	for i, t := range texts {
		digests[i] = t.Digest
	}
	vectors, err := r.Store.Vectors(ctx, r.space(), digests)
	if err != nil {
		return err
	}
	var wanted []Text
	for i, v := range vectors {
		if v == nil {
			wanted = append(wanted, texts[i])
		}
	}
	r.report.Reused += len(texts) - len(wanted)
	made, err := r.make(ctx, wanted)
	if err != nil {
		return err
	}
	for i, v := range vectors {
		if v == nil {
			v, made = made[0], made[1:]
		}
		for _, piece := range places[texts[i].Digest] {
			piece.Vector = v
		}
	}
	return nil
}

// texts are those that wait, each once, and the pieces that want their vectors.
func (r *run) texts() (texts []Text, places map[Digest][]*Piece) {
	places = make(map[Digest][]*Piece)
	for _, cut := range r.pending {
		for i := range cut.Pieces {
			text := cut.Pieces[i].Indexed()
			digest := DigestOf(text)
			if places[digest] == nil {
				texts = append(texts, Text{digest, text})
			}
			places[digest] = append(places[digest], &cut.Pieces[i])
		}
	}
	return texts, places
}

// make embeds texts, and keeps what it has after each batch: a push that breaks
// off has not paid for nothing.
func (r *run) make(ctx context.Context, texts []Text) ([][]float32, error) {
	var all [][]float32
	for len(texts) > 0 {
		n := min(embedBatch, len(texts))
		made, err := embedAndKeep(ctx, r.Store, r.Embedder, r.Base, r.space(), texts[:n])
		if err != nil {
			return nil, err
		}
		all, texts = append(all, made...), texts[n:]
		r.report.Embedded += n
		r.told.Embedded += n
		r.tell(r.told)
	}
	return all, nil
}

func embedAndKeep(ctx context.Context, store Vectors, e retrieval.Embedder, base string, s Space, texts []Text) ([][]float32, error) {
	words, digests := make([]string, len(texts)), make([]Digest, len(texts))
	for i, t := range texts {
		words[i], digests[i] = t.Text, t.Digest
	}
	vectors, err := retrieval.EmbedTexts(ctx, e, base, words)
	if err != nil {
		return nil, err
	}
	return vectors, store.Keep(ctx, s, digests, vectors)
}

// Restaged is what a reembedding needs of a store.
type Restaged interface {
	Catalogue
	Vectors
	Reembedding
}

// Reembed gives a base the vectors of another embedder. The base answers with
// its old ones until all the new ones are kept; then they are adopted in one step.
type Reembed struct {
	Store     Restaged
	Org, Base string
	Embedder  retrieval.Embedder // nil leaves words alone
	Progress  func(Progress)     // Embedded and Chunks; may be nil
}

// adoptions is how often a reembedding starts over because a push landed
// meanwhile. What was embedded stays kept, so each time there is less to do.
const adoptions = 10

// Run embeds and adopts, and returns the base after it and the texts that the
// embedder was asked for. When it fails the base is as it was, and the same again
// goes on from there.
func (r Reembed) Run(ctx context.Context) (Base, int, error) {
	s := Push{Org: r.Org, Embedder: r.Embedder}.space()
	asked := 0
	for try := 1; ; try++ {
		n, err := r.stage(ctx, s, asked)
		asked += n
		if err != nil {
			return Base{}, asked, fmt.Errorf("reembed base %s: %w", r.Base, err)
		}
		base, err := r.Store.Adopt(ctx, r.Base, s)
		switch {
		case errors.Is(err, ErrUnstaged) && try < adoptions:
			continue
		case err != nil:
			return Base{}, asked, fmt.Errorf("reembed base %s: %w", r.Base, err)
		}
		return base, asked, nil
	}
}

// stage embeds what has no vector in the new space yet.
func (r Reembed) stage(ctx context.Context, s Space, before int) (asked int, err error) {
	if r.Embedder == nil {
		return 0, nil
	}
	base, _, err := r.Store.Files(ctx, r.Org, r.Base)
	if err != nil {
		return 0, err
	}
	for after := (Digest{}); ; {
		texts, err := r.Store.Missing(ctx, r.Base, s, after, embedBatch)
		if err != nil || len(texts) == 0 {
			return asked, err
		}
		if _, err := embedAndKeep(ctx, r.Store, r.Embedder, r.Base, s, texts); err != nil {
			return asked, err
		}
		asked, after = asked+len(texts), texts[len(texts)-1].Digest
		if r.Progress != nil {
			r.Progress(Progress{Stage: Writing, Embedded: before + asked, Chunks: base.Chunks})
		}
	}
}
