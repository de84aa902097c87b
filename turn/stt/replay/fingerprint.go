package replay

import (
	"math"
	"math/bits"
	"math/cmplx"
	"time"

	"headstart/turn/stt"
)

const (
	window = 512                   // samples that a fingerprint looks at: 32 ms
	step   = 10 * time.Millisecond // between the prints of a recording
	stride = stt.SampleRate / 100  // the same, in samples
	bands  = 12                    // of a fingerprint, equally wide in mel
	lowest = 150.0                 // hertz, below which hum lives
	top    = 5600.0                // hertz, above which a codec saves
	// reach is how far below the strongest band of a frame the others still
	// count, in dB: what is weaker is noise, or the codec's guess.
	reach = 20
)

// fingerprint is one window: the shape of its spectrum in dB
// without its level, so that gain does not matter, and the level apart.
type fingerprint struct {
	shape [bands]float32
	level float32 // dB, of full scale
}

// take gives the prints of a sound, each of the window that ends with its step.
func take(pcm []int16) []fingerprint {
	prints := make([]fingerprint, 0, len(pcm)/stride)
	var last [window]int16
	for len(pcm) >= stride {
		copy(last[:], last[stride:])
		copy(last[window-stride:], pcm[:stride])
		prints = append(prints, fingerprintOf(&last))
		pcm = pcm[stride:]
	}
	return prints
}

func fingerprintOf(pcm *[window]int16) fingerprint {
	s := heardIn(pcm)
	return s.fingerprint()
}

// sound is the energy of one window in each band.
type sound [bands]float64

// heardIn measures one window.
func heardIn(pcm *[window]int16) sound {
	var spectrum [window]complex128
	for i, sample := range pcm {
		spectrum[i] = complex(float64(sample)/32768*hann[i], 0)
	}
	transform(&spectrum)
	var s sound
	for b := range bands {
		for _, x := range spectrum[edges[b]:edges[b+1]] {
			s[b] += real(x)*real(x) + imag(x)*imag(x)
		}
	}
	return s
}

// level is the loudness of a sound, in dB.
func (s *sound) level() float32 {
	var total float64
	for _, energy := range s {
		total += energy
	}
	return decibels(total)
}

// fingerprint takes the fingerprint of a sound.
func (s *sound) fingerprint() fingerprint {
	p := fingerprint{level: s.level()}
	for b, energy := range s {
		p.shape[b] = decibels(energy)
	}
	p.flatten()
	return p
}

// flatten leaves the shape alone: the strong bands, around their mean.
func (p *fingerprint) flatten() {
	strongest := p.shape[0]
	for _, level := range p.shape {
		strongest = max(strongest, level)
	}
	var mean float32
	for b, level := range p.shape {
		p.shape[b] = max(level, strongest-reach)
		mean += p.shape[b] / bands
	}
	for b := range p.shape {
		p.shape[b] -= mean
	}
}

// less takes a mean shape off and makes the rest one long: what is left tells
// this sound from other speech.
func (p *fingerprint) less(mean *[bands]float32) {
	var length float64
	for b := range p.shape {
		p.shape[b] -= mean[b]
		length += float64(p.shape[b]) * float64(p.shape[b])
	}
	if length == 0 {
		return
	}
	scale := float32(1 / math.Sqrt(length))
	for b := range p.shape {
		p.shape[b] *= scale
	}
}

// like is the cosine between two shapes of length one.
func (p *fingerprint) like(q *fingerprint) float32 {
	var sum float32
	for b := range p.shape {
		sum += p.shape[b] * q.shape[b]
	}
	return sum
}

func decibels(energy float64) float32 { return float32(10 * math.Log10(energy+1e-9)) }

// hann is the window's taper; edges are the bands' first bins.
var (
	hann  = taper()
	edges = melEdges()
	turns = roots()
)

func taper() (w [window]float64) {
	for i := range w {
		w[i] = 0.5 - 0.5*math.Cos(2*math.Pi*float64(i)/window)
	}
	return w
}

func melEdges() (edges [bands + 1]int) {
	mel := func(hertz float64) float64 { return 1127 * math.Log1p(hertz/700) }
	for b := range edges {
		m := mel(lowest) + (mel(top)-mel(lowest))*float64(b)/bands
		edges[b] = int(math.Round(700 * math.Expm1(m/1127) * window / stt.SampleRate))
	}
	return edges
}

func roots() (w [window / 2]complex128) {
	for k := range w {
		w[k] = cmplx.Rect(1, -2*math.Pi*float64(k)/window)
	}
	return w
}

// transform is the discrete Fourier transform, in place (radix 2).
func transform(x *[window]complex128) {
	shift := bits.LeadingZeros16(window - 1)
	for i := range x {
		if j := int(bits.Reverse16(uint16(i)) >> shift); j > i {
			x[i], x[j] = x[j], x[i]
		}
	}
	for size := 2; size <= window; size *= 2 {
		for from := 0; from < window; from += size {
			butterflies(x[from:from+size], window/size)
		}
	}
}

func butterflies(x []complex128, pace int) {
	half := len(x) / 2
	for k := range half {
		a, b := x[k], x[k+half]*turns[k*pace]
		x[k], x[k+half] = a+b, a-b
	}
}
