// Package embed owns the embedders that need no network: Hashing for tests,
// demos and ablation, and wrappers around any embedder. It never decides what a
// vector is worth: an embedder declares its weight and its cut-offs, and the
// search reads them. Hashing cannot fail but by a context that has ended.
package embed

import (
	"context"
	"fmt"
	"math"

	"headstart/retrieval/analyse"
)

// Hash is an embedder that knows no meaning: it hashes the words of a text and
// their trigrams into a vector. It finds shared words and near spellings. The
// same text gives the same vector on every machine.
type Hash struct {
	dim   int
	words *analyse.Analyser
	stops []*analyse.Analyser
}

// Hashing returns an embedder of dim dimensions; it panics below 8, where every
// two texts collide. 256 and more keep unrelated sentences apart.
func Hashing(dim int) *Hash {
	if dim < 8 {
		panic(fmt.Sprintf("hashing embedder of %d dimensions: 8 at least", dim))
	}
	return &Hash{
		dim:   dim,
		words: analyse.New(analyse.Simple),
		stops: []*analyse.Analyser{analyse.New("es"), analyse.New("en")},
	}
}

// Name tells the embedder and its length: vectors of two lengths never mix.
func (h *Hash) Name() string { return fmt.Sprintf("hashing-%d", h.dim) }

// Dim is the length of each vector.
func (h *Hash) Dim() int { return h.dim }

// Weight is what its branch counts in the fusion against 1 for the words: next
// to nothing, since it mostly repeats what the words have found.
func (h *Hash) Weight() float64 { return 0.05 }

// CutOffs are its evidence cut-offs. Cosines of hashed words run lower than
// those of a model that knows meaning: TestHashingCutOffs holds the measure.
func (h *Hash) CutOffs() (strong, weak float64) { return 0.40, 0.20 }

// trigramWeight is what one trigram counts against 1 for its word.
const trigramWeight = 0.3

// Embed returns a unit vector for each text; a text without a word has a vector
// of zeros, which is near to nothing.
func (h *Hash) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		vectors[i] = h.vector(text)
	}
	return vectors, nil
}

func (h *Hash) vector(text string) []float32 {
	counts := make(map[string]int)
	var order []string // a sum of floats depends on its order, and maps have none
	for _, word := range h.words.Terms(text) {
		if h.stop(word) {
			continue
		}
		if counts[word]++; counts[word] == 1 {
			order = append(order, word)
		}
	}
	v := make([]float32, h.dim)
	for _, word := range order {
		h.add(v, word, 1+math.Log(float64(counts[word])))
	}
	return unit(v)
}

func (h *Hash) stop(word string) bool {
	for _, a := range h.stops {
		if a.Stop(word) {
			return true
		}
	}
	return false
}

// add puts a word and its trigrams in a vector, each with a sign of its own, so
// that what collides cancels as often as it adds.
func (h *Hash) add(v []float32, word string, weight float64) {
	put := func(feature string, weight float64) {
		sum := fnv1a(feature)
		if sum&1 == 1 {
			weight = -weight
		}
		v[(sum>>1)%uint64(h.dim)] += float32(weight)
	}
	put("w"+word, weight)
	runes := []rune("^" + word + "$")
	for i := 0; i+3 <= len(runes); i++ {
		put("t"+string(runes[i:i+3]), weight*trigramWeight)
	}
}

// fnv1a is FNV-1a of 64 bits, written out because hash/fnv allocates, with a
// final mix: its low bits alone are poor.
func fnv1a(s string) uint64 {
	sum := uint64(14695981039346656037)
	for i := range len(s) {
		sum = (sum ^ uint64(s[i])) * 1099511628211
	}
	sum ^= sum >> 32
	sum *= 0x9e3779b97f4a7c15
	return sum ^ sum>>29
}

func unit(v []float32) []float32 {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 {
		return v
	}
	scale := float32(1 / math.Sqrt(sum))
	for i := range v {
		v[i] *= scale
	}
	return v
}
