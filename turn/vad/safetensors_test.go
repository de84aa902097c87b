package vad_test

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headstart/turn/vad"
)

func TestReadTensors(t *testing.T) {
	t.Parallel()
	header := `{"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2],"data_offsets":[2,10]},` +
		`"a":{"dtype":"I8","shape":[1,2],"data_offsets":[0,2]},"none":{"dtype":"F32","shape":[0],"data_offsets":[10,10]}}   `
	names, err := vad.TensorNames(safetensors(header, make([]byte, 10)))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"a", "b", "none"}, names); diff != "" {
		t.Fatalf("names (-want +got):\n%s", diff)
	}
}

// What is wrong with a file is the operator's to mend, so each fault says it.
func TestReadTensorsRefuses(t *testing.T) {
	t.Parallel()
	entry := func(s string) []byte { return safetensors(`{"a":`+s+`}`, make([]byte, 8)) }
	whole := entry(`{"dtype":"F32","shape":[2],"data_offsets":[0,8]}`)
	for name, tc := range map[string]struct {
		file []byte
		want string
	}{
		"empty":           {nil, "file of 0 bytes is too short for a header length"},
		"cut in length":   {whole[:5], "file of 5 bytes is too short for a header length"},
		"cut in header":   {whole[:20], "header of 54 bytes is cut short after 12"},
		"cut in data":     {whole[:len(whole)-3], `read tensor "a": ends at 8 but the data ends at 5: the file is cut short`},
		"huge header":     {binary.LittleEndian.AppendUint64(nil, 1<<63), "header of 9223372036854775808 bytes is longer than 1048576: not a safetensors file"},
		"a page":          {append(binary.LittleEndian.AppendUint64(nil, 6), "<html>"...), "header does not begin with {: not a safetensors file"},
		"no JSON":         {safetensors(`{"a":`, nil), "decode header: unexpected end of JSON input"},
		"unknown dtype":   {entry(`{"dtype":"F31","shape":[2],"data_offsets":[0,8]}`), `read tensor "a": dtype "F31" is unknown`},
		"wrong size":      {entry(`{"dtype":"F32","shape":[3],"data_offsets":[0,8]}`), `read tensor "a": F32 [3] needs 12 bytes but has 8`},
		"negative shape":  {entry(`{"dtype":"F32","shape":[-1,-2],"data_offsets":[0,8]}`), `read tensor "a": shape [-1 -2] has a negative dimension`},
		"overflow":        {entry(`{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,8]}`), `read tensor "a": shape [4611686018427387904 4] is too large`},
		"backwards":       {entry(`{"dtype":"F32","shape":[2],"data_offsets":[8,0]}`), `read tensor "a": offsets 8 to 0 are no range`},
		"negative offset": {entry(`{"dtype":"F32","shape":[2],"data_offsets":[-8,0]}`), `read tensor "a": offsets -8 to 0 are no range`},
		"no offsets":      {entry(`{"dtype":"F32","shape":[2]}`), `read tensor "a": has 0 offsets, not 2`},
		"hole before":     {entry(`{"dtype":"F32","shape":[1],"data_offsets":[4,8]}`), "bytes 0 to 4 belong to no tensor"},
		"hole after":      {entry(`{"dtype":"F32","shape":[1],"data_offsets":[0,4]}`), "bytes 4 to 8 belong to no tensor"},
		"overlap": {
			entry(`{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}`),
			`tensors "a" and "b" overlap at byte 4`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := vad.TensorNames(tc.file)
			if err == nil {
				t.Fatal("the file was taken")
			}
			if diff := cmp.Diff(tc.want, err.Error()); diff != "" {
				t.Fatalf("error (-want +got):\n%s", diff)
			}
		})
	}
}

// A file that is sound but is not this network is refused by the tensor.
func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	net := randomNetwork(8)
	spoilt := randomNetwork(8)
	spoilt["conv4.bias"].values[7] = float32(math.NaN())
	change := func(name, key string, value any) []byte {
		return net.bytes(t, func(h map[string]map[string]any) { h[name][key] = value })
	}
	renamed := net.bytes(t, func(h map[string]map[string]any) {
		h["other"] = h["conv2.bias"]
		delete(h, "conv2.bias")
	})
	for name, tc := range map[string]struct {
		file []byte
		want string
	}{
		"missing":    {renamed, `find tensor "conv2.bias": the file has none`},
		"type":       {change("conv1.bias", "dtype", "I32"), `read tensor "conv1.bias": is I32, not F32`},
		"shape":      {change("lstm_cell.weight_hh", "shape", []int{128, 512}), `read tensor "lstm_cell.weight_hh": has shape [128 512], not [512 128]`},
		"not finite": {spoilt.bytes(t, nil), `read tensor "conv4.bias": value 7 is not finite`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := write(t, tc.file)
			_, err := vad.Load(path)
			if err == nil {
				t.Fatal("the file was taken")
			}
			if diff := cmp.Diff("load vad weights "+path+": "+tc.want, err.Error()); diff != "" {
				t.Fatalf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLoadWithoutFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "absent")
	_, err := vad.Load(path)
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Fatalf("error %v does not say that %s is absent", err, path)
	}
}

func FuzzTensors(f *testing.F) {
	f.Add([]byte(nil))
	f.Add(safetensors(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, make([]byte, 8)))
	f.Add(safetensors(`{"a":{"dtype":"F64","shape":[],"data_offsets":[0,8]},"b":{"dtype":"BOOL","shape":[0],"data_offsets":[8,8]}}`, make([]byte, 8)))
	f.Add(safetensors(`{"a":{"dtype":"F32","shape":[9223372036854775807,2],"data_offsets":[0,9223372036854775807]}}`, nil))
	f.Fuzz(func(t *testing.T, file []byte) {
		names, err := vad.TensorNames(file)
		if err != nil {
			return
		}
		// A file that is taken accounts for all its bytes, so that one byte less
		// or more must be refused.
		if _, err := vad.TensorNames(append(slices.Clone(file), 0)); err == nil {
			t.Fatal("a byte that belongs to no tensor was taken")
		}
		if _, err := vad.TensorNames(file[:len(file)-1]); err == nil {
			t.Fatal("a file cut short was taken")
		}
		if slices.Contains(names, "__metadata__") {
			t.Fatal("the metadata was taken for a tensor")
		}
	})
}
