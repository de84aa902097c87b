// Package onnx owns the embedder that runs a model here: a folder with an ONNX
// graph and a tokenizer.json, as sentence-transformers export it. The graph is run
// by hugot's engine in Go, or by ONNX Runtime in a binary that is built with the
// tag onnxruntime and cgo. What the graph gives of each token is pooled as
// 1_Pooling/config.json says, and made a unit vector.
//
// It never downloads: package hub does. Opening embeds one word, so that a graph
// that cannot be run is refused then. A graph that is being run cannot be stopped:
// when the context ends, Embed returns its cause at once, and the next call waits
// for the graph.
package onnx

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"headstart/retrieval/embed/hub"
	"headstart/retrieval/embed/tokenizer"
)

// Config says where a model lies.
type Config struct {
	Dir  string // of tokenizer.json and model.onnx, which may also lie in onnx/
	Name string // the folder's own when empty
	// Pooling wins over what the folder says: mean, cls, max or last.
	Pooling string
	// MaxTokens of a text that are read; 0 is what the folder says, 512 at most.
	MaxTokens int
	// QueryPrefix and DocumentPrefix stand before what is embedded, for models that
	// were trained so; when empty, those that the folder says.
	QueryPrefix, DocumentPrefix string
	// Library is ONNX Runtime's, for binaries that are built with it.
	Library string
}

// engine runs a graph over a batch of texts, each padded to the same length by
// its mask. It gives the numbers of its output and their shape: of texts, tokens
// and dimensions, or of texts and dimensions. One call runs at a time.
type engine interface {
	run(ids, mask [][]int64) (values []float32, shape []int, err error)
	close() error
}

// Embedder implements retrieval.Embedder, and EmbedQuery for questions. Any
// number of goroutines may use it; they wait for each other.
type Embedder struct {
	name   string
	dim    int
	cfg    Config
	tokens *tokenizer.Tokenizer
	engine engine
	free   chan struct{} // holds one when no graph is run
	closed bool          // by whoever holds it
}

// batch is how many documents the graph is run over at a time.
const batch = 8

// limit bounds the tokens of a text: a graph takes their square in time and room.
const limit = 512

// Open reads a model and runs it once.
func Open(ctx context.Context, cfg Config) (*Embedder, error) {
	e, err := open(cfg)
	if err != nil {
		return nil, fmt.Errorf("open onnx embedder in %s: %w", cfg.Dir, err)
	}
	vectors, err := e.embed(ctx, "", []string{"hola"})
	if err != nil {
		return nil, fmt.Errorf("open onnx embedder in %s: %w", cfg.Dir, errors.Join(err, e.Close()))
	}
	e.dim = len(vectors[0])
	return e, nil
}

func open(cfg Config) (*Embedder, error) {
	if cfg.Dir == "" {
		return nil, errors.New("no folder is named")
	}
	graph, inside, err := readGraph(cfg.Dir)
	if err != nil {
		return nil, err
	}
	words, err := os.ReadFile(filepath.Join(cfg.Dir, "tokenizer.json"))
	if err != nil {
		return nil, err
	}
	identity, err := hub.Identify(cfg.Dir, map[string][]byte{inside: graph, "tokenizer.json": words})
	if err != nil {
		return nil, err
	}
	e := &Embedder{free: make(chan struct{}, 1)}
	e.free <- struct{}{}
	if e.tokens, err = tokenizer.Read(words); err != nil {
		return nil, err
	}
	said, err := readFolder(cfg.Dir)
	if err != nil {
		return nil, err
	}
	e.cfg = said.with(cfg, e.tokens.Limit())
	if err := e.cfg.check(); err != nil {
		return nil, err
	}
	e.name = fmt.Sprintf("onnx/%s@%s+%s", cmp.Or(cfg.Name, filepath.Base(filepath.Clean(cfg.Dir))), identity, e.cfg.Pooling)
	e.engine, err = newEngine(graph, filepath.Join(cfg.Dir, filepath.FromSlash(inside)), cfg.Library)
	return e, err
}

// Name tells the model, its files by their hash, and its pooling: vectors of two
// models never mix.
func (e *Embedder) Name() string { return e.name }

