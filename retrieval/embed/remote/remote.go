// Package remote owns what embedders behind HTTP have in common: masking,
// batches within a vendor's limits, deadlines, trying again, reading vectors
// and holding them to their length. It never knows a vendor: openai and voyage
// say what goes into a request.
//
// It fails with an *Error that tells whether asking again may help, with a
// *DimensionError or a *CountError when the server gave other vectors than were
// asked for, and with the cause of its context when that ended.
package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"go.uber.org/zap"

	"headstart/retrieval/embed"
)

// The clocks. A batch of documents has time; a question has a caller who waits,
// and the budget of its turn ends it long before.
const (
	DefaultTimeout = 30 * time.Second // a request with documents: 64 passages take a small model some seconds of a processor
	queryTimeout   = 5 * time.Second  // a question, tries included
)

// The pauses stand before each further try. That of a question is enough for a
// connection that died to be replaced.
var (
	documentPauses = []time.Duration{200 * time.Millisecond, 500 * time.Millisecond, time.Second}
	queryPauses    = []time.Duration{50 * time.Millisecond}
)

// Vendor is what an adapter knows of the servers that it speaks to.
type Vendor struct {
	Name    string // "openai"
	BaseURL string // the vendor's own
	// Document and Query are the fields of a request beside model and input.
	Document, Query map[string]any
	// Dimensions names the field that asks for a length.
	Dimensions string

	// Limits of one request. Tokens are estimated, a token for three bytes: more
	// than most texts have, so that a batch is not refused.
	Inputs, Tokens int
	// Each is the most tokens of one text; what is over is not sent.
	Each int
}

// Config says which server and model are asked. Its zero values are the vendor's.
type Config struct {
	BaseURL string // the vendor's own when empty
	Key     string // sent as a bearer token; needed at the vendor's own
	Model   string // required
	// Dim is asked for. 0 asks for none, and learns the length from the first
	// answer, when the embedder is opened.
	Dim int
	// Options are further fields of the request body, as the provider names
	// them. They win over the fields that the vendor's adapter sends; nil removes
	// one ("dimensions": nil, for a server that knows none).
	Options map[string]any

	Inputs  int           // texts a request
	Tokens  int           // estimated tokens a request
	Timeout time.Duration // of a request with documents; 0 is DefaultTimeout

	// Transport carries the requests; nil is a pool of connections of its own.
	Transport http.RoundTripper
}

// Validate tells everything that is wrong with the configuration.
func (c Config) Validate(v Vendor) error {
	var errs []error
	if c.Model == "" {
		errs = append(errs, errors.New("model is empty"))
	}
	if u, err := url.Parse(c.BaseURL); c.BaseURL != "" && (err != nil || u.Host == "" || !strings.HasPrefix(u.Scheme, "http")) {
		errs = append(errs, fmt.Errorf("base url %q is no http url", c.BaseURL))
	}
	if c.Key == "" && (c.BaseURL == "" || c.BaseURL == v.BaseURL) {
		errs = append(errs, fmt.Errorf("key for %s is empty", v.BaseURL))
	}
	if c.Dim < 0 || c.Inputs < 0 || c.Tokens < 0 || c.Timeout < 0 {
		errs = append(errs, errors.New("a dimension, a limit or a deadline is negative"))
	}
	if _, err := json.Marshal(c.Options); err != nil {
		errs = append(errs, fmt.Errorf("write options: %w", err))
	}
	return errors.Join(errs...)
}

// fields are what a request holds beside model and input.
func (c Config) fields(v Vendor, own map[string]any) map[string]any {
	fields := map[string]any{}
	maps.Copy(fields, own)
	if c.Dim > 0 {
		fields[v.Dimensions] = c.Dim
	}
	maps.Copy(fields, c.Options)
	maps.DeleteFunc(fields, func(_ string, value any) bool { return value == nil })
	return fields
}

// Embedder implements retrieval.Embedder, and EmbedQuery for questions. It
// changes no more once it is open: any number of goroutines may use it.
type Embedder struct {
	name, url       string
	cfg             Config
	document, query manner
	each            int // bytes of a text at most
	dim             int
	client          *http.Client
	log             *zap.Logger
}

