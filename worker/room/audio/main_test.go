package audio_test

import (
	"math"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sine is n samples of a tone at half of full scale.
func sine(hertz float64, rate, n int) []int16 {
	pcm := make([]int16, n)
	for i := range pcm {
		pcm[i] = int16(math.Round(16384 * math.Sin(2*math.Pi*hertz*float64(i)/float64(rate))))
	}
	return pcm
}

// tone fits a sine of known frequency to pcm and returns its RMS and that of the rest.
func tone(pcm []int16, hertz float64, rate int) (signal, noise float64) {
	var ss, cc, sc, xs, xc float64
	for i, v := range pcm {
		s, c := math.Sincos(2 * math.Pi * hertz * float64(i) / float64(rate))
		ss, cc, sc = ss+s*s, cc+c*c, sc+s*c
		xs, xc = xs+float64(v)*s, xc+float64(v)*c
	}
	det := ss*cc - sc*sc
	a, b := (xs*cc-xc*sc)/det, (xc*ss-xs*sc)/det
	var rest float64
	for i, v := range pcm {
		s, c := math.Sincos(2 * math.Pi * hertz * float64(i) / float64(rate))
		e := float64(v) - a*s - b*c
		rest += e * e
	}
	return math.Hypot(a, b) / math.Sqrt2, math.Sqrt(rest / float64(len(pcm)))
}

func decibel(a, b float64) float64 { return 20 * math.Log10(a/b) }
