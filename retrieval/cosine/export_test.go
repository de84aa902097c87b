package cosine

// Multiply and MultiplyPlain are the kernel of this machine and the one in Go.
var (
	Multiply      = multiply
	MultiplyPlain = multiplyPlain
)

// Stride is what the length of a row is a multiple of.
const Stride = stride
