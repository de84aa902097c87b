package onnx_test

import (
	"context"
	"errors"
	"maps"
	"math"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"headstart/retrieval/embed/modeltest"
	"headstart/retrieval/embed/onnx"
)

func TestContract(t *testing.T) {
	t.Parallel()
	e := open(t, onnx.Config{Dir: modeltest.Encoder(t)})
	modeltest.Contract(t, e)
}

func open(t *testing.T, cfg onnx.Config) *onnx.Embedder {
	t.Helper()
	cfg.Library = os.Getenv("ONNXRUNTIME_LIBRARY") // of a binary that is built with the tag onnxruntime
	e, err := onnx.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// table are the rows of [PAD], [UNK], [CLS], [SEP], hola, adios and passage.
var table = [][]float32{{9, 9}, {7, 7}, {0, 1}, {-2, 0}, {3, 0}, {0, 4}, {5, 5}}

func model(extra map[string]string) map[string][]byte {
	files := map[string][]byte{
		"model.onnx": modeltest.Graph(table, "last_hidden_state"), "tokenizer.json": modeltest.Framed("hola", "adios", "passage"),
	}
	for name, text := range extra {
		files[name] = []byte(text)
	}
	return files
}

// TestByHand holds vectors to those that a pencil gives, of all tokens between
// [CLS] and [SEP] and those two.
func TestByHand(t *testing.T) {
	t.Parallel()
	const pooling = "1_Pooling/config.json"
	for _, c := range []struct {
		name  string
		files map[string]string
		cfg   onnx.Config
		want  map[string][]float64 // before they are made unit vectors
	}{
		{name: "mean", want: map[string][]float64{"hola": {1, 1}, "Hola adiós": {1, 5}, "hola hola hola hola hola hola hola": {19, 1}, "": {0, 0}}},
		{name: "cls", files: map[string]string{pooling: `{"pooling_mode_cls_token":true,"pooling_mode_mean_tokens":false}`},
			want: map[string][]float64{"hola": {0, 1}, "adios": {0, 1}}},
		{name: "max", files: map[string]string{pooling: `{"pooling_mode_max_tokens":true}`}, want: map[string][]float64{"hola adios": {3, 4}}},
		{name: "last", cfg: onnx.Config{Pooling: "last"}, want: map[string][]float64{"hola": {-1, 0}}},
		{name: "truncated", files: map[string]string{"sentence_bert_config.json": `{"max_seq_length":3}`}, want: map[string][]float64{"hola adios": {1, 1}}},
		{name: "positions", files: map[string]string{"config.json": `{"max_position_embeddings":4}`}, want: map[string][]float64{"hola adios hola hola": {1, 5}}},
		{name: "prompt", files: map[string]string{"config_sentence_transformers.json": `{"prompts":{"query":"adios ","document":"passage "}}`},
			want: map[string][]float64{"hola": {6, 6}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.cfg.Dir = modeltest.Folder(t, model(c.files))
			e := open(t, c.cfg)
			texts := []string{}
			for text := range maps.Keys(c.want) {
				texts = append(texts, text)
			}
			vectors, err := e.Embed(t.Context(), texts)
			if err != nil {
				t.Fatal(err)
			}
			for i, text := range texts {
				if d := cmp.Diff(unit(c.want[text]), vectors[i], cmpopts.EquateApprox(0, 1e-6)); d != "" {
					t.Errorf("%q (-want +got):\n%s", text, d)
				}
			}
			question, err := e.EmbedQuery(t.Context(), "hola")
			if c.name == "prompt" && !cmp.Equal(unit([]float64{1, 5}), question, cmpopts.EquateApprox(0, 1e-6)) || err != nil {
				t.Fatalf("a question is %v, %v", question, err)
			}
		})
	}
}

func unit(v []float64) []float32 {
	norm := math.Hypot(v[0], v[1])
	if norm == 0 {
		return []float32{0, 0}
	}
	return []float32{float32(v[0] / norm), float32(v[1] / norm)}
}

// TestBatches: more texts than one run holds, of many lengths, each as alone.
func TestBatches(t *testing.T) {
	t.Parallel()
	e := open(t, onnx.Config{Dir: modeltest.Folder(t, model(nil))})
	var texts []string
	for i := range 19 {
		texts = append(texts, "adios"+strings.Repeat(" hola", 1+i*5%23))
	}
	vectors, err := e.Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	for i := range texts {
		alone, err := e.Embed(t.Context(), texts[i:i+1])
		if d := cmp.Diff(alone[0], vectors[i], cmpopts.EquateApprox(0, 1e-6)); d != "" || err != nil {
			t.Fatalf("%q: %v\n%s", texts[i], err, d)
		}
	}
}

// TestManyAtOnce: callers wait for each other, and one that gives up gets the
// cause.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	e := open(t, onnx.Config{Dir: modeltest.Folder(t, model(nil))})
	stopped := errors.New("stopped")
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if i%3 == 0 {
				cancel(stopped)
			}
			v, err := e.EmbedQuery(ctx, "hola")
			if i%3 == 0 && !errors.Is(err, stopped) || i%3 != 0 && (err != nil || !cmp.Equal(unit([]float64{1, 1}), v, cmpopts.EquateApprox(0, 1e-6))) {
				t.Errorf("caller %d: %v, %v", i, v, err)
			}
		})
	}
	all.Wait()
	if err := errors.Join(e.Close(), e.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Embed(t.Context(), []string{"hola"}); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Fatalf("embedded when closed: %v", err)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	whole := model(nil)
	for name, c := range map[string]struct {
		change    map[string]string
		cfg       onnx.Config
		complaint string
	}{
		"no graph":     {map[string]string{"model.onnx": "-"}, onnx.Config{}, "none of onnx/model.onnx and model.onnx"},
		"no tokenizer": {map[string]string{"tokenizer.json": "-"}, onnx.Config{}, "tokenizer.json"},
		"a page":       {map[string]string{"model.onnx": "<!doctype html>"}, onnx.Config{}, "graph"},
		"cut short":    {map[string]string{"model.onnx": string(whole["model.onnx"][:100])}, onnx.Config{}, "graph"},
		"a module":     {map[string]string{"modules.json": `[{"type":"sentence_transformers.models.Dense"}]`}, onnx.Config{}, "a module Dense"},
		"two poolings": {map[string]string{"1_Pooling/config.json": `{"pooling_mode_cls_token":true,"pooling_mode_mean_tokens":true}`}, onnx.Config{}, "several at once"},
		"a pooling":    {nil, onnx.Config{Pooling: "best"}, `pooling "best" is not known`},
		"bad json":     {map[string]string{"modules.json": `{`}, onnx.Config{}, "read modules.json"},
	} {
		files := model(c.change)
		maps.DeleteFunc(files, func(_ string, text []byte) bool { return string(text) == "-" })
		c.cfg.Dir = modeltest.Folder(t, files)
		if _, err := onnx.Open(t.Context(), c.cfg); err == nil || !strings.Contains(err.Error(), c.complaint) {
			t.Errorf("%s: %v does not tell %q", name, err, c.complaint)
		}
	}
}

// TestTooFewRows: a tokenizer of another model than the graph is an error, or
// wrong vectors, and never the end of the process.
func TestTooFewRows(t *testing.T) {
	t.Parallel()
	files := model(nil)
	files["tokenizer.json"] = modeltest.Framed("hola", "adios", "passage", "uno", "dos")
	e := open(t, onnx.Config{Dir: modeltest.Folder(t, files)})
	vectors, err := e.Embed(t.Context(), []string{"uno dos"})
	t.Logf("%v, %v", vectors, err)
	if _, err := e.Embed(t.Context(), []string{"hola"}); err != nil {
		t.Fatalf("after that: %v", err)
	}
}
