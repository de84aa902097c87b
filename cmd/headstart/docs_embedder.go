package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"headstart/retrieval"
	"headstart/worker"
)

// embedderFlags describe an embedder on the command line, as an agent file does
// under embedder.
type embedderFlags struct {
	provider, model, url string
	options              []string // NAME=VALUE
	agent                string   // a file whose embedder is taken
}

func (o *embedderFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.provider, "embedder", "", "`PROVIDER` of the embedder, as in an agent file; empty is hashing")
	f.StringVar(&o.model, "embedder-model", "", "its `MODEL`")
	f.StringVar(&o.url, "embedder-url", "", "`URL` of its server, when that is not the vendor's own")
	f.StringArrayVar(&o.options, "embedder-option", nil, "another option of it, `NAME=VALUE`; may be given more than once")
	f.StringVar(&o.agent, "agent", "", "take the embedder of this agent `FILE`")
}

// said tells whether the flags say anything.
func (o embedderFlags) said() bool {
	return o.provider != "" || o.model != "" || o.url != "" || len(o.options) > 0 || o.agent != ""
}

// config is what an agent file would say.
func (o *embedderFlags) config() (worker.ModelConfig, error) {
	if o.agent != "" {
		return o.ofAgent()
	}
	m := worker.ModelConfig{Provider: o.provider, Model: o.model, Options: map[string]any{}}
	if o.url != "" {
		m.Options["base_url"] = o.url
	}
	for _, option := range o.options {
		name, value, ok := strings.Cut(option, "=")
		if !ok || name == "" {
			return m, usageError{fmt.Errorf("--embedder-option %q: want NAME=VALUE", option)}
		}
		var v any
		if err := yaml.Unmarshal([]byte(value), &v); err != nil {
			return m, usageError{fmt.Errorf("--embedder-option %s: %s", name, yaml.FormatError(err, false, false))}
		}
		m.Options[name] = v
	}
	return m, nil
}

func (o embedderFlags) ofAgent() (worker.ModelConfig, error) {
	agent := o.agent
	if o.agent = ""; o.said() {
		return worker.ModelConfig{}, usageError{fmt.Errorf("--agent %s says which embedder is used: leave the other --embedder flags out", agent)}
	}
	text, err := os.ReadFile(agent)
	if err != nil {
		return worker.ModelConfig{}, fmt.Errorf("read agent: %w", err)
	}
	a, err := worker.ParseAgent(text)
	if err != nil {
		return worker.ModelConfig{}, fmt.Errorf("%s: %w", agent, err)
	}
	return a.Embedder, nil
}

// open makes the embedder, as a worker would.
func (o *embedderFlags) open(ctx context.Context) (retrieval.Embedder, error) {
	m, err := o.config()
	if err != nil {
		return nil, err
	}
	s, err := settingsFromEnv()
	if err != nil {
		return nil, err
	}
	k := &kit{settings: s, log: zap.NewNop()}
	return k.embedder(ctx, worker.Agent{Embedder: m})
}
