package vad

import "math"

// What Energy takes for a voice. The figures were chosen on a recording of
// speech, clean and in noise at 10 dB; the tests hold what they achieve.
const (
	binHz    = SampleRate / float64(WindowSamples)
	firstBin = 4   // 125 Hz: below lie the mains and the handling of a telephone
	lastBin  = 128 // 4 kHz, where a telephone ends

	quiet     = 1e-8 // -80 dB of a full-scale sine: what is below is silence
	marginDB  = 3    // above the floor, what chance alone brings
	ceilingDB = 20   // more above the floor than this argues no more

	shortestPitch = SampleRate / 400 // in samples: a child's voice
	longestPitch  = SampleRate / 80  // a low man's

	// The periodicity, on average over two windows, at which sound may be a
	// voice and at which it is one. Over two windows noise stays under 0.22, a
	// fan's rumble but for one in a thousand under 0.235; half of all windows of
	// speech lie over 0.5.
	lowPeriodicity  = 0.235
	highPeriodicity = 0.265

	enoughDB      = 8    // an excess over this says no more
	evidenceDB    = 1.25 // the excess of a voice at which speech is as likely as not
	evidenceSlope = 2    // of the logistic curve there, for each decibel
	release       = 0.8  // what is left of a probability a window later: bridges a consonant
)

// bandBins are the ends of the bands in bins, about one Bark each.
var bandBins = [...]int{firstBin, 7, 10, 13, 17, 21, 25, 30, 35, 41, 48, 56, 64, 75, 87, 101, 115, lastBin}

const bands = len(bandBins) - 1

// lagGain undoes what the window itself takes from the correlation at each lag.
var lagGain = makeLagGain()

func makeLagGain() (gain [longestPitch + 1]float32) {
	var whole float32
	for _, h := range hann {
		whole += h * h
	}
	for lag := range gain {
		var sum float32
		for i, h := range hann {
			sum += h * hann[(i+lag)%WindowSamples]
		}
		gain[lag] = whole / sum
	}
	return gain
}

// Energy tells speech by what stands out of the noise floor and repeats itself
// at the pitch of a voice. It needs no weights; it mistakes music and other
// voices for the caller's where Silero often does not.
type Energy struct {
	spectrum [WindowSamples]complex64 // scratch
	power    [lastBin]float32         // scratch, by bin
	noise    noise
	periodic float32 // the periodicity of the window before
	last     float32 // its probability
	alone    float32 // the same, had there been no window before it
}

// NewEnergy is an engine that has heard nothing.
func NewEnergy() *Energy { return &Energy{} }

// Reset implements Engine.
func (e *Energy) Reset() { *e = Energy{} }

// Probability implements Engine. It is no measured probability, only ordered
// like one, with 0.5 where speech is as likely as not.
func (e *Energy) Probability(window []float32) float32 {
	e.analyse((*[WindowSamples]float32)(window))
	level := e.levels()
	e.noise.hear(&level)
	before := e.periodic
	e.periodic = e.periodicity()
	evidence := min(enoughDB, e.noise.excess(&level)) * voicing((before+e.periodic)/2)
	e.alone = sigmoid(evidenceSlope * (evidence - evidenceDB))
	e.last = max(release*e.last, e.alone)
	return e.last
}

// Alone implements Prompt: without what bridges consonants.
func (e *Energy) Alone() float32 { return e.alone }

// analyse fills the power of each bin, where a full-scale sine has 1 in all.
func (e *Energy) analyse(window *[WindowSamples]float32) {
	for i, x := range window {
		e.spectrum[reversed[i]] = complex(x*hann[i], 0)
	}
	fourier(&e.spectrum)
	const sine = 1.5 * WindowSamples * WindowSamples / 16 // its three bins under a Hann window
	for k := range e.power {
		re, im := real(e.spectrum[k]), imag(e.spectrum[k])
		e.power[k] = (re*re + im*im) / sine
	}
}

// levels gives the level of each band, in decibels of a full-scale sine.
func (e *Energy) levels() (level [bands]float32) {
	for b := range level {
		sum := float32(quiet)
		for _, p := range e.power[bandBins[b]:bandBins[b+1]] {
			sum += p
		}
		level[b] = float32(10 * math.Log10(float64(sum)))
	}
	return level
}

// periodicity is the highest peak of the autocorrelation at the lags of a
// voice's pitch: near 0 for noise, higher the more exactly sound repeats
// itself. The correlation is the transform of the magnitudes: of the power it
// would be higher for voices and much higher for the rumble of a fan.
func (e *Energy) periodicity() float32 {
	clear(e.spectrum[:])
	for k := firstBin; k < lastBin; k++ {
		p := complex(float32(math.Sqrt(float64(e.power[k]+quiet))), 0) // digital silence is like white noise
		e.spectrum[reversed[k]], e.spectrum[reversed[WindowSamples-k]] = p, p
	}
	fourier(&e.spectrum)
	var best float32
	for lag := shortestPitch; lag <= longestPitch; lag++ {
		r := real(e.spectrum[lag])
		if r >= real(e.spectrum[lag-1]) && r >= real(e.spectrum[lag+1]) {
			best = max(best, r*lagGain[lag])
		}
	}
	return best / real(e.spectrum[0])
}

// voicing weighs a periodicity: 0 where noise has as much, 1 where only
// voices and machines do.
func voicing(periodicity float32) float32 {
	return max(0, min(1, (periodicity-lowPeriodicity)/(highPeriodicity-lowPeriodicity)))
}