// Dim is the length of each vector.
func (e *Embedder) Dim() int { return e.dim }

// Close lets the engine go, once the graph that is run is done. Close may be
// called more than once.
func (e *Embedder) Close() error {
	<-e.free
	defer func() { e.free <- struct{}{} }()
	if e.closed || e.engine == nil {
		return nil
	}
	e.closed = true
	return e.engine.close()
}

// Embed returns a unit vector for each text, read as a document. A text without
// a token has a vector of zeros, which is near to nothing.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return e.embed(ctx, e.cfg.DocumentPrefix, texts)
}

// EmbedQuery is the vector of a question.
func (e *Embedder) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	vectors, err := e.embed(ctx, e.cfg.QueryPrefix, []string{text})
	if err != nil {
		return nil, err
	}
	return vectors[0], nil
}

func (e *Embedder) embed(ctx context.Context, prefix string, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	var ids [][]int
	var at []int // whose ids they are
	for i, text := range texts {
		found := e.tokens.Encode(text)
		if len(found) == 0 {
			vectors[i] = make([]float32, e.dim)
			continue
		}
		if prefix != "" {
			found = e.tokens.Encode(prefix + text)
		}
		ids, at = append(ids, e.tokens.Frame(found, e.cfg.MaxTokens)), append(at, i)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	for from := 0; from < len(ids); from += batch {
		to := min(from+batch, len(ids))
		got, err := e.ask(ctx, ids[from:to])
		if err != nil {
			return nil, err
		}
		for i, v := range got {
			vectors[at[from+i]] = v
		}
	}
	return vectors, nil
}

// answer is what a run gave.
type answer struct {
	vectors [][]float32
	err     error
}

// ask runs the graph once it is free, and leaves it alone when ctx ends.
func (e *Embedder) ask(ctx context.Context, ids [][]int) ([][]float32, error) {
	select {
	case <-e.free:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if e.closed {
		e.free <- struct{}{}
		return nil, fmt.Errorf("embed with %s: it is closed", e.name)
	}
	done := make(chan answer, 1)
	go func() {
		defer func() { e.free <- struct{}{} }()
		vectors, err := e.run(ids)
		done <- answer{vectors, err}
	}()
	select {
	case a := <-done:
		return a.vectors, a.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// run runs the graph and pools what it gives. Engines panic on graphs that they
// do not understand; that is an error of the graph.
func (e *Embedder) run(ids [][]int) (vectors [][]float32, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("run graph of %s: %v", e.name, r)
		}
	}()
	padded, mask := pad(ids)
	values, shape, err := e.engine.run(padded, mask)
	if err != nil {
		return nil, fmt.Errorf("run graph of %s: %w", e.name, err)
	}
	vectors, err = pool(e.cfg.Pooling, values, shape, ids)
	if err != nil {
		return nil, fmt.Errorf("read what the graph of %s gave: %w", e.name, err)
	}
	for i, v := range vectors {
		if !unit(v) || e.dim > 0 && len(v) != e.dim {
			return nil, fmt.Errorf("read what the graph of %s gave: text %d has a vector of %d dimensions that is no direction", e.name, i, len(v))
		}
	}
	return vectors, nil
}

// pad makes the texts of one length, a power of two, so that the engine
// meets few shapes, and the batch one or whole.
func pad(ids [][]int) (padded, mask [][]int64) {
	length, texts := 8, batch
	if len(ids) == 1 {
		texts = 1
	}
	for _, list := range ids {
		for length < len(list) {
			length *= 2
		}
	}
	for i := range texts {
		row, on := make([]int64, length), make([]int64, length)
		for k, id := range ids[min(i, len(ids)-1)] { // what fills the batch is embedded again
			row[k], on[k] = int64(id), 1
		}
		padded, mask = append(padded, row), append(mask, on)
	}
	return padded, mask
}

// unit makes v a unit vector; false means that it is none and cannot be made one.
func unit(v []float32) bool {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if math.IsNaN(sum) || math.IsInf(sum, 0) || sum == 0 {
		return false
	}
	scale := float32(1 / math.Sqrt(sum))
	for i := range v {
		v[i] *= scale
	}
	return true
}
