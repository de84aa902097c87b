package remote

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
)

// largestDim is the longest vector that a model of unknown length may have.
const largestDim = 1 << 14

// largest is how many bytes an answer can have: 32 for each number, which is
// the longest JSON of a float64, and room for what stands around them.
func (e *Embedder) largest(texts int) int64 {
	dim := e.dim
	if dim == 0 {
		dim = largestDim
	}
	return int64(texts)*(int64(max(dim, 4096))*32+1024) + 1<<20
}

// answer is a list of embeddings as OpenAI and Voyage write it.
type answer struct {
	Model string `json:"model"`
	Data  []struct {
		Index     *int   `json:"index"` // some servers leave it out: then the order counts
		Embedding vector `json:"embedding"`
	} `json:"data"`
}

// vector is written as numbers, or as base64 of little-endian float32.
type vector []float32

// UnmarshalJSON implements json.Unmarshaler.
func (v *vector) UnmarshalJSON(text []byte) error {
	if len(text) == 0 || text[0] != '"' {
		return json.Unmarshal(text, (*[]float32)(v))
	}
	var coded string
	if err := json.Unmarshal(text, &coded); err != nil {
		return err
	}
	raw, err := base64.StdEncoding.DecodeString(coded)
	if err != nil {
		return err
	}
	if len(raw)%4 != 0 {
		return errGarbage
	}
	*v = make(vector, len(raw)/4)
	for i := range *v {
		(*v)[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[i*4:]))
	}
	return nil
}

// read takes the vectors out of an answer, by their index, each of length 1.
func (e *Embedder) read(body []byte, texts int) ([][]float32, error) {
	var a answer
	if json.Unmarshal(body, &a) != nil { // its error may repeat what it read
		return nil, e.again(errGarbage)
	}
	if len(a.Data) != texts {
		return nil, &CountError{Embedder: e.name, Texts: texts, Vectors: len(a.Data)}
	}
	vectors := make([][]float32, texts)
	for i, d := range a.Data {
		at := i
		if d.Index != nil {
			at = *d.Index
		}
		if at < 0 || at >= texts || vectors[at] != nil {
			return nil, &CountError{Embedder: e.name, Texts: texts, Vectors: len(a.Data)}
		}
		if err := e.check(d.Embedding, a.Model); err != nil {
			return nil, err
		}
		vectors[at] = d.Embedding
	}
	return vectors, nil
}

// check holds a vector to its length and makes it a unit vector.
func (e *Embedder) check(v vector, model string) error {
	if len(v) == 0 {
		return e.again(errGarbage)
	}
	if e.dim > 0 && len(v) != e.dim {
		return &DimensionError{Embedder: e.name, Dim: e.dim, Model: model, Got: len(v)}
	}
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if math.IsNaN(sum) || math.IsInf(sum, 0) {
		return fmt.Errorf("read vectors of %s: %w", e.name, errNotFinite)
	}
	if sum == 0 {
		return nil
	}
	scale := float32(1 / math.Sqrt(sum))
	for i := range v {
		v[i] *= scale
	}
	return nil
}
