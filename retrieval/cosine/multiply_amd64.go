package cosine

import "golang.org/x/sys/cpu"

// multiply uses AVX2 where the machine has it. No maintained library of Go
// assembly multiplies bytes, so this kernel is ours.
func multiply(sums []int32, question []int16, rows []int8) {
	if !cpu.X86.HasAVX2 || len(question) == 0 {
		multiplyPlain(sums, question, rows)
		return
	}
	if len(sums) > 0 {
		_ = rows[len(sums)*len(question)-1] // the kernel trusts the lengths
		multiplyAVX2(&sums[0], &question[0], &rows[0], len(question), len(sums))
	}
}

// multiplyAVX2 needs width to be a multiple of stride, and rows × width codes.
//
//go:noescape
func multiplyAVX2(sums *int32, question *int16, codes *int8, width, rows int)
