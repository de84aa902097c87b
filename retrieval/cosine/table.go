// Package cosine owns the vectors of a base in memory, and how near each is to a
// question's.
//
// A vector is held as two bytes a dimension: a coarse one, and a fine one that
// parts each step of the coarse into 254. A scan reads the coarse ones alone, a
// quarter of what float32 would be, and says how far off its products can be at
// most, so that whoever needs the true ones of a few computes those. A true one is
// within 0.0001 of the product of the vectors as they came, and all sums are of whole
// numbers: every machine gives the same.
//
// It cannot fail: vectors are checked before they come here, and must be finite and
// of unit length or zero.
package cosine

import "math"

const (
	// coarse is how far the coarse codes go either side of zero, fine how far the fine.
	coarse = 127
	fine   = 127
	// perStep is how many steps of the fine codes are one of the coarse.
	perStep = 2 * fine
)

// Table holds vectors of one length. It is filled by one goroutine, and read by any
// number once it is full.
type Table struct {
	dim, width int       // the length of a vector, and of its codes
	coarse     []int8    // rows × width, zeros at the end of each row
	fine       []int8    // likewise
	scales     []float32 // of each row: what a step of its coarse codes is worth
	worst      float64   // the length of the largest difference between a vector and its coarse codes
}

// New returns an empty table with room for so many vectors of dim numbers.
func New(dim, rows int) *Table {
	width := (dim + stride - 1) / stride * stride
	return &Table{
		dim: dim, width: width, scales: make([]float32, 0, rows),
		coarse: make([]int8, 0, rows*width), fine: make([]int8, 0, rows*width),
	}
}

// Append adds a vector of the table's length.
func (t *Table) Append(v []float32) {
	from := len(t.coarse)
	t.coarse = append(t.coarse, make([]int8, t.width)...)
	t.fine = append(t.fine, make([]int8, t.width)...)
	scale := largest(v) / coarse
	t.scales = append(t.scales, scale)
	if scale > 0 {
		t.worst = max(t.worst, write(t.coarse[from:], t.fine[from:], float64(scale), v))
	}
}

// write fills the codes of a vector, and returns how far the coarse ones are off.
func write(rough, rest []int8, scale float64, v []float32) float64 {
	off := 0.0
	for i, x := range v {
		steps := float64(x) / scale
		whole := math.RoundToEven(steps)
		rough[i] = int8(whole)
		rest[i] = int8(math.RoundToEven((steps - whole) * perStep))
		off += (steps - whole) * (steps - whole)
	}
	return scale * math.Sqrt(off)
}

func largest(v []float32) (most float32) {
	for _, x := range v {
		most = max(most, x, -x)
	}
	return most
}

// Len is the number of vectors.
func (t *Table) Len() int { return len(t.scales) }

// Dim is the length of each.
func (t *Table) Dim() int { return t.dim }

// Question is a vector that a table is asked for.
type Question struct {
	table *Table
	codes []int16
	scale float32
	off   float64
}

// slack covers what the last digits of floats are off.
const slack = 1e-5

// Ask prepares a question: a vector of the table's length, and of unit length or
// zero.
func (t *Table) Ask(vector []float32) *Question {
	q := &Question{table: t, codes: make([]int16, t.width)}
	// The sum of the products of a row has to fit in 32 bits.
	most := min(1<<15-1, (1<<31-1)/(coarse*max(1, t.dim)))
	off := 0.0
	if q.scale = largest(vector) / float32(most); q.scale > 0 {
		for i, x := range vector {
			steps := float64(x) / float64(q.scale)
			code := min(math.RoundToEven(steps), float64(most))
			q.codes[i] = int16(code)
			d := (steps - code) * float64(q.scale)
			off += d * d
		}
	}
	off = math.Sqrt(off)
	// |q·v - q'·v'| ≤ |q-q'|·|v| + |q'|·|v-v'|, and no vector is longer than 1.
	q.off = off + (1+off)*t.worst + slack
	return q
}

// Off is how far a rough product may be from the true one, either way.
func (q *Question) Off() float64 { return q.off }

// Rough writes the rough product of the question with each of len(products) vectors,
// from a row on. sums is room for as many.
func (q *Question) Rough(from int, products []float32, sums []int32) {
	sums = sums[:len(products)]
	rows := q.table.coarse[from*q.table.width : (from+len(products))*q.table.width]
	multiply(sums, q.codes, rows)
	scales := q.table.scales[from : from+len(products)]
	for i, sum := range sums {
		products[i] = float32(sum) * (scales[i] * q.scale)
	}
}

// True is the cosine of the question with one vector.
func (q *Question) True(row int) float64 {
	from, to := row*q.table.width, (row+1)*q.table.width
	var rough, rest [1]int32
	multiply(rough[:], q.codes, q.table.coarse[from:to])
	multiply(rest[:], q.codes, q.table.fine[from:to])
	sum := float64(int64(rough[0])*perStep + int64(rest[0]))
	cosine := sum * (float64(q.table.scales[row]) * float64(q.scale) / perStep)
	return float64(float32(max(-1, min(1, cosine)))) // the digits past those are of no vector
}
