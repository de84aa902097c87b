package audio

import (
	"fmt"
	"math"
)

const (
	// zeroCrossings is the half width of the filter, in zeros of its sinc; with
	// beta it gives 80 dB between 0.4 and 0.6 of the lower rate.
	zeroCrossings = 16
	// kaiserBeta shapes the window: 8 is a stop band of 81 dB (Kaiser 1974).
	kaiserBeta = 8
	// rollOff puts the cut-off at 0.46 of the lower rate, in the middle of the transition.
	rollOff = 0.92
	// maxPhases bounds the table of a ratio: every pair of the usual rates needs
	// 640 at most.
	maxPhases = 4096
	minRate   = 4000
	maxRate   = 192000
)

// Resampler converts a stream of mono samples from one rate to another with a
// polyphase windowed sinc. It keeps state between blocks: any cutting of the
// stream gives the same output. It delays nothing: sample 0 out stands where
// sample 0 in stood. Not safe for concurrent use.
type Resampler struct {
	up, down int // the ratio, reduced: up samples out for down samples in
	taps     int
	phases   [][]float32

	history []float32 // the inputs that outputs still need, zeros before the first
	start   int       // the first tap's place in history for the next output
	phase   int       // which phase the next output has
	in, out int64     // since the start or the last Flush
}

// NewResampler makes a converter between two rates in hertz, from 4 to 192 kHz,
// whose reduced ratio has at most 4,096 phases.
func NewResampler(from, to int) (*Resampler, error) {
	if min(from, to) < minRate || max(from, to) > maxRate {
		return nil, fmt.Errorf("resample %d to %d Hz: rates from %d to %d only", from, to, minRate, maxRate)
	}
	g := gcd(from, to)
	r := &Resampler{up: to / g, down: from / g}
	if r.up > maxPhases {
		return nil, fmt.Errorf("resample %d to %d Hz: %d phases, more than %d", from, to, r.up, maxPhases)
	}
	if r.up != r.down {
		r.phases = sincPhases(r.up, min(1, float64(to)/float64(from))*rollOff)
		r.taps = len(r.phases[0])
	}
	r.restart()
	return r, nil
}

// sincPhases cuts one windowed sinc into as many filters as there are places
// between two inputs that an output can have. Each passes a constant unchanged.
func sincPhases(count int, cutoff float64) [][]float32 {
	half := zeroCrossings / cutoff
	side := int(math.Ceil(half))
	table := make([]float32, count*2*side)
	phases := make([][]float32, count)
	for p := range phases {
		phases[p] = table[p*2*side : (p+1)*2*side]
		offset := float64(p) / float64(count)
		var sum float64
		weights := make([]float64, 2*side)
		for k := range weights {
			weights[k] = windowedSinc(float64(k-side+1)-offset, cutoff, half)
			sum += weights[k]
		}
		for k, w := range weights {
			phases[p][k] = float32(w / sum)
		}
	}
	return phases
}

func windowedSinc(t, cutoff, half float64) float64 {
	if math.Abs(t) >= half {
		return 0
	}
	window := besselI0(kaiserBeta*math.Sqrt(1-(t/half)*(t/half))) / besselI0(kaiserBeta)
	if t == 0 {
		return window
	}
	return math.Sin(math.Pi*cutoff*t) / (math.Pi * cutoff * t) * window
}

// besselI0 is the modified Bessel function of order 0, by its power series.
func besselI0(x float64) float64 {
	sum, term := 1.0, 1.0
	for k := 1; term > sum*1e-12; k++ {
		term *= (x / 2 / float64(k)) * (x / 2 / float64(k))
		sum += term
	}
	return sum
}

// restart puts the first input under the filter's centre.
func (r *Resampler) restart() {
	r.start, r.phase, r.in, r.out = 0, 0, 0, 0
	r.history = r.history[:0]
	for range r.taps/2 - 1 {
		r.history = append(r.history, 0)
	}
}

// Resample appends to dst what src makes known, and returns dst. The last
// outputs wait for the inputs after them, or for Flush.
func (r *Resampler) Resample(dst, src []int16) []int16 {
	r.in += int64(len(src))
	if r.taps == 0 {
		return append(dst, src...)
	}
	for _, s := range src {
		r.history = append(r.history, float32(s))
	}
	return r.drain(dst, math.MaxInt64)
}

// Flush appends what Resample still held back, as if silence followed, and
// starts a new stream. The outputs since the last Flush are then as many as the
// inputs ask for, rounded up.
func (r *Resampler) Flush(dst []int16) []int16 {
	if r.taps > 0 && r.in > 0 {
		want := (r.in*int64(r.up) + int64(r.down) - 1) / int64(r.down)
		for range r.taps {
			r.history = append(r.history, 0)
		}
		dst = r.drain(dst, want-r.out)
	}
	r.restart()
	return dst
}

// drain computes outputs while their inputs are there, at most limit of them.
func (r *Resampler) drain(dst []int16, limit int64) []int16 {
	for ; limit > 0 && r.start+r.taps <= len(r.history); limit-- {
		dst = append(dst, clip(dot(r.phases[r.phase], r.history[r.start:r.start+r.taps])))
		r.out++
		r.phase += r.down
		r.start += r.phase / r.up
		r.phase %= r.up
	}
	used := min(r.start, len(r.history))
	kept := copy(r.history, r.history[used:])
	r.history, r.start = r.history[:kept], r.start-used
	return dst
}

// dot has four sums, so that one addition does not wait for the one before.
func dot(a, b []float32) float32 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float32
	i := 0
	for ; i+4 <= len(a); i += 4 {
		s0 += a[i] * b[i]
		s1 += a[i+1] * b[i+1]
		s2 += a[i+2] * b[i+2]
		s3 += a[i+3] * b[i+3]
	}
	for ; i < len(a); i++ {
		s0 += a[i] * b[i]
	}
	return (s0 + s1) + (s2 + s3)
}

// clip rounds to the nearest int16.
func clip(v float32) int16 {
	if v >= 0 {
		return int16(min(v+0.5, math.MaxInt16))
	}
	return int16(max(v-0.5, math.MinInt16))
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
