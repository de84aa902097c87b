package cosine

// stride is how many codes the kernel takes at once.
const stride = 32

// multiplyPlain is the kernel in Go: the product of the question with each row. The
// sums are of whole numbers, so every kernel gives the same.
func multiplyPlain(sums []int32, question []int16, rows []int8) {
	for i := range sums {
		row := rows[i*len(question) : (i+1)*len(question)]
		var s0, s1, s2, s3 int32
		for q := question; len(q) >= 4 && len(row) >= 4; q, row = q[4:], row[4:] {
			s0 += int32(q[0]) * int32(row[0])
			s1 += int32(q[1]) * int32(row[1])
			s2 += int32(q[2]) * int32(row[2])
			s3 += int32(q[3]) * int32(row[3])
		}
		sums[i] = s0 + s1 + s2 + s3
	}
}
