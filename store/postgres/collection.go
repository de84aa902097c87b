package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"headstart/retrieval"
	"headstart/retrieval/analyse"
	"headstart/retrieval/bench"
	"headstart/retrieval/knowledge"
)

// Collections keeps judged collections for benchmarks: one at a time, in an org
// of its own, until it is dropped.
type Collections struct{ db *DB }

var _ bench.Store = Collections{}

// Collections is where benchmarks keep a collection in this database.
func (db *DB) Collections() Collections { return Collections{db} }

// Name implements bench.Store.
func (Collections) Name() string { return "postgres" }

// shelved is how many documents one change brings.
const shelved = 1000

// Index implements bench.Store. It takes the place of a collection that an
// earlier benchmark left.
func (c Collections) Index(ctx context.Context, l bench.Load) (bench.Ranker, bench.Index, error) {
	began := time.Now()
	b := knowledge.Base{Org: bench.Org, Name: bench.Base, Language: l.Language}
	if l.Embedder != nil {
		b.Model, b.Dim = l.Embedder.Name(), l.Embedder.Dim()
	}
	if err := c.Drop(ctx); err != nil {
		return nil, bench.Index{}, err
	}
	if _, err := c.db.Make(ctx, b); err != nil {
		return nil, bench.Index{}, err
	}
	for from := 0; from < len(l.Chunks); from += shelved {
		if err := c.put(ctx, b, l, from, min(from+shelved, len(l.Chunks))); err != nil {
			return nil, bench.Index{}, err
		}
	}
	if err := c.db.Index(ctx, b.Org, b.Name); err != nil {
		return nil, bench.Index{}, err
	}
	index := bench.Index{Seconds: time.Since(began).Seconds()}
	var err error
	index.Bytes, err = c.size(ctx)
	return ranker{c.db, analyse.New(l.Language), l.Embedder}, index, err
}

// put writes documents, each a file of one piece.
func (c Collections) put(ctx context.Context, b knowledge.Base, l bench.Load, from, to int) error {
	change := knowledge.Change{Model: b.Model, Dim: b.Dim}
	for i := from; i < to; i++ {
		piece := knowledge.Piece{Chunk: l.Chunks[i]}
		if b.Dim > 0 {
			piece.Vector = l.Vectors[i*b.Dim : (i+1)*b.Dim]
		}
		path := fmt.Sprintf("%09d", i) // a document's id need be no path
		change.Put = append(change.Put, knowledge.Cut{File: knowledge.File{Path: path}, Pieces: []knowledge.Piece{piece}})
	}
	_, err := c.db.Replace(ctx, b.Org, b.Name, change)
	return err
}

// size is what the collection's own index takes, its rows among it.
func (c Collections) size(ctx context.Context) (bytes int64, err error) {
	b, err := baseOf(ctx, c.db.pool, selectBase, bench.Org, bench.Base)
	if err != nil {
		return 0, err
	}
	err = c.db.pool.QueryRow(ctx, `SELECT pg_total_relation_size($1::regclass)`, b.table()).Scan(&bytes)
	return bytes, err
}

// Drop takes the collection away; that there is none is no error.
func (c Collections) Drop(ctx context.Context) error {
	if err := c.db.Remove(ctx, bench.Org, bench.Base); err != nil && !errors.Is(err, knowledge.ErrUnknownBase) {
		return err
	}
	if _, err := c.db.Sweep(ctx, bench.Org, time.Now().Add(time.Hour)); err != nil {
		return err
	}
	return nil
}

// ranker asks the collection by one statement a question, which a follow-up is with
// the turns before it.
type ranker struct {
	db       *DB
	analyser *analyse.Analyser
	embedder retrieval.Embedder
}

// Rank implements bench.Ranker. SearchTook is the analysis, the way to the
// database and back, and the statement.
func (r ranker) Rank(ctx context.Context, q retrieval.Ranking) (retrieval.Ranked, error) {
	began := time.Now()
	texts, lead := retrieval.Together(q.Query, r.analyser)
	large := r.weighed(q)
	if q.Arm != retrieval.Vectors {
		large.Terms = r.analyser.Terms(lead)
	}
	analysed := time.Since(began)
	ranked := retrieval.Ranked{Result: retrieval.Result{Followed: len(texts) > 1}}
	var err error
	if large.VectorsWeight > 0 {
		began = time.Now()
		if large.Vector, err = r.embed(ctx, texts); err != nil {
			return ranked, err
		}
		ranked.EmbedTook = time.Since(began)
	}
	began = time.Now()
	hits, err := r.db.SearchLarge(ctx, large)
	if err != nil {
		return ranked, err
	}
	ranked.SearchTook = analysed + time.Since(began)
	for _, h := range hits {
		ranked.Chunks = append(ranked.Chunks, retrieval.RankedChunk{Base: bench.Base, Chunk: h.Chunk, Hit: retrieval.Hit{ID: h.Chunk.ID, Score: h.Score, Marks: h.Marks}})
	}
	return ranked, nil
}

// weighed is the question without its words and its vector: a branch that is asked
// alone counts whatever its weight is, and has no cut-off.
func (r ranker) weighed(q retrieval.Ranking) retrieval.LargeQuery {
	large := retrieval.LargeQuery{Org: bench.Org, Base: bench.Base, K: q.Depth, WordsWeight: 1, Weak: -1}
	switch {
	case r.embedder == nil || q.Arm == retrieval.Words:
	case q.Arm == retrieval.Vectors:
		large.VectorsWeight = 1
	default:
		large.VectorsWeight = retrieval.Weight(r.embedder)
		_, large.Weak = retrieval.CutOffs(r.embedder)
	}
	return large
}

// embed asks for the vectors of texts side by side, as a search does, and returns
// what lies between them.
func (r ranker) embed(ctx context.Context, texts []string) ([]float32, error) {
	vectors := make([][]float32, len(texts))
	g, ctx := errgroup.WithContext(ctx)
	for i, text := range texts {
		g.Go(func() (err error) {
			vectors[i], err = retrieval.EmbedQuery(ctx, r.embedder, text)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, fmt.Errorf("embed: %w", err)
	}
	return retrieval.Between(vectors), nil
}
