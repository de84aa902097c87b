package vad

import "math"

// The inner loops. Each keeps 4 to 8 sums in registers, so that an addition
// never waits for the one before it, reads its weights in the order in which
// they lie in memory, and uses each for as many frames as there are. Rows are
// arrays of fixed size: the compiler then needs no bounds check inside a loop.

// filterPair applies two filters to all frames of the transform.
func filterPair(out *[2][frames]float32, w [][2]float32, x [][frames]float32) {
	var a0, a1, a2, a3, b0, b1, b2, b3 float32
	x = x[:len(w)]
	for n := range w {
		f, s := &w[n], &x[n]
		a, b := f[0], f[1]
		s0, s1, s2, s3 := s[0], s[1], s[2], s[3]
		a0 += a * s0
		a1 += a * s1
		a2 += a * s2
		a3 += a * s3
		b0 += b * s0
		b1 += b * s1
		b2 += b * s2
		b3 += b * s3
	}
	out[0] = [frames]float32{a0, a1, a2, a3}
	out[1] = [frames]float32{b0, b1, b2, b3}
}

// convPair makes two channels of conv1: width 3, stride 1, one zero at both
// ends, ReLU.
func convPair(out *[2][frames]float32, w [][6]float32, x [][frames]float32, bias []float32) {
	a0, b0 := bias[0], bias[1]
	a1, a2, a3 := a0, a0, a0
	b1, b2, b3 := b0, b0, b0
	x = x[:len(w)]
	for i := range w {
		f, s := &w[i], &x[i]
		s0, s1, s2, s3 := s[0], s[1], s[2], s[3]
		a0 += f[1]*s0 + f[2]*s1
		a1 += f[0]*s0 + f[1]*s1 + f[2]*s2
		a2 += f[0]*s1 + f[1]*s2 + f[2]*s3
		a3 += f[0]*s2 + f[1]*s3
		b0 += f[4]*s0 + f[5]*s1
		b1 += f[3]*s0 + f[4]*s1 + f[5]*s2
		b2 += f[3]*s1 + f[4]*s2 + f[5]*s3
		b3 += f[3]*s2 + f[4]*s3
	}
	out[0] = [frames]float32{max(0, a0), max(0, a1), max(0, a2), max(0, a3)}
	out[1] = [frames]float32{max(0, b0), max(0, b1), max(0, b2), max(0, b3)}
}

// convQuad makes four channels of conv2: width 3, stride 2, one zero before
// the first frame, ReLU. Four frames become two.
func convQuad(out *[4][2]float32, w [][12]float32, x [][frames]float32, bias []float32) {
	a0, b0, c0, d0 := bias[0], bias[1], bias[2], bias[3]
	a1, b1, c1, d1 := a0, b0, c0, d0
	x = x[:len(w)]
	for i := range w {
		f, s := &w[i], &x[i]
		s0, s1, s2, s3 := s[0], s[1], s[2], s[3]
		a0 += f[1]*s0 + f[2]*s1
		a1 += f[0]*s1 + f[1]*s2 + f[2]*s3
		b0 += f[4]*s0 + f[5]*s1
		b1 += f[3]*s1 + f[4]*s2 + f[5]*s3
		c0 += f[7]*s0 + f[8]*s1
		c1 += f[6]*s1 + f[7]*s2 + f[8]*s3
		d0 += f[10]*s0 + f[11]*s1
		d1 += f[9]*s1 + f[10]*s2 + f[11]*s3
	}
	out[0] = [2]float32{max(0, a0), max(0, a1)}
	out[1] = [2]float32{max(0, b0), max(0, b1)}
	out[2] = [2]float32{max(0, c0), max(0, c1)}
	out[3] = [2]float32{max(0, d0), max(0, d1)}
}

// dense4 makes four outputs of a matrix laid out by packDense.
func dense4(w [][8]float32, x [][2]float32, bias []float32) [4]float32 {
	a0, b0, c0, d0 := bias[0], bias[1], bias[2], bias[3]
	var a1, b1, c1, d1 float32
	x = x[:len(w)]
	for i := range w {
		f, s := &w[i], &x[i]
		s0, s1 := s[0], s[1]
		a0 += f[0] * s0
		b0 += f[1] * s0
		c0 += f[2] * s0
		d0 += f[3] * s0
		a1 += f[4] * s1
		b1 += f[5] * s1
		c1 += f[6] * s1
		d1 += f[7] * s1
	}
	return [4]float32{a0 + a1, b0 + b1, c0 + c1, d0 + d1}
}

// denseRelu makes all outputs of a matrix laid out by packDense, with ReLU.
func denseRelu(out [][2]float32, w [][8]float32, x [][2]float32, bias []float32) {
	for i := 0; i < len(out); i += 2 {
		y := dense4(w[i/2*len(x):][:len(x)], x, bias[2*i:])
		out[i] = [2]float32{max(0, y[0]), max(0, y[1])}
		out[i+1] = [2]float32{max(0, y[2]), max(0, y[3])}
	}
}

func sigmoid(x float32) float32 {
	return float32(1 / (1 + math.Exp(-float64(x))))
}

// tanh by the exponential, which is quicker than math.Tanh and as exact as
// float32 needs.
func tanh(x float32) float32 {
	return float32(1 - 2/(1+math.Exp(2*float64(x))))
}
