//go:build !onnxruntime

package onnx

import (
	"fmt"
	"path/filepath"
	"slices"

	_ "github.com/gomlx/gomlx/backends/simplego" // the engine in Go
	"github.com/knights-analytics/hugot/backends"
	"github.com/knights-analytics/hugot/options"
)

// golang is hugot's engine in Go. Of hugot only the engine is used: its tokenizer
// ends the process where it fails.
type golang struct {
	model    *backends.Model
	pipeline *backends.BasePipeline
	output   int // the one that is read
}

// newEngine loads the graph that lies in a file: large ones keep their weights
// in another beside.
func newEngine(graph []byte, path, _ string) (e engine, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("read graph: %v", r)
		}
	}()
	o := options.Defaults()
	o.Backend = "GO"
	m := &backends.Model{Path: filepath.Dir(path), OnnxBytes: graph, Pipelines: map[string]backends.Pipeline{}}
	// The shapes are those that pad makes.
	o.GoMLXOptions.BatchBuckets, o.GoMLXOptions.SequenceBuckets = []int{1, batch}, []int{8, 16, 32, 64, 128, 256, 512}
	if err := backends.CreateModelBackend(m, o); err != nil {
		return nil, fmt.Errorf("read graph: %w", err)
	}
	g := &golang{model: m, pipeline: &backends.BasePipeline{Model: m, Runtime: "GO"}}
	g.output, err = choose(backends.GetNames(m.OutputsMeta))
	return g, err
}

func (g *golang) run(ids, mask [][]int64) (values []float32, shape []int, err error) {
	b := backends.NewBatch(len(ids))
	b.MaxSequenceLength = len(ids[0])
	for i := range ids {
		b.Input = append(b.Input, backends.TokenizedInput{
			TokenIDs: small(ids[i]), AttentionMask: small(mask[i]), TypeIDs: make([]uint32, len(ids[i])),
		})
	}
	if err := backends.CreateInputTensors(b, g.model, "GO"); err != nil {
		return nil, nil, err
	}
	defer func() { err = joined(err, b.Destroy()) }()
	if err := backends.RunSessionOnBatch(b, g.pipeline); err != nil {
		return nil, nil, err
	}
	switch out := b.OutputValues[g.output].(type) {
	case [][]float32:
		return slices.Concat(out...), []int{len(out), len(out[0])}, nil
	case [][][]float32:
		for _, text := range out {
			values = append(values, slices.Concat(text...)...)
		}
		return values, []int{len(out), len(out[0]), len(out[0][0])}, nil
	}
	return nil, nil, fmt.Errorf("its output is a %T", b.OutputValues[g.output])
}

func small(list []int64) []uint32 {
	out := make([]uint32, len(list))
	for i, x := range list {
		out[i] = uint32(x)
	}
	return out
}

func (g *golang) close() error {
	g.model.GoMLXModel.Destroy()
	return nil
}