// probe is what an embedder without a length embeds to learn it.
const probe = "hola"

// Open makes an embedder. With a Dim it asks nothing; without, it embeds one
// word to learn the length of the model's vectors.
func Open(ctx context.Context, v Vendor, cfg Config, log *zap.Logger) (*Embedder, error) {
	if err := cfg.Validate(v); err != nil {
		return nil, fmt.Errorf("configure %s embedder: %w", v.Name, err)
	}
	e := open(v, cfg, log)
	if e.dim > 0 {
		return e, nil
	}
	vectors, err := e.ask(ctx, e.document, []string{probe})
	if err != nil {
		e.Close()
		return nil, fmt.Errorf("learn the dimension of %s: %w", e.name, err)
	}
	e.dim = len(vectors[0])
	return e, nil
}

func open(v Vendor, cfg Config, log *zap.Logger) *Embedder {
	cfg.BaseURL = cmp.Or(cfg.BaseURL, v.BaseURL)
	cfg.Inputs, cfg.Tokens = cmp.Or(cfg.Inputs, v.Inputs), cmp.Or(cfg.Tokens, v.Tokens)
	cfg.Timeout = cmp.Or(cfg.Timeout, DefaultTimeout)
	if cfg.Transport == nil {
		cfg.Transport = newTransport()
	}
	return &Embedder{
		name: v.Name + "/" + cfg.Model, url: strings.TrimRight(cfg.BaseURL, "/") + "/embeddings", cfg: cfg,
		document: manner{what: "vectors of documents", fields: cfg.fields(v, v.Document), each: cfg.Timeout, pauses: documentPauses},
		query:    manner{what: "the vector of a question", fields: cfg.fields(v, v.Query), each: queryTimeout, all: queryTimeout, pauses: queryPauses},
		each:     v.Each * bytesAToken, dim: cfg.Dim,
		client: &http.Client{Transport: cfg.Transport}, log: log.Named("embed"),
	}
}

// Name is the vendor and the model.
func (e *Embedder) Name() string { return e.name }

// Dim is the length of each vector.
func (e *Embedder) Dim() int { return e.dim }

// Close lets idle connections go.
func (e *Embedder) Close() { e.client.CloseIdleConnections() }

// Embed implements retrieval.Embedder for documents. A text without anything to
// see has a vector of zeros, which is near to nothing: servers refuse it.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("ask embedder %s: %w", e.name, context.Cause(ctx))
	}
	vectors := make([][]float32, len(texts))
	var sent []item
	for i, text := range texts {
		if text = e.visible(text); text == "" {
			vectors[i] = make([]float32, e.dim)
			continue
		}
		sent = append(sent, item{at: i, text: text})
	}
	for _, b := range batches(sent, e.cfg.Inputs, e.cfg.Tokens) {
		got, err := e.ask(ctx, e.document, words(b))
		if err != nil {
			return nil, err
		}
		for i, v := range got {
			vectors[b[i].at] = v
		}
	}
	return vectors, nil
}

// EmbedQuery is the vector of a question. It takes 5 s at most.
func (e *Embedder) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	if text = e.visible(text); text == "" {
		return make([]float32, e.dim), nil
	}
	vectors, err := e.ask(ctx, e.query, []string{text})
	if err != nil {
		return nil, err
	}
	return vectors[0], nil
}

// Warm opens a connection, so that the first question need not. What the server
// answers does not matter.
func (e *Embedder) Warm(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, queryTimeout, &TimeoutError{"connection", queryTimeout})
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, e.url, nil)
	if err != nil {
		return fmt.Errorf("warm embedder %s: %w", e.name, err)
	}
	res, err := e.client.Do(req)
	if err != nil {
		return &Error{Embedder: e.name, Tries: 1, Again: true, Err: because(ctx, err)}
	}
	return res.Body.Close() // of HEAD: it has none
}

// visible is the copy of a text that the server sees.
func (e *Embedder) visible(text string) string {
	return cut(strings.TrimSpace(embed.Mask(text)), e.each)
}
