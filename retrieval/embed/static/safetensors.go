package static

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// maxHeader bounds the JSON header of a file, in bytes. The format allows
// 100 MB; three tensors need a few hundred.
const maxHeader = 1 << 20

// sizes are the bytes of a number, for the types that models are stored in.
var sizes = map[string]int{"I8": 1, "F16": 2, "BF16": 2, "F32": 4, "F64": 8, "I32": 4, "I64": 8}

// tensor is one array of a file. Its data is a part of the file's bytes, and
// stays in the type that it is stored in: a large model is large enough as it is.
type tensor struct {
	dtype string
	shape []int
	data  []byte
}

// tensors are those of one file, by name.
type tensors map[string]tensor

// parse reads a whole file: eight bytes of header length, a JSON header, and the
// data. Nothing that the header says is believed before it is checked against
// the bytes at hand. Of tensors of types that no model here has, only that is told.
func parse(file []byte) (tensors, error) {
	if len(file) < 8 {
		return nil, errors.New("file is too short for a header")
	}
	n, rest := binary.LittleEndian.Uint64(file), file[8:]
	if n > maxHeader || n > uint64(len(rest)) || !bytes.HasPrefix(rest, []byte("{")) {
		return nil, fmt.Errorf("header of %d bytes in a file of %d: not a safetensors file, or cut short", n, len(file))
	}
	var entries map[string]json.RawMessage
	if err := json.Unmarshal(rest[:n], &entries); err != nil {
		return nil, fmt.Errorf("read header: %w", err)
	}
	delete(entries, "__metadata__")
	all := tensors{}
	for name, text := range entries {
		t, err := readTensor(text, rest[n:])
		if err != nil {
			return nil, fmt.Errorf("read tensor %q: %w", name, err)
		}
		all[name] = t
	}
	return all, nil
}

func readTensor(text json.RawMessage, data []byte) (tensor, error) {
	var e struct {
		DType   string `json:"dtype"`
		Shape   []int  `json:"shape"`
		Offsets []int  `json:"data_offsets"`
	}
	if err := json.Unmarshal(text, &e); err != nil {
		return tensor{}, err
	}
	size, ok := sizes[e.DType]
	if !ok {
		return tensor{dtype: e.DType}, nil
	}
	for _, d := range e.Shape {
		if d < 0 || d > 0 && size > math.MaxInt/d {
			return tensor{}, fmt.Errorf("shape %v is out of bounds", e.Shape)
		}
		size *= d
	}
	if len(e.Offsets) != 2 || e.Offsets[0] < 0 || e.Offsets[1] < e.Offsets[0] || e.Offsets[1] > len(data) {
		return tensor{}, fmt.Errorf("it is at %v of %d bytes: the file is cut short", e.Offsets, len(data))
	}
	begin, end := e.Offsets[0], e.Offsets[1]
	if end-begin != size {
		return tensor{}, fmt.Errorf("%s %v needs %d bytes and has %d", e.DType, e.Shape, size, end-begin)
	}
	return tensor{dtype: e.DType, shape: e.Shape, data: data[begin:end:end]}, nil
}

// check tells whether a table is of a type that vectors are stored in.
func (t tensor) check() error {
	switch t.dtype {
	case "I8", "F16", "BF16", "F32", "F64":
		return nil
	}
	return fmt.Errorf("vectors are stored as %s, which is not read; F32, F16, BF16, F64 and I8 are", t.dtype)
}

// add adds a row of a table, or as much of it as sum has room for, to sum.
func (t tensor) add(sum []float32, row int, weight float32) {
	size := sizes[t.dtype]
	width := t.shape[1] * size
	data := t.data[row*width : (row+1)*width]
	switch t.dtype {
	case "F32":
		for i := range sum {
			sum[i] += weight * math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		}
	case "F16":
		for i := range sum {
			sum[i] += weight * half(binary.LittleEndian.Uint16(data[2*i:]))
		}
	case "I8":
		for i := range sum {
			sum[i] += weight * float32(int8(data[i]))
		}
	default:
		for i := range sum {
			sum[i] += weight * t.at(data[i*size:])
		}
	}
}

// at is the number at the beginning of data.
func (t tensor) at(data []byte) float32 {
	switch t.dtype {
	case "I8":
		return float32(int8(data[0]))
	case "F16":
		return half(binary.LittleEndian.Uint16(data))
	case "BF16":
		return math.Float32frombits(uint32(binary.LittleEndian.Uint16(data)) << 16)
	case "F32":
		return math.Float32frombits(binary.LittleEndian.Uint32(data))
	case "F64":
		return float32(math.Float64frombits(binary.LittleEndian.Uint64(data)))
	}
	return 0
}

// half is a number of IEEE 754's 16 bits.
func half(h uint16) float32 {
	bits := uint32(h&0x7fff) << 13
	if h&0x7c00 == 0x7c00 { // an infinity, or no number
		bits |= 0x7f800000
	} else {
		bits = math.Float32bits(math.Float32frombits(bits) * 0x1p112)
	}
	return math.Float32frombits(bits | uint32(h&0x8000)<<16)
}

// floats are the numbers of a tensor of one dimension; nil if there is none.
func (ts tensors) floats(name string) ([]float32, error) {
	t, ok := ts[name]
	if !ok {
		return nil, nil
	}
	if len(t.shape) != 1 {
		return nil, fmt.Errorf("tensor %q has the shape %v, not one dimension", name, t.shape)
	}
	if err := t.check(); err != nil {
		return nil, fmt.Errorf("tensor %q: %w", name, err)
	}
	values := make([]float32, t.shape[0])
	for i := range values {
		values[i] = t.at(t.data[i*sizes[t.dtype]:])
	}
	return values, nil
}

// integers are those of a tensor of one dimension; nil if there is none.
func (ts tensors) integers(name string) ([]int, error) {
	t, ok := ts[name]
	if !ok {
		return nil, nil
	}
	if len(t.shape) != 1 {
		return nil, fmt.Errorf("tensor %q has the shape %v, not one dimension", name, t.shape)
	}
	values := make([]int, t.shape[0])
	for i := range values {
		switch t.dtype {
		case "I32":
			values[i] = int(int32(binary.LittleEndian.Uint32(t.data[4*i:])))
		case "I64":
			values[i] = int(int64(binary.LittleEndian.Uint64(t.data[8*i:])))
		default:
			return nil, fmt.Errorf("tensor %q is stored as %s; I32 and I64 are read", name, t.dtype)
		}
	}
	return values, nil
}
