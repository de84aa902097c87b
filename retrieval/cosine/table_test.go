package cosine_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headstart/retrieval/cosine"
)

// unit is a random vector of unit length. Some have one large number, which rounds
// the others away.
func unit(r *rand.Rand, dim int) []float32 {
	v := make([]float32, dim)
	sum := 0.0
	for i := range v {
		x := r.NormFloat64()
		if i == 0 && r.IntN(4) == 0 {
			x *= 40
		}
		v[i] = float32(x)
		sum += x * x
	}
	for i := range v {
		v[i] = float32(float64(v[i]) / math.Sqrt(sum))
	}
	return v
}

// TestKeepsItsWord: no rough product is further off than the question says, and the
// true ones are those of doubles.
func TestKeepsItsWord(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		dim, rows := 1+r.IntN(500), r.IntN(40)
		var all []float32
		for range rows {
			all = append(all, unit(r, dim)...)
		}
		if rows > 0 && seed%5 == 0 {
			clear(all[:dim]) // a text without a word
		}
		table, v := filled(dim, all), unit(r, dim)
		q := table.Ask(v)
		rough := scanned(q, table.Len(), 1+r.IntN(7))
		for i := range rows {
			want := product(v, all[i*dim:(i+1)*dim])
			if math.Abs(q.True(i)-want) > 1e-4 || math.Abs(float64(rough[i])-want) > q.Off() {
				t.Fatalf("seed %d: row %d is %v, true %v, rough %v within %v", seed, i, want, q.True(i), rough[i], q.Off())
			}
		}
		if q.Off() > 0.1 {
			t.Fatalf("seed %d: off by %v: the promise says nothing", seed, q.Off())
		}
	}
}

func filled(dim int, vectors []float32) *cosine.Table {
	t := cosine.New(dim, len(vectors)/dim)
	for row := range slices.Chunk(vectors, dim) {
		t.Append(row)
	}
	return t
}

func product(a, b []float32) (sum float64) {
	for i, x := range a {
		sum += float64(x) * float64(b[i])
	}
	return sum
}

// scanned takes the rough products of all rows, some at a time.
func scanned(q *cosine.Question, rows, block int) []float32 {
	rough, sums := make([]float32, rows), make([]int32, block)
	for from := 0; from < rows; from += block {
		q.Rough(from, rough[from:min(from+block, rows)], sums)
	}
	return rough
}

// TestKernels: the machine's own gives what the one in Go gives, to the largest
// numbers.
func TestKernels(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 2))
		width, rows := cosine.Stride*(1+r.IntN(10)), r.IntN(20)
		question, codes := make([]int16, width), make([]int8, width*rows)
		for i := range question {
			question[i] = int16(r.IntN(1<<14) - 1<<13)
			if seed%10 == 0 {
				question[i] = 1<<14 - 1
			}
		}
		for i := range codes {
			codes[i] = int8(r.IntN(255) - 127)
			if seed%10 == 0 {
				codes[i] = -127
			}
		}
		want, got := make([]int32, rows), make([]int32, rows)
		cosine.MultiplyPlain(want, question, codes)
		cosine.Multiply(got, question, codes)
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("seed %d (-Go +machine):\n%s", seed, d)
		}
	}
}

// TestLongVectors: the products of the longest vectors that embedders give do not
// run over.
func TestLongVectors(t *testing.T) {
	t.Parallel()
	for _, dim := range []int{1024, 3072, 4096, 8192} {
		v := slices.Repeat([]float32{float32(1 / math.Sqrt(float64(dim)))}, dim)
		q := filled(dim, v).Ask(v)
		if rough := scanned(q, 1, 1)[0]; math.Abs(float64(rough)-1) > q.Off() || math.Abs(q.True(0)-1) > 1e-3 {
			t.Fatalf("%d dimensions: %v within %v, true %v", dim, rough, q.Off(), q.True(0))
		}
	}
}

func BenchmarkScan(b *testing.B) {
	const dim, block = 384, 1024
	for _, rows := range []int{1_000, 10_000, 100_000} {
		r := rand.New(rand.NewPCG(1, 3))
		one := unit(r, dim)
		table := filled(dim, slices.Repeat(one, rows))
		q := table.Ask(one)
		rough, sums := make([]float32, block), make([]int32, block)
		b.Run(fmt.Sprint(rows), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(rows * dim))
			for b.Loop() {
				for from := 0; from < rows; from += block {
					q.Rough(from, rough[:min(block, rows-from)], sums)
				}
			}
		})
	}
}
