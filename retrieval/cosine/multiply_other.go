//go:build !amd64

package cosine

func multiply(sums []int32, question []int16, rows []int8) { multiplyPlain(sums, question, rows) }
