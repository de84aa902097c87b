// Package bench owns measuring a search on a judged collection: how good its
// rankings are and what they take. Each document is one chunk, and nothing is
// collapsed or cut into sections, so that the figures compare with those that others
// publish of the same collection.
//
// It never decides what a ranking is worth (package beir does) and never ranks. It
// fails when the collection cannot be read, the embedder fails or is late, or ctx
// ends: there are no figures of half a collection.
package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"headstart/retrieval"
	"headstart/retrieval/beir"
	"headstart/retrieval/chunk"
)

// Org and Base name where the collection is put; only its own searches see them.
const (
	Org  = "bench"
	Base = "collection"
)

// DefaultDepth is how many documents of a ranking are judged: as many as the
// deepest recall that is told needs.
const DefaultDepth = 100

// Ranker ranks: *retrieval.Searcher is one.
type Ranker interface {
	Rank(ctx context.Context, q retrieval.Ranking) (retrieval.Ranked, error)
}

// Progress is told how far a stage has come: "embed" or "ask".
type Progress func(stage string, done, all int)

// Collection is a judged collection that was read, embedded and indexed.
type Collection struct {
	Name      string // the folder's
	Store     string
	Embedder  retrieval.Embedder // nil: words alone
	Documents int
	Questions []Question // those that were judged, in the order of their file
	Unasked   int        // questions that were judged and are not among the queries
	Index     Index

	ranker Ranker
}

// Question is one question that was judged.
type Question struct {
	beir.Query
	Judged map[string]int // by document
}

// Index is what the index took.
type Index struct {
	Seconds float64 // to analyse and index, without the embedder
	Bytes   int64   // that it holds: memory, or what the store says
	Embed   float64 // seconds that the embedder took for the documents
}

// Config says what is measured.
type Config struct {
	Dir      string // the collection, in BEIR's layout
	Language string // of the analyser
	Embedder retrieval.Embedder
	Limit    int   // questions at most, the first of the file; 0 is all
	Store    Store // nil is Memory
	Progress Progress
}

// Open reads a collection, embeds its documents and indexes them.
func Open(ctx context.Context, cfg Config) (*Collection, error) {
	if cfg.Store == nil {
		cfg.Store = Memory{}
	}
	if cfg.Progress == nil {
		cfg.Progress = func(string, int, int) {}
	}
	c := &Collection{Name: filepath.Base(filepath.Clean(cfg.Dir)), Store: cfg.Store.Name(), Embedder: cfg.Embedder}
	if err := c.read(cfg); err != nil {
		return nil, fmt.Errorf("read collection %s: %w", c.Name, err)
	}
	pieces, err := c.documents(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("read collection %s: %w", c.Name, err)
	}
	load := Load{Language: cfg.Language, Embedder: cfg.Embedder, Chunks: pieces}
	if err := load.embed(ctx, cfg.Progress); err != nil {
		return nil, fmt.Errorf("embed collection %s: %w", c.Name, err)
	}
	if c.ranker, c.Index, err = cfg.Store.Index(ctx, load); err != nil {
		return nil, fmt.Errorf("index collection %s: %w", c.Name, err)
	}
	c.Index.Embed = load.took.Seconds()
	return c, nil
}

// read takes the questions that were judged.
func (c *Collection) read(cfg Config) error {
	judged, err := beir.ReadQrels(cfg.Dir)
	if err != nil {
		return err
	}
	c.Unasked = len(judged)
	for q, err := range beir.Queries(cfg.Dir) {
		if err != nil {
			return err
		}
		if judged[q.ID] == nil {
			continue
		}
		c.Unasked--
		if cfg.Limit <= 0 || len(c.Questions) < cfg.Limit {
			c.Questions = append(c.Questions, Question{q, judged[q.ID]})
		}
	}
	if len(c.Questions) == 0 {
		return fmt.Errorf("no query of %s is judged in %s", beir.QueriesFile, beir.QrelsFile)
	}
	return nil
}

// documents makes one chunk of each document, its title the heading. One without a
// word is counted and not indexed: nothing finds it, and embedders refuse it.
func (c *Collection) documents(dir string) ([]chunk.Chunk, error) {
	var pieces []chunk.Chunk
	for d, err := range beir.Documents(dir) {
		if err != nil {
			return nil, err
		}
		c.Documents++
		if strings.TrimSpace(d.Title+d.Text) != "" {
			pieces = append(pieces, chunk.Chunk{ID: d.ID, Path: d.ID, Heading: d.Title, Text: d.Text})
		}
	}
	return pieces, nil
}
