// Package hub brings the models of embedders from Hugging Face's hub, or a server
// that has the same paths, to the operator's disk, and tells whether they are
// still those that were brought. It owns the record of what was pulled: the
// SHA-256 of each file, taken the first time. From then on no other bytes are
// taken for the model: not from the hub, where a name may mean something else
// tomorrow, and not from the disk.
//
// It never reads what is inside a file, but for the config.json that tells which
// files a model has. A download that fails keeps what it has and is resumed by
// the next Pull; a file is under its name only when it is whole. A server that
// sends nothing for 30 s is given up (*StallError). One Pull of a model into a
// folder may run at a time.
package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
)

// DefaultBase is where models are pulled from.
const DefaultBase = "https://huggingface.co"

// Config says where models come from and go to.
type Config struct {
	Base     string // of the hub; DefaultBase when empty
	Dir      string // of all models
	Revision string // of the model: a branch, a tag or a commit; main when empty
	Client   *http.Client
	// Progress, when set, is told of each file how many bytes are in, of how
	// many; -1 where the server does not say.
	Progress func(file string, done, total int64)
}

// names are those that a model may have: an owner's and its own.
var names = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*/[A-Za-z0-9][A-Za-z0-9_.-]*$`)

// Named tells whether a name is one of the hub's, OWNER/MODEL.
func Named(name string) bool { return names.MatchString(name) }

// Folder is where a model lies among all models, whether it is there or not.
func Folder(dir, name string) string {
	return filepath.Join(dir, "hub", filepath.FromSlash(name))
}

// wanted is a file of a model.
type wanted struct {
	path     string
	optional bool
}

// The files of the models that there are embedders for.
var (
	staticFiles = []wanted{{path: "tokenizer.json"}, {path: "model.safetensors"}}
	graphFiles  = []wanted{
		{path: "tokenizer.json"}, {path: "modules.json", optional: true},
		{path: "sentence_bert_config.json", optional: true}, {path: "1_Pooling/config.json", optional: true},
		{path: "config_sentence_transformers.json", optional: true},
		{path: "onnx/model.onnx"}, {path: "onnx/model.onnx_data", optional: true},
	}
)

// errAbsent means that the hub has no file of that name.
var errAbsent = errors.New("the hub has no such file")

// Pull brings a model, and returns its folder. What is there already and whole
// is not asked for again.
func Pull(ctx context.Context, cfg Config, name string) (string, error) {
	if !Named(name) {
		return "", fmt.Errorf("pull %q: a model of the hub is named OWNER/MODEL", name)
	}
	if cfg.Base == "" {
		cfg.Base = DefaultBase
	}
	if cfg.Revision == "" {
		cfg.Revision = "main"
	}
	if cfg.Progress == nil {
		cfg.Progress = func(string, int64, int64) {}
	}
	p := &pull{cfg: cfg, name: name, dir: Folder(cfg.Dir, name)}
	if err := p.run(ctx); err != nil {
		return "", fmt.Errorf("pull %s: %w", name, err)
	}
	return p.dir, nil
}

// pull is one Pull at work.
type pull struct {
	cfg    Config
	name   string
	dir    string
	record record
}

func (p *pull) run(ctx context.Context) error {
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return err
	}
	var err error
	if p.record, err = readRecord(p.dir); err != nil {
		return err
	}
	p.record.Model, p.record.Revision = p.name, p.cfg.Revision
	if err := p.bring(ctx, wanted{path: "config.json", optional: true}); err != nil {
		return err
	}
	files, err := p.files()
	if err != nil {
		return err
	}
	for _, w := range files {
		if err := p.bring(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// files are those that the model has, by what its config.json says it is.
func (p *pull) files() ([]wanted, error) {
	text, err := os.ReadFile(filepath.Join(p.dir, "config.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return graphFiles, nil
	}
	if err != nil {
		return nil, err
	}
	var c struct {
		Type string `json:"model_type"`
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("read config.json: %w", err)
	}
	if c.Type == "model2vec" {
		return staticFiles, nil
	}
	return graphFiles, nil
}

// bring makes sure that a file is there and is the one that was first pulled.
func (p *pull) bring(ctx context.Context, w wanted) error {
	path := filepath.Join(p.dir, filepath.FromSlash(w.path))
	want, known := p.record.Files[w.path]
	if known {
		if got, err := sumOf(path); err == nil && got == want {
			return nil
		}
	}
	got, err := p.download(ctx, w.path, path+".part")
	switch {
	case errors.Is(err, errAbsent) && w.optional:
		return nil
	case err != nil:
		return fmt.Errorf("%s: %w", w.path, err)
	case known && got != want:
		return errors.Join(&ChangedError{Dir: p.dir, File: w.path, Want: want, Got: got}, os.Remove(path+".part"))
	}
	if err := os.Rename(path+".part", path); err != nil {
		return err
	}
	p.record.Files[w.path] = got
	return p.record.write(p.dir)
}
