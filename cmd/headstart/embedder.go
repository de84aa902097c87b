package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"go.uber.org/zap"

	"headstart/retrieval"
	"headstart/retrieval/embed"
	"headstart/retrieval/embed/hub"
	"headstart/retrieval/embed/onnx"
	"headstart/retrieval/embed/openai"
	"headstart/retrieval/embed/remote"
	"headstart/retrieval/embed/static"
	"headstart/retrieval/embed/voyage"
	"headstart/worker"
)

// embedder makes the embedder that the agent names.
func (k *kit) embedder(ctx context.Context, a worker.Agent) (retrieval.Embedder, error) {
	switch a.Embedder.Provider {
	case "", "hashing":
		return hashing(a)
	case "openai":
		return k.remoteEmbedder(ctx, a, openai.Open, k.settings.openaiKey, "OPENAI_API_KEY")
	case "voyage":
		return k.remoteEmbedder(ctx, a, voyage.Open, k.settings.voyageKey, "VOYAGE_API_KEY")
	case "static":
		return k.once(a, func() (retrieval.Embedder, error) { return k.staticEmbedder(a.Embedder) })
	case "onnx":
		return k.once(a, func() (retrieval.Embedder, error) { return k.graphEmbedder(ctx, a.Embedder) })
	}
	return nil, unknown("embedder", a.Embedder.Provider, "hashing, static, onnx, openai, voyage")
}

// once makes an embedder for the bases and the questions of all agents that say
// the same of it.
func (k *kit) once(a worker.Agent, open func() (retrieval.Embedder, error)) (retrieval.Embedder, error) {
	said, err := json.Marshal(a.Embedder)
	if err != nil {
		return nil, fmt.Errorf("embedder: read options: %w", err)
	}
	if e, ok := k.opened[string(said)]; ok {
		return e, nil
	}
	e, err := open()
	if err != nil {
		return nil, err
	}
	if k.opened == nil {
		k.opened = map[string]retrieval.Embedder{}
	}
	k.opened[string(said)] = e
	k.own(e)
	return e, nil
}

// staticEmbedder reads a table of token vectors.
func (k *kit) staticEmbedder(m worker.ModelConfig) (retrieval.Embedder, error) {
	var o struct {
		Dir string `yaml:"dir"`
		Dim int    `yaml:"dim"`
	}
	if err := options(m.Options, &o); err != nil {
		return nil, fmt.Errorf("embedder: %w", err)
	}
	dir, err := k.modelFolder(m.Model, o.Dir)
	if err != nil {
		return nil, err
	}
	return static.Open(static.Config{Dir: dir, Name: m.Model, Dim: o.Dim})
}

// graphEmbedder runs a model on this machine.
func (k *kit) graphEmbedder(ctx context.Context, m worker.ModelConfig) (retrieval.Embedder, error) {
	var o struct {
		Dir            string `yaml:"dir"`
		Pooling        string `yaml:"pooling"`
		MaxTokens      int    `yaml:"max_tokens"`
		QueryPrefix    string `yaml:"query_prefix"`
		DocumentPrefix string `yaml:"document_prefix"`
		Library        string `yaml:"library"`
	}
	if err := options(m.Options, &o); err != nil {
		return nil, fmt.Errorf("embedder: %w", err)
	}
	dir, err := k.modelFolder(m.Model, o.Dir)
	if err != nil {
		return nil, err
	}
	return onnx.Open(ctx, onnx.Config{
		Dir: dir, Name: m.Model, Pooling: o.Pooling, MaxTokens: o.MaxTokens,
		QueryPrefix: o.QueryPrefix, DocumentPrefix: o.DocumentPrefix, Library: o.Library,
	})
}

// modelFolder is where the model of an embedder lies: in a folder that the agent
// names, or where it was pulled to.
func (k *kit) modelFolder(model, dir string) (string, error) {
	switch {
	case dir != "":
		return dir, nil
	case model == "":
		return "", errors.New("embedder: name a model of the hub (model: OWNER/MODEL), or the folder of one (options: {dir: DIR})")
	case !hub.Named(model):
		return "", fmt.Errorf("embedder: %q is no name of the hub, OWNER/MODEL; a folder is named by options: {dir: DIR}", model)
	}
	dir = hub.Folder(k.settings.models, model)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("embedder: %s is not here; headstart models pull %s gets it", model, model)
	}
	return dir, nil
}

func hashing(a worker.Agent) (retrieval.Embedder, error) {
	var o struct {
		DelayMS int `yaml:"delay_ms"`
		Dim     int `yaml:"dim"`
	}
	if err := options(a.Embedder.Options, &o); err != nil {
		return nil, fmt.Errorf("embedder: %w", err)
	}
	if o.Dim == 0 {
		o.Dim = 512
	}
	var e retrieval.Embedder = embed.Hashing(o.Dim)
	if o.DelayMS > 0 {
		e = embed.Delayed(e, time.Duration(o.DelayMS)*time.Millisecond)
	}
	return e, nil
}

// opener is what the vendors' packages have in common.
type opener func(context.Context, remote.Config, *zap.Logger) (*remote.Embedder, error)

// remoteEmbedder makes an embedder that asks a server.
func (k *kit) remoteEmbedder(ctx context.Context, a worker.Agent, open opener, key, variable string) (retrieval.Embedder, error) {
	return k.once(a, func() (retrieval.Embedder, error) {
		cfg, err := embedderConfig(a.Embedder, key)
		if err != nil {
			return nil, fmt.Errorf("embedder: %w", err)
		}
		e, err := open(ctx, cfg, k.log)
		switch {
		case err != nil && cfg.Key == "":
			return nil, fmt.Errorf("embedder %s (is %s set?): %w", a.Embedder.Provider, variable, err)
		case err != nil:
			return nil, fmt.Errorf("embedder %s: %w", a.Embedder.Provider, err)
		}
		return e, nil
	})
}

// embedderConfig takes what is ours out of the options; the rest goes into the
// body of the requests.
func embedderConfig(m worker.ModelConfig, key string) (remote.Config, error) {
	base, key, rest := endpoint(m.Options, key)
	var o struct {
		Dim       int `yaml:"dim"`
		MaxInputs int `yaml:"max_inputs"`
	}
	ours := map[string]any{}
	for _, name := range []string{"dim", "max_inputs"} {
		if v, ok := rest[name]; ok {
			ours[name] = v
			delete(rest, name)
		}
	}
	err := options(ours, &o)
	return remote.Config{BaseURL: base, Key: key, Model: m.Model, Dim: o.Dim, Inputs: o.MaxInputs, Options: rest}, err
}
