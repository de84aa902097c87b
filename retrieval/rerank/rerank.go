// Package rerank owns asking a cross-encoder over HTTP how well texts answer a
// question: the rerank call that Cohere, Jina and Voyage share, and that servers of
// one's own imitate. It implements retrieval.Reranker.
//
// It asks once: whoever waits has an order already. It fails with an Error, which
// holds no text and of a refusal only its status, or with what ended its context. It
// never decides when to ask, nor what becomes of the order.
package rerank

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"

	"headstart/retrieval/embed"
)

// Config says which server and model are asked.
type Config struct {
	// Provider is "cohere", "jina" or "voyage": whose address is asked when BaseURL says
	// none. All three speak alike.
	Provider string
	BaseURL  string // up to "/rerank"
	Key      string // empty sends none
	Model    string
	// Options go into the body of each request; null leaves a field out.
	Options map[string]any
	// Transport replaces the connections, for tests; nil is our own.
	Transport http.RoundTripper
}

// addresses are the vendors' own.
var addresses = map[string]string{
	"cohere": "https://api.cohere.com/v2",
	"jina":   "https://api.jina.ai/v1",
	"voyage": "https://api.voyageai.com/v1",
}

// Validate joins every complaint.
func (c Config) Validate() error {
	var wrong []error
	if addresses[c.Provider] == "" {
		wrong = append(wrong, fmt.Errorf("provider: %q is not known; use cohere, jina or voyage", c.Provider))
	}
	if c.BaseURL != "" {
		if u, err := url.Parse(c.BaseURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			wrong = append(wrong, fmt.Errorf("base_url: %q is no address of a server", c.BaseURL))
		}
	}
	if c.Model == "" {
		wrong = append(wrong, errors.New("model: missing"))
	}
	return errors.Join(wrong...)
}

// Client asks one model of one server. It is safe for concurrent use.
type Client struct {
	cfg    Config
	url    string
	client *http.Client
}

// New returns a client; nothing is asked before Rerank.
func New(cfg Config) (*Client, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("set up reranker: %w", err)
	}
	base := cfg.BaseURL
	if base == "" {
		base = addresses[cfg.Provider]
	}
	transport := cfg.Transport
	if transport == nil {
		own := http.DefaultTransport.(*http.Transport).Clone()
		own.IdleConnTimeout = 10 * time.Minute // the quiet time between two questions
		transport = own
	}
	return &Client{cfg: cfg, url: strings.TrimRight(base, "/") + "/rerank", client: &http.Client{Transport: transport}}, nil
}

// Name is the provider and the model.
func (c *Client) Name() string { return c.cfg.Provider + "/" + c.cfg.Model }

// Error is why a server gave no scores.
type Error struct {
	Reranker string
	Status   int // the HTTP status of a refusal, 0 when no whole answer came
	Err      error
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("ask reranker %s: %v", e.Reranker, e.Err) }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// maxAnswer is how many bytes an answer can have: servers may repeat the texts.
const maxAnswer = 16 << 20

var (
	errGarbage  = errors.New("answer is no list of scores")
	errIndex    = errors.New("answer judges a text that was not sent, or one twice, or leaves one out")
	errTooLarge = fmt.Errorf("answer is larger than %d MiB", maxAnswer>>20)
)

// Rerank implements retrieval.Reranker. Secrets in the question and in the texts are
// masked, as for embedders.
func (c *Client) Rerank(ctx context.Context, question string, texts []string) ([]float64, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	body, err := c.body(question, texts)
	if err != nil {
		return nil, fmt.Errorf("write request to reranker %s: %w", c.Name(), err)
	}
	answer, err := c.post(ctx, body)
	if ctx.Err() != nil && err != nil {
		return nil, fmt.Errorf("ask reranker %s: %w", c.Name(), context.Cause(ctx))
	}
	if err != nil {
		return nil, err
	}
	return c.read(answer, len(texts))
}

func (c *Client) body(question string, texts []string) ([]byte, error) {
	masked := make([]string, len(texts))
	for i, t := range texts {
		masked[i] = embed.Mask(t)
	}
	fields := map[string]any{"model": c.cfg.Model, "query": embed.Mask(question), "documents": masked}
	maps.Copy(fields, c.cfg.Options)
	maps.DeleteFunc(fields, func(_ string, v any) bool { return v == nil })
	return json.Marshal(fields)
}

func (c *Client) post(ctx context.Context, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("write request to reranker %s: %w", c.Name(), err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if c.cfg.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.cfg.Key)
	}
	// To ask twice does no harm: this entry, which is not sent, lets the pool replace a
	// connection that died while it was idle.
	req.Header["Idempotency-Key"] = nil
	res, err := c.client.Do(req)
	if err != nil {
		return nil, &Error{Reranker: c.Name(), Err: err}
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, &Error{Reranker: c.Name(), Status: res.StatusCode, Err: fmt.Errorf("server answered %d %s", res.StatusCode, http.StatusText(res.StatusCode))}
	}
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, &Error{Reranker: c.Name(), Err: err}
	case len(answer) > maxAnswer:
		return nil, &Error{Reranker: c.Name(), Err: errTooLarge}
	}
	return answer, nil
}

// judgement is one text of an answer, and its score.
type judgement struct {
	Index *int     `json:"index"`
	Score *float64 `json:"relevance_score"`
}

// read takes the scores out of an answer: Cohere and Jina call the list results,
// Voyage calls it data. Each text has to be judged once.
func (c *Client) read(answer []byte, texts int) ([]float64, error) {
	var a struct{ Results, Data []judgement }
	if json.Unmarshal(answer, &a) != nil { // its error may repeat what it read
		return nil, &Error{Reranker: c.Name(), Err: errGarbage}
	}
	list := append(a.Results, a.Data...)
	if len(list) != texts {
		return nil, &Error{Reranker: c.Name(), Err: errIndex}
	}
	scores, judged := make([]float64, texts), make([]bool, texts)
	for _, j := range list {
		switch {
		case j.Index == nil || j.Score == nil || math.IsNaN(*j.Score):
			return nil, &Error{Reranker: c.Name(), Err: errGarbage}
		case *j.Index < 0 || *j.Index >= texts || judged[*j.Index]:
			return nil, &Error{Reranker: c.Name(), Err: errIndex}
		}
		scores[*j.Index], judged[*j.Index] = *j.Score, true
	}
	return scores, nil
}
