package onnx

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// graphs are where the graph may lie in a folder.
var graphs = []string{"onnx/model.onnx", "model.onnx"}

// readGraph reads the graph, and tells where it was.
func readGraph(dir string) (graph []byte, inside string, err error) {
	for _, inside := range graphs {
		graph, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(inside)))
		if !errors.Is(err, fs.ErrNotExist) {
			return graph, inside, err
		}
	}
	return nil, "", fmt.Errorf("none of %s is there", strings.Join(graphs, " and "))
}

// folder is what the files beside a graph say of how it is used.
type folder struct {
	config struct {
		Positions int `json:"max_position_embeddings"`
	}
	sentence struct {
		MaxLength int `json:"max_seq_length"`
	}
	pooling struct {
		CLS  bool `json:"pooling_mode_cls_token"`
		Mean bool `json:"pooling_mode_mean_tokens"`
		Max  bool `json:"pooling_mode_max_tokens"`
		Root bool `json:"pooling_mode_mean_sqrt_len_tokens"`
		Wide bool `json:"pooling_mode_weightedmean_tokens"`
		Last bool `json:"pooling_mode_lasttoken"`
	}
	prompts struct {
		Prompts map[string]string `json:"prompts"`
	}
	modules []struct {
		Type string `json:"type"`
	}
}

// readFolder reads the files that are there.
func readFolder(dir string) (folder, error) {
	var f folder
	for path, to := range map[string]any{
		"config.json": &f.config, "sentence_bert_config.json": &f.sentence, "1_Pooling/config.json": &f.pooling,
		"config_sentence_transformers.json": &f.prompts, "modules.json": &f.modules,
	} {
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(path)))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = json.Unmarshal(text, to)
		}
		if err != nil {
			return folder{}, fmt.Errorf("read %s: %w", path, err)
		}
	}
	for _, m := range f.modules {
		switch kind := m.Type[strings.LastIndex(m.Type, ".")+1:]; kind {
		case "Transformer", "Pooling", "Normalize":
		default:
			return folder{}, fmt.Errorf("read modules.json: the model has a module %s after its graph, which is not run here", kind)
		}
	}
	return f, nil
}

// with is cfg with what the folder says where it says nothing. tokens is the
// tokenizer's own limit. What is said of normalising is not asked: every vector
// is made a unit vector.
func (f folder) with(cfg Config, tokens int) Config {
	cfg.Pooling = cmp.Or(cfg.Pooling, f.pool())
	cfg.MaxTokens = cmp.Or(cfg.MaxTokens, f.sentence.MaxLength, tokens, limit)
	if f.config.Positions > 0 {
		cfg.MaxTokens = min(cfg.MaxTokens, f.config.Positions)
	}
	cfg.MaxTokens = min(cfg.MaxTokens, limit)
	cfg.QueryPrefix = cmp.Or(cfg.QueryPrefix, f.prompts.Prompts["query"])
	cfg.DocumentPrefix = cmp.Or(cfg.DocumentPrefix, f.prompts.Prompts["document"], f.prompts.Prompts["passage"])
	return cfg
}

// pool is how the folder says that tokens are pooled: by their mean if it does
// not say.
func (f folder) pool() string {
	var said []string
	for name, on := range map[string]bool{
		"mean": f.pooling.Mean, "cls": f.pooling.CLS, "max": f.pooling.Max, "last": f.pooling.Last,
		"mean_sqrt_len": f.pooling.Root, "weightedmean": f.pooling.Wide,
	} {
		if on {
			said = append(said, name)
		}
	}
	switch len(said) {
	case 0:
		return "mean"
	case 1:
		return said[0]
	}
	return "several at once"
}

func (c Config) check() error {
	switch c.Pooling {
	case "mean", "cls", "max", "last":
	case "mean_sqrt_len": // its direction is that of the mean
	default:
		return fmt.Errorf("pooling %q is not known; use one of: mean, cls, max, last", c.Pooling)
	}
	if c.MaxTokens < 3 {
		return fmt.Errorf("%d tokens of a text are too few", c.MaxTokens)
	}
	return nil
}
