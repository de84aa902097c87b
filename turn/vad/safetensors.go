package vad

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
)

// maxHeader bounds the JSON header of a file, in bytes. The format allows
// 100 MB; a network of fifteen tensors needs about one thousand.
const maxHeader = 1 << 20

// metadataKey is the one key of a header that is not a tensor.
const metadataKey = "__metadata__"

// dtypeSize gives the bytes of one element, for the types that the format
// names and that fill whole bytes.
var dtypeSize = map[string]int{
	"BOOL": 1, "U8": 1, "I8": 1, "F8_E5M2": 1, "F8_E4M3": 1,
	"U16": 2, "I16": 2, "F16": 2, "BF16": 2,
	"U32": 4, "I32": 4, "F32": 4,
	"U64": 8, "I64": 8, "F64": 8,
}

// tensor is one named array of a file. Its data is a part of the file's bytes.
type tensor struct {
	name  string
	dtype string
	shape []int
	data  []byte
}

// tensors are those of one file, by name.
type tensors map[string]tensor

// tensorEntry is what the header says of one tensor.
type tensorEntry struct {
	DType   string `json:"dtype"`
	Shape   []int  `json:"shape"`
	Offsets []int  `json:"data_offsets"`
}

// parseSafetensors reads a whole file: eight bytes of header length, a JSON
// header, and data that the tensors share out among themselves without gap or
// overlap. Nothing that the header claims is believed before it is checked
// against the bytes at hand.
func parseSafetensors(file []byte) (tensors, error) {
	header, data, err := splitHeader(file)
	if err != nil {
		return nil, err
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(header, &raw); err != nil {
		return nil, fmt.Errorf("decode header: %w", err)
	}
	delete(raw, metadataKey)
	spans := make([]span, 0, len(raw))
	all := make(tensors, len(raw))
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		t, s, err := readTensor(name, raw[name], data)
		if err != nil {
			return nil, fmt.Errorf("read tensor %q: %w", name, err)
		}
		all[name] = t
		spans = append(spans, s)
	}
	return all, checkSpans(spans, len(data))
}

func splitHeader(file []byte) (header, data []byte, err error) {
	if len(file) < 8 {
		return nil, nil, fmt.Errorf("file of %d bytes is too short for a header length", len(file))
	}
	n := binary.LittleEndian.Uint64(file)
	rest := file[8:]
	switch {
	case n > maxHeader:
		return nil, nil, fmt.Errorf("header of %d bytes is longer than %d: not a safetensors file", n, maxHeader)
	case n > uint64(len(rest)):
		return nil, nil, fmt.Errorf("header of %d bytes is cut short after %d", n, len(rest))
	case !bytes.HasPrefix(rest, []byte("{")):
		return nil, nil, errors.New("header does not begin with {: not a safetensors file")
	}
	return rest[:n], rest[n:], nil
}

// span is where a tensor lies in the data.
type span struct {
	name       string
	begin, end int
}

func readTensor(name string, message json.RawMessage, data []byte) (tensor, span, error) {
	var e tensorEntry
	if err := json.Unmarshal(message, &e); err != nil {
		return tensor{}, span{}, fmt.Errorf("decode entry: %w", err)
	}
	if len(e.Offsets) != 2 {
		return tensor{}, span{}, fmt.Errorf("has %d offsets, not 2", len(e.Offsets))
	}
	begin, end := e.Offsets[0], e.Offsets[1]
	if begin < 0 || end < begin {
		return tensor{}, span{}, fmt.Errorf("offsets %d to %d are no range", begin, end)
	}
	if end > len(data) {
		return tensor{}, span{}, fmt.Errorf("ends at %d but the data ends at %d: the file is cut short", end, len(data))
	}
	size, err := byteSize(e.DType, e.Shape)
	if err != nil {
		return tensor{}, span{}, err
	}
	if size != end-begin {
		return tensor{}, span{}, fmt.Errorf("%s %v needs %d bytes but has %d", e.DType, e.Shape, size, end-begin)
	}
	t := tensor{name: name, dtype: e.DType, shape: e.Shape, data: data[begin:end:end]}
	return t, span{name: name, begin: begin, end: end}, nil
}

// byteSize is what a tensor of this type and shape fills; no product of
// dimensions can overflow it.
func byteSize(dtype string, shape []int) (int, error) {
	size, ok := dtypeSize[dtype]
	if !ok {
		return 0, fmt.Errorf("dtype %q is unknown", dtype)
	}
	for _, n := range shape {
		if n < 0 {
			return 0, fmt.Errorf("shape %v has a negative dimension", shape)
		}
		if n > 0 && size > math.MaxInt/n {
			return 0, fmt.Errorf("shape %v is too large", shape)
		}
		size *= n
	}
	return size, nil
}

// checkSpans wants the tensors to fill the data exactly once.
func checkSpans(spans []span, length int) error {
	slices.SortFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end), cmp.Compare(a.name, b.name))
	})
	at, before := 0, ""
	for _, s := range spans {
		if s.begin < at {
			return fmt.Errorf("tensors %q and %q overlap at byte %d", before, s.name, s.begin)
		}
		if s.begin > at {
			return fmt.Errorf("bytes %d to %d belong to no tensor", at, s.begin)
		}
		at, before = s.end, s.name
	}
	if at != length {
		return fmt.Errorf("bytes %d to %d belong to no tensor", at, length)
	}
	return nil
}

// float32s gives the values of the named tensor, which must be float32, of
// this very shape, and finite.
func (ts tensors) float32s(name string, shape ...int) ([]float32, error) {
	t, ok := ts[name]
	if !ok {
		return nil, fmt.Errorf("find tensor %q: the file has none", name)
	}
	if t.dtype != "F32" {
		return nil, fmt.Errorf("read tensor %q: is %s, not F32", name, t.dtype)
	}
	if !slices.Equal(t.shape, shape) {
		return nil, fmt.Errorf("read tensor %q: has shape %v, not %v", name, t.shape, shape)
	}
	values := make([]float32, len(t.data)/4)
	for i := range values {
		v := math.Float32frombits(binary.LittleEndian.Uint32(t.data[i*4:]))
		if v-v != 0 { // NaN and the infinities
			return nil, fmt.Errorf("read tensor %q: value %d is not finite", name, i)
		}
		values[i] = v
	}
	return values, nil
}
