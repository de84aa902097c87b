// Package openai asks a model over OpenAI's chat completions, streamed, with
// tools and usage; many other servers speak the same. It owns the wire and its
// deadlines and never decides what to do with an answer. It fails with an
// *provider.Error that tells whether asking again may help, and with the cause of
// its context when it was cancelled. It asks once: retrying is the turn's.
package openai

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	openai "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"go.uber.org/zap"

	"headstart/turn/llm"
	"headstart/turn/provider"
)

// DefaultBaseURL is OpenAI's own.
const DefaultBaseURL = "https://api.openai.com/v1/"

// The default deadlines, of the contract.
const (
	DefaultConnect = 5 * time.Second
	DefaultFirst   = 5 * time.Second
	DefaultBetween = 5 * time.Second
)

// trailer is how long an answer that has told its finish waits for the usage
// and the end of the stream. They come within a frame; the caller's last clause
// waits for them, so a server that forgets them must not cost more than this.
const trailer = 500 * time.Millisecond

// Config says which server and model are asked.
type Config struct {
	BaseURL string // DefaultBaseURL when empty
	Key     string // sent as a bearer token; empty sends none
	Model   string // required
	// Temperature is not sent when nil: some models refuse it.
	Temperature *float64
	// Options are further fields of the request body, as the provider names
	// them ("max_completion_tokens": 300). They win over the fields that this
	// package sends; nil removes one ("stream_options": nil).
	Options map[string]any

	Connect time.Duration // request sent to response headers; 0 is DefaultConnect
	First   time.Duration // headers to the first token; 0 is DefaultFirst
	Between time.Duration // between tokens; 0 is DefaultBetween

	// Transport carries the requests; nil is a pool of connections of its own.
	Transport http.RoundTripper
}

// Validate tells everything that is wrong with the configuration.
func (c Config) Validate() error {
	var errs []error
	if c.Model == "" {
		errs = append(errs, errors.New("model is empty"))
	}
	if u, err := url.Parse(c.BaseURL); c.BaseURL != "" && (err != nil || u.Host == "" || !strings.HasPrefix(u.Scheme, "http")) {
		errs = append(errs, fmt.Errorf("base url %q is no http url", c.BaseURL))
	}
	if c.Temperature != nil && (*c.Temperature < 0 || *c.Temperature > 2) {
		errs = append(errs, fmt.Errorf("temperature %g is not in 0 to 2", *c.Temperature))
	}
	if c.Connect < 0 || c.First < 0 || c.Between < 0 {
		errs = append(errs, errors.New("a deadline is negative"))
	}
	return errors.Join(errs...)
}

// Model is a model behind chat completions. It holds no state of a
// conversation: any number of goroutines may ask it.
type Model struct {
	cfg  Config
	log  *zap.Logger
	chat openai.ChatCompletionService

	warmth warmth
}

// New makes a Model. It asks nothing yet.
func New(cfg Config, log *zap.Logger) (*Model, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("configure openai model: %w", err)
	}
	cfg.BaseURL = cmp.Or(cfg.BaseURL, DefaultBaseURL)
	cfg.Connect = cmp.Or(cfg.Connect, DefaultConnect)
	cfg.First = cmp.Or(cfg.First, DefaultFirst)
	cfg.Between = cmp.Or(cfg.Between, DefaultBetween)
	if cfg.Transport == nil {
		cfg.Transport = provider.NewTransport(cfg.Connect)
	}
	cfg.Transport = reusing{cfg.Transport}
	// The service alone, not the SDK's client: a client reads the environment.
	return &Model{cfg: cfg, log: log.Named("llm"), chat: openai.NewChatCompletionService(options(cfg)...)}, nil
}

// Name is the model that is asked.
func (m *Model) Name() string { return m.cfg.Model }

// Close lets idle connections go.
func (m *Model) Close() {
	(&http.Client{Transport: m.cfg.Transport}).CloseIdleConnections()
}

// Reply implements turn.Model.
func (m *Model) Reply(ctx context.Context, req llm.Request, emit func(string)) (llm.Result, error) {
	began := time.Now()
	m.warmth.touch()
	ctx, watch := provider.NewWatch(ctx)
	defer watch.Stop()
	watch.Await("response headers", m.cfg.Connect)
	var response *http.Response
	stream := m.chat.NewStreaming(ctx, m.params(req), option.WithResponseInto(&response))
	defer stream.Close()
	if err := stream.Err(); err != nil {
		return llm.Result{}, asked(ctx, err, response)
	}
	a := answer{watch: watch, between: m.cfg.Between, emit: emit}
	watch.Await("first token", m.cfg.First)
	for stream.Next() {
		a.hear(stream.Current())
	}
	result, err := a.end(ctx, stream.Err())
	m.log.Debug("model answered", zap.Duration("took", time.Since(began)), zap.String("finish", result.Finish),
		zap.Int("letters", a.letters), zap.Int("tool_calls", len(result.ToolCalls)), zap.Error(err))
	return result, err
}

func options(cfg Config) []option.RequestOption {
	opts := []option.RequestOption{
		option.WithBaseURL(cfg.BaseURL),
		option.WithHTTPClient(&http.Client{Transport: cfg.Transport}),
		option.WithMaxRetries(0),
	}
	if cfg.Key != "" {
		opts = append(opts, option.WithAPIKey(cfg.Key))
	}
	for _, key := range slices.Sorted(maps.Keys(cfg.Options)) {
		path := pathEscaper.Replace(key)
		if v := cfg.Options[key]; v != nil {
			opts = append(opts, option.WithJSONSet(path, v))
		} else {
			opts = append(opts, option.WithJSONDel(path))
		}
	}
	return opts
}

// pathEscaper makes a field name of a path as the SDK's JSON editor reads it.
var pathEscaper = strings.NewReplacer(".", `\.`, "*", `\*`, "?", `\?`, "|", `\|`, "#", `\#`, "@", `\@`, ":", `\:`)
