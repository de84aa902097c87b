package vad

import (
	"math"
	"math/bits"
)

// The twiddle factors, bit reversal and Hann window of a transform over one
// window of samples. Written once, before main.
var (
	twiddle  = makeTwiddle()
	reversed = makeReversed()
	hann     = makeHann()
)

func makeTwiddle() (w [WindowSamples / 2]complex64) {
	for i := range w {
		sin, cos := math.Sincos(-2 * math.Pi * float64(i) / WindowSamples)
		w[i] = complex(float32(cos), float32(sin))
	}
	return w
}

func makeReversed() (r [WindowSamples]uint16) {
	shift := 16 - bits.Len(WindowSamples-1)
	for i := range r {
		r[i] = bits.Reverse16(uint16(i)) >> shift
	}
	return r
}

func makeHann() (w [WindowSamples]float32) {
	for i := range w {
		w[i] = float32(0.5 - 0.5*math.Cos(2*math.Pi*float64(i)/WindowSamples))
	}
	return w
}

// fourier transforms x in place: radix 2, decimation in time. x must already
// lie in bit-reversed order.
func fourier(x *[WindowSamples]complex64) {
	for half := 1; half < WindowSamples; half *= 2 {
		step := WindowSamples / 2 / half
		for start := 0; start < WindowSamples; start += 2 * half {
			low, high := x[start:][:half], x[start+half:][:half]
			for i, a := range low {
				b := high[i] * twiddle[i*step]
				low[i], high[i] = a+b, a-b
			}
		}
	}
}
