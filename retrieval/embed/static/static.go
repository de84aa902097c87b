// Package static owns the embedder that needs no network and no graph: a table
// of token vectors as Model2Vec distils them (safetensors and a tokenizer.json,
// in a folder). The vector of a text is the mean of its tokens' vectors, each
// with its weight where the model has some, made a unit vector. What the model's
// config.json says of normalising does not show in a cosine, so it is not read.
//
// It never downloads: package hub does. Opening fails on a file that is not what
// it says it is, or not what was pulled (hub.ChangedError); embedding fails when
// its context has ended, and when a table holds what is no number.
package static

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"headstart/retrieval/embed/hub"
	"headstart/retrieval/embed/tokenizer"
)

// maxTokens is how many tokens of a text count, as in the library that the
// models come from.
const maxTokens = 512

// Config says where a model lies.
type Config struct {
	Dir string // of model.safetensors and tokenizer.json
	// Name is the model's, such as minishlab/potion-multilingual-128M; the
	// folder's own when empty.
	Name string
	// Dim keeps the first so many numbers of each vector, for models that were
	// trained to allow it; 0 keeps all.
	Dim int
}

// Embedder implements retrieval.Embedder. It changes no more once it is open:
// any number of goroutines may use it.
type Embedder struct {
	name    string
	dim     int
	tokens  *tokenizer.Tokenizer
	table   tensor
	weights []float32 // of tokens; nil is 1 for each
	rows    []int     // of tokens in the table; nil is a row a token
	unknown int       // -1 is none
	letters int       // of a text that are read at most
}

// tables is what the table of vectors is called: by Model2Vec, and by sentence
// transformers.
var tables = []string{"embeddings", "embedding.weight"}

// Open reads a model.
func Open(cfg Config) (*Embedder, error) {
	e, err := open(cfg)
	if err != nil {
		return nil, fmt.Errorf("open static embedder in %s: %w", cfg.Dir, err)
	}
	return e, nil
}

func open(cfg Config) (*Embedder, error) {
	if cfg.Dir == "" {
		return nil, errors.New("no folder is named")
	}
	folder := cfg.Dir
	if _, err := os.Stat(filepath.Join(folder, "0_StaticEmbedding")); err == nil {
		folder = filepath.Join(folder, "0_StaticEmbedding")
	}
	weights, err := os.ReadFile(filepath.Join(folder, "model.safetensors"))
	if err != nil {
		return nil, err
	}
	words, err := os.ReadFile(filepath.Join(folder, "tokenizer.json"))
	if err != nil {
		return nil, err
	}
	identity, err := hub.Identify(cfg.Dir, map[string][]byte{
		within(cfg.Dir, folder, "model.safetensors"): weights, within(cfg.Dir, folder, "tokenizer.json"): words,
	})
	if err != nil {
		return nil, err
	}
	e := &Embedder{unknown: -1}
	if cfg.Name == "" {
		cfg.Name = filepath.Base(filepath.Clean(cfg.Dir))
	}
	e.name = fmt.Sprintf("static/%s@%s", cfg.Name, identity)
	if e.tokens, err = tokenizer.Read(words); err != nil {
		return nil, err
	}
	return e, e.take(weights, cfg.Dim)
}

// within is the path of a file below dir, with slashes.
func within(dir, folder, file string) string {
	if folder == dir {
		return file
	}
	return filepath.Base(folder) + "/" + file
}

// take takes the tables out of a file and holds them to the vocabulary.
func (e *Embedder) take(file []byte, dim int) error {
	all, err := parse(file)
	if err != nil {
		return fmt.Errorf("read model.safetensors: %w", err)
	}
	for _, name := range tables {
		if t, ok := all[name]; ok {
			e.table = t
		}
	}
	switch {
	case e.table.dtype == "":
		return fmt.Errorf("read model.safetensors: none of its tensors is named %s", strings.Join(tables, " or "))
	case len(e.table.shape) != 2 || e.table.shape[0] == 0 || e.table.shape[1] == 0:
		return fmt.Errorf("read model.safetensors: the vectors are %s of shape %v", e.table.dtype, e.table.shape)
	}
	if e.dim = e.table.shape[1]; dim != 0 {
		if dim < 0 || dim > e.dim {
			return fmt.Errorf("the model has %d dimensions, not %d", e.dim, dim)
		}
		e.dim = dim
	}
	if e.weights, err = all.floats("weights"); err != nil {
		return err
	}
	if e.rows, err = all.integers("mapping"); err != nil {
		return err
	}
	if id, ok := e.tokens.Unknown(); ok {
		e.unknown = id
	}
	e.letters = maxTokens * max(1, e.tokens.MedianLength())
	return e.check()
}

// check holds that every token has a row, so that none needs to be checked again.
func (e *Embedder) check() error {
	tokens := e.table.shape[0]
	if e.rows != nil {
		for token, row := range e.rows {
			if row < 0 || row >= e.table.shape[0] {
				return fmt.Errorf("token %d has the row %d of %d", token, row, e.table.shape[0])
			}
		}
		tokens = len(e.rows)
	}
	if e.weights != nil {
		tokens = min(tokens, len(e.weights))
	}
	if largest := e.tokens.Largest(); largest >= tokens {
		return fmt.Errorf("the tokenizer has a token %d, the table has vectors for %d: they are of two models", largest, tokens)
	}
	return e.table.check()
}

// Name tells the model, and its files by their hash: vectors of two models never
// mix, even where one took the place of the other.
func (e *Embedder) Name() string { return e.name }

// Dim is the length of each vector.
func (e *Embedder) Dim() int { return e.dim }

// Embed returns a unit vector for each text. A text without a known token has a
// vector of zeros: its cosine with every other is 0, so it is near to nothing.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if vectors[i] = e.vector(text); !unit(vectors[i]) {
			return nil, fmt.Errorf("embed with %s: text %d: the table holds what is no number", e.name, i)
		}
	}
	return vectors, nil
}

// vector is the sum of the tokens' vectors: its direction is their mean's.
func (e *Embedder) vector(text string) []float32 {
	sum := make([]float32, e.dim)
	for _, id := range e.ids(text) {
		row, weight := id, float32(1)
		if e.rows != nil {
			row = e.rows[id]
		}
		if e.weights != nil {
			weight = e.weights[id]
		}
		e.table.add(sum, row, weight)
	}
	return sum
}

// ids are the tokens that count: the unknown one tells nothing.
func (e *Embedder) ids(text string) []int {
	ids := e.tokens.Encode(first(text, e.letters))
	if limit := e.tokens.Limit(); limit > 0 && len(ids) > limit {
		ids = ids[:limit]
	}
	known := ids[:0]
	for _, id := range ids {
		if id != e.unknown {
			known = append(known, id)
		}
	}
	return known[:min(len(known), maxTokens)]
}

// first is the beginning of a text that has n letters at most.
func first(text string, n int) string {
	if len(text) <= n {
		return text
	}
	at := 0
	for ; n > 0 && at < len(text); n-- {
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
	return text[:at]
}

// unit makes v a unit vector; false means that it holds what is no number.
func unit(v []float32) bool {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if math.IsNaN(sum) || math.IsInf(sum, 0) {
		return false
	}
	if sum == 0 {
		return true
	}
	scale := float32(1 / math.Sqrt(sum))
	for i := range v {
		v[i] *= scale
	}
	return true
}
