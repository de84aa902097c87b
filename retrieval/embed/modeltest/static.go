package modeltest

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// Tensor is an array of a safetensors file.
type Tensor struct {
	Name  string
	DType string // F64, F32, F16, BF16, I8, I32 or I64
	Shape []int
	Of    []float64 // its numbers
}

// Safetensors writes a file of tensors.
func Safetensors(tensors ...Tensor) []byte {
	header, data := map[string]any{"__metadata__": map[string]string{"format": "pt"}}, []byte{}
	for _, t := range tensors {
		begin := len(data)
		for _, x := range t.Of {
			data = append(data, stored(t.DType, x)...)
		}
		header[t.Name] = map[string]any{"dtype": t.DType, "shape": t.Shape, "data_offsets": []int{begin, len(data)}}
	}
	text, err := json.Marshal(header)
	if err != nil {
		panic(err) // of maps and numbers
	}
	return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...), data...)
}

func stored(dtype string, x float64) []byte {
	var n any
	switch dtype {
	case "F64":
		n = x
	case "F32":
		n = float32(x)
	case "F16":
		n = half(x)
	case "BF16":
		n = uint16(math.Float32bits(float32(x)) >> 16)
	case "I8":
		n = int8(x)
	case "I32":
		n = int32(x)
	case "I64":
		n = int64(x)
	}
	var out bytes.Buffer
	if err := binary.Write(&out, binary.LittleEndian, n); err != nil {
		panic(fmt.Sprintf("%s cannot be written: %v", dtype, err))
	}
	return out.Bytes()
}

// half is x in 16 bits, cut and not rounded; subnormal numbers are 0.
func half(x float64) uint16 {
	bits := math.Float32bits(float32(x))
	sign, exponent := uint16(bits>>16)&0x8000, int(bits>>23&0xff)-127+15
	switch {
	case exponent <= 0:
		return sign
	case exponent >= 31:
		return sign | 0x7c00
	}
	return sign | uint16(exponent)<<10 | uint16(bits>>13)&0x3ff
}

// Words is a tokenizer.json whose tokens are whole words, in lower case and
// without accents, from id 2; [PAD] is 0 and [UNK] is 1.
func Words(words ...string) []byte {
	vocab := map[string]int{"[PAD]": 0, "[UNK]": 1}
	for i, w := range words {
		vocab[w] = i + 2
	}
	text, err := json.Marshal(map[string]any{
		"normalizer":    map[string]any{"type": "BertNormalizer", "lowercase": true},
		"pre_tokenizer": map[string]any{"type": "BertPreTokenizer"},
		"model":         map[string]any{"type": "WordPiece", "unk_token": "[UNK]", "vocab": vocab},
	})
	if err != nil {
		panic(err) // of maps and strings
	}
	return text
}

// Vocabulary is the words of the contract's texts.
var Vocabulary = []string{"la", "revision", "anual", "cuesta", "60", "euros", "abrimos", "a", "las", "ocho", "."}

// Static writes a Model2Vec model of the Vocabulary in a new folder of t.
func Static(t testing.TB) string {
	t.Helper()
	const dim = 8
	rows := len(Vocabulary) + 2
	table := Tensor{Name: "embeddings", DType: "F32", Shape: []int{rows, dim}}
	for i := range rows * dim {
		table.Of = append(table.Of, math.Sin(float64(i*i)))
	}
	return Folder(t, map[string][]byte{
		"model.safetensors": Safetensors(table),
		"tokenizer.json":    Words(Vocabulary...),
		"config.json":       []byte(`{"model_type":"model2vec","normalize":true}`),
	})
}

// Folder writes files in a new folder of t; their paths are with slashes.
func Folder(t testing.TB, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
