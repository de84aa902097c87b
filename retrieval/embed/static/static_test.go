package static_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"headstart/retrieval/embed/hub"
	"headstart/retrieval/embed/modeltest"
	"headstart/retrieval/embed/static"
)

func TestContract(t *testing.T) {
	t.Parallel()
	e, err := static.Open(static.Config{Dir: modeltest.Static(t)})
	if err != nil {
		t.Fatal(err)
	}
	modeltest.Contract(t, e)
}

// table are the vectors of [PAD], [UNK], hola, adios and uno, in numbers that
// every type can hold.
func table(name, dtype string) modeltest.Tensor {
	return modeltest.Tensor{Name: name, DType: dtype, Shape: []int{5, 2}, Of: []float64{9, 9, 9, 9, 3, 0, 0, 4, -2, 2}}
}

// TestByHand holds vectors to those that a pencil gives: the mean of the known
// tokens' rows, each times its weight, made a unit vector.
func TestByHand(t *testing.T) {
	t.Parallel()
	weights := modeltest.Tensor{Name: "weights", DType: "F64", Shape: []int{5}, Of: []float64{1, 1, 2, 0.5, 1}}
	mapping := modeltest.Tensor{Name: "mapping", DType: "I64", Shape: []int{5}, Of: []float64{0, 0, 3, 2, 2}}
	short := modeltest.Tensor{Name: "mapping", DType: "I32", Shape: []int{5}, Of: []float64{0, 0, 3, 2, 2}}
	for _, c := range []struct {
		name    string
		tensors []modeltest.Tensor
		dim     int
		want    map[string][]float64 // before they are made unit vectors
	}{
		{name: "F32", tensors: []modeltest.Tensor{table("embeddings", "F32")}, want: plain},
		{name: "F16", tensors: []modeltest.Tensor{table("embeddings", "F16")}, want: plain},
		{name: "BF16", tensors: []modeltest.Tensor{table("embeddings", "BF16")}, want: plain},
		{name: "F64", tensors: []modeltest.Tensor{table("embeddings", "F64")}, want: plain},
		{name: "I8", tensors: []modeltest.Tensor{table("embeddings", "I8")}, want: plain},
		{name: "sentence transformers", tensors: []modeltest.Tensor{table("embedding.weight", "F32")}, want: plain},
		{name: "weights", tensors: []modeltest.Tensor{table("embeddings", "F16"), weights},
			want: map[string][]float64{"hola": {1, 0}, "hola adios": {6, 2}, "hola nadie": {1, 0}, "nadie": {0, 0}, "uno": {-1, 1}}},
		{name: "mapping", tensors: []modeltest.Tensor{table("embeddings", "F32"), mapping, weights},
			want: map[string][]float64{"hola": {0, 1}, "adios": {1, 0}, "uno": {1, 0}, "hola adios": {1.5, 8}}},
		{name: "short mapping", tensors: []modeltest.Tensor{table("embeddings", "I8"), short},
			want: map[string][]float64{"hola adios": {3, 4}}},
		{name: "fewer dimensions", tensors: []modeltest.Tensor{table("embeddings", "F32")}, dim: 1,
			want: map[string][]float64{"hola": {1}, "uno": {-1}, "adios": {0}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := open(t, c.dim, modeltest.Safetensors(c.tensors...))
			for text, want := range c.want {
				vectors, err := e.Embed(t.Context(), []string{text})
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(unit(want), vectors[0], cmpopts.EquateApprox(0, 1e-6)); d != "" {
					t.Errorf("%q (-want +got):\n%s", text, d)
				}
			}
		})
	}
}

var plain = map[string][]float64{
	"hola": {1, 0}, "¡Hola!": {1, 0}, "hola adiós": {3, 4}, "hola nadie": {1, 0}, "hola uno uno": {-1, 4},
	"nadie": {0, 0}, "": {0, 0}, "...": {0, 0},
}

