//go:build onnxruntime

package onnx

import (
	"cmp"
	"errors"
	"fmt"
	"sync"

	ort "github.com/yalue/onnxruntime_go"
)

// library is the C library where nobody says another: the loader looks for it.
const library = "libonnxruntime.so"

// started guards the one environment that ONNX Runtime has in a process. It
// stays until the process ends.
var started sync.Mutex

func start(path string) error {
	started.Lock()
	defer started.Unlock()
	if ort.IsInitialized() {
		return nil
	}
	ort.SetSharedLibraryPath(cmp.Or(path, library))
	if err := ort.InitializeEnvironment(); err != nil {
		return fmt.Errorf("start ONNX Runtime of %s: %w", cmp.Or(path, library), err)
	}
	return ort.DisableTelemetry()
}

// native is a session of ONNX Runtime.
type native struct {
	session *ort.DynamicAdvancedSession
	inputs  []string
}

// newEngine loads the graph that lies in a file: large ones keep their weights
// in another beside.
func newEngine(_ []byte, path, library string) (engine, error) {
	if err := start(library); err != nil {
		return nil, err
	}
	inputs, outputs, err := ort.GetInputOutputInfo(path)
	if err != nil {
		return nil, fmt.Errorf("read graph: %w", err)
	}
	n := &native{}
	for _, in := range inputs {
		n.inputs = append(n.inputs, in.Name)
	}
	var names []string
	for _, out := range outputs {
		names = append(names, out.Name)
	}
	chosen, err := choose(names)
	if err != nil {
		return nil, err
	}
	if n.session, err = ort.NewDynamicAdvancedSession(path, n.inputs, names[chosen:chosen+1], nil); err != nil {
		return nil, fmt.Errorf("read graph: %w", err)
	}
	return n, nil
}

func (n *native) run(ids, mask [][]int64) (values []float32, shape []int, err error) {
	var tidy []func() error
	defer func() {
		for _, t := range tidy {
			err = joined(err, t())
		}
	}()
	var inputs []ort.Value
	for _, name := range n.inputs {
		data, err := input(name, ids, mask)
		if err != nil {
			return nil, nil, err
		}
		in, err := ort.NewTensor(ort.NewShape(int64(len(ids)), int64(len(ids[0]))), data)
		if err != nil {
			return nil, nil, err
		}
		tidy, inputs = append(tidy, in.Destroy), append(inputs, in)
	}
	outputs := []ort.Value{nil}
	if err := n.session.Run(inputs, outputs); err != nil {
		return nil, nil, err
	}
	tidy = append(tidy, outputs[0].Destroy)
	out, ok := outputs[0].(*ort.Tensor[float32])
	if !ok {
		return nil, nil, fmt.Errorf("its output is a %T", outputs[0])
	}
	for _, size := range out.GetShape() {
		shape = append(shape, int(size))
	}
	return append([]float32(nil), out.GetData()...), shape, nil
}

// input is what a graph reads under a name.
func input(name string, ids, mask [][]int64) ([]int64, error) {
	var data []int64
	for i := range ids {
		switch name {
		case "input_ids":
			data = append(data, ids[i]...)
		case "attention_mask":
			data = append(data, mask[i]...)
		case "token_type_ids":
			data = append(data, make([]int64, len(ids[i]))...)
		case "position_ids":
			for at := range ids[i] {
				data = append(data, int64(at))
			}
		default:
			return nil, errors.New("it has an input " + name + ", which is not known")
		}
	}
	return data, nil
}

func (n *native) close() error { return n.session.Destroy() }