func open(t testing.TB, dim int, weights []byte) *static.Embedder {
	t.Helper()
	dir := modeltest.Folder(t, map[string][]byte{"model.safetensors": weights, "tokenizer.json": modeltest.Words("hola", "adios", "uno")})
	e, err := static.Open(static.Config{Dir: dir, Name: "m", Dim: dim})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func unit(v []float64) []float32 {
	var sum float64
	for _, x := range v {
		sum += x * x
	}
	out := make([]float32, len(v))
	for i, x := range v {
		if sum > 0 {
			out[i] = float32(x / math.Sqrt(sum))
		}
	}
	return out
}

// TestLongTexts: of a text, 512 tokens count, and 512 times the median length of
// a token of its letters: that of [PAD], [UNK], hola, adios and uno is 5.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	e := open(t, 0, modeltest.Safetensors(table("embeddings", "F32")))
	for text, want := range map[string][]float64{
		strings.Repeat("uno ", 512) + strings.Repeat("hola ", 900):       {-1, 1},
		strings.Repeat("nadie ", 100) + strings.Repeat("hola ", 10):      {1, 0},
		strings.Repeat("ñ", 512*5-5) + " hola adios":                     {1, 0},
		strings.Repeat("ñ", 512*5) + " hola":                             {0, 0},
		strings.Repeat("uno ", 100) + "hola" + strings.Repeat(" ", 9000): {-197, 200},
	} {
		vectors, err := e.Embed(t.Context(), []string{text})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(unit(want), vectors[0], cmpopts.EquateApprox(0, 1e-6)); d != "" {
			t.Errorf("%.20q… (-want +got):\n%s", text, d)
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	whole := modeltest.Safetensors(table("embeddings", "F32"))
	words := modeltest.Words("hola", "adios", "uno")
	with := func(more ...modeltest.Tensor) []byte {
		return modeltest.Safetensors(append([]modeltest.Tensor{table("embeddings", "F32")}, more...)...)
	}
	for _, c := range []struct {
		name      string
		files     map[string][]byte
		dim       int
		complaint string
	}{
		{"nothing", nil, 0, "model.safetensors"},
		{"no tokenizer", map[string][]byte{"model.safetensors": whole}, 0, "tokenizer.json"},
		{"cut short", map[string][]byte{"model.safetensors": whole[:len(whole)-1], "tokenizer.json": words}, 0, "cut short"},
		{"a page instead", map[string][]byte{"model.safetensors": []byte("<!doctype html>"), "tokenizer.json": words}, 0, "not a safetensors file"},
		{"another table", map[string][]byte{"model.safetensors": modeltest.Safetensors(table("vectors", "F32")), "tokenizer.json": words}, 0, "named embeddings"},
		{"integers", map[string][]byte{"model.safetensors": modeltest.Safetensors(table("embeddings", "I32")), "tokenizer.json": words}, 0, "stored as I32"},
		{"too many words", map[string][]byte{"model.safetensors": whole, "tokenizer.json": modeltest.Words("a", "b", "c", "d")}, 0, "of two models"},
		{"short weights", map[string][]byte{"model.safetensors": with(modeltest.Tensor{Name: "weights", DType: "F32", Shape: []int{1}, Of: []float64{1}}), "tokenizer.json": words}, 0, "of two models"},
		{"wild mapping", map[string][]byte{"model.safetensors": with(modeltest.Tensor{Name: "mapping", DType: "I64", Shape: []int{5}, Of: []float64{0, 1, 2, 3, 5}}), "tokenizer.json": words}, 0, "row 5 of 5"},
		{"too many dimensions", map[string][]byte{"model.safetensors": whole, "tokenizer.json": words}, 3, "has 2 dimensions, not 3"},
	} {
		_, err := static.Open(static.Config{Dir: modeltest.Folder(t, c.files), Dim: c.dim})
		if err == nil || !strings.Contains(err.Error(), c.complaint) {
			t.Errorf("%s: %v does not tell %q", c.name, err, c.complaint)
		}
	}
}

// TestNoNumbers: a table with a number that is none fails the texts that need it.
func TestNoNumbers(t *testing.T) {
	t.Parallel()
	wild := table("embeddings", "F16")
	wild.Of[4] = math.Inf(1)
	e := open(t, 0, modeltest.Safetensors(wild))
	if _, err := e.Embed(t.Context(), []string{"hola"}); err == nil || !strings.Contains(err.Error(), "no number") {
		t.Fatal(err)
	}
	if _, err := e.Embed(t.Context(), []string{"adios"}); err != nil {
		t.Fatal(err)
	}
}

// TestNameTellsTheFiles: another model under the same name is another embedder,
// and one that was pulled is refused when it is another.
func TestNameTellsTheFiles(t *testing.T) {
	t.Parallel()
	one, two := open(t, 0, modeltest.Safetensors(table("embeddings", "F32"))), open(t, 0, modeltest.Safetensors(table("embeddings", "F16")))
	if one.Name() == two.Name() || !strings.HasPrefix(one.Name(), "static/m@") || one.Name() != open(t, 0, modeltest.Safetensors(table("embeddings", "F32"))).Name() {
		t.Fatalf("%s and %s", one.Name(), two.Name())
	}
	dir := modeltest.Static(t)
	record := fmt.Sprintf(`{"sha256":{"model.safetensors":%q}}`, strings.Repeat("0", 64))
	if err := os.WriteFile(filepath.Join(dir, "headstart.json"), []byte(record), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := static.Open(static.Config{Dir: dir})
	if changed, ok := errors.AsType[*hub.ChangedError](err); !ok || changed.File != "model.safetensors" {
		t.Fatalf("opened a model that changed: %v", err)
	}
}

// TestHalf holds every number of 16 bits to its meaning.
func TestHalf(t *testing.T) {
	t.Parallel()
	for bits := range 1 << 16 {
		exponent, fraction := bits>>10&31, float64(bits&1023)
		if exponent == 31 {
			continue
		}
		want := math.Ldexp(1024+fraction, exponent-25)
		if exponent == 0 {
			want = math.Ldexp(fraction, -24)
		}
		if bits>>15 == 1 {
			want = -want
		}
		if got := float64(static.Half(uint16(bits))); got != want {
			t.Fatalf("%04x is %v, want %v", bits, got, want)
		}
	}
	if !math.IsInf(float64(static.Half(0x7c00)), 1) || !math.IsNaN(float64(static.Half(0x7e00))) {
		t.Fatal("infinity is a number")
	}
}

// FuzzOpen: no file breaks the reader; one that is taken gives vectors, or an error.
func FuzzOpen(f *testing.F) {
	whole := modeltest.Safetensors(table("embeddings", "F32"))
	f.Add(whole)
	f.Add(whole[:40])
	f.Add(modeltest.Safetensors(table("embeddings", "I8"), modeltest.Tensor{Name: "mapping", DType: "I64", Shape: []int{5}, Of: []float64{0, 1, 2, 3, 9}}))
	f.Add(binary.LittleEndian.AppendUint64(nil, math.MaxUint64))
	f.Add(append(binary.LittleEndian.AppendUint64(nil, 90), `{"embeddings":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}}       `...))
	f.Fuzz(func(t *testing.T, weights []byte) {
		dir := modeltest.Folder(t, map[string][]byte{"model.safetensors": weights, "tokenizer.json": modeltest.Words("hola", "adios", "uno")})
		e, err := static.Open(static.Config{Dir: dir})
		if err != nil {
			return
		}
		vectors, err := e.Embed(t.Context(), []string{"hola uno nadie", ""})
		if err == nil && (len(vectors) != 2 || len(vectors[0]) != e.Dim()) {
			t.Fatalf("%d vectors", len(vectors))
		}
	})
}

// BenchmarkEmbed: a model of 30,000 words and 256 dimensions, passages of 30
// words.
func BenchmarkEmbed(b *testing.B) {
	const rows, dim = 30_000, 256
	words := make([]string, rows-2)
	for i := range words {
		words[i] = fmt.Sprintf("w%d", i)
	}
	var passage strings.Builder
	for i := range 30 {
		fmt.Fprintf(&passage, "w%d ", i*997)
	}
	for _, dtype := range []string{"F32", "F16", "I8"} {
		b.Run(dtype, func(b *testing.B) {
			t := modeltest.Tensor{Name: "embeddings", DType: dtype, Shape: []int{rows, dim}, Of: make([]float64, rows*dim)}
			for i := range t.Of {
				t.Of[i] = float64(i%17) - 8
			}
			dir := modeltest.Folder(b, map[string][]byte{"model.safetensors": modeltest.Safetensors(t), "tokenizer.json": modeltest.Words(words...)})
			e, err := static.Open(static.Config{Dir: dir})
			if err != nil {
				b.Fatal(err)
			}
			texts := []string{passage.String()}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := e.Embed(b.Context(), texts); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "texts/s")
		})
	}
}
