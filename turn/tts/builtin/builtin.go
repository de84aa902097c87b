// Package builtin is the built-in robotic voice: formant synthesis in plain Go,
// for machines without any other. It is plainly a machine: letters become
// sounds by rule, vowels are three resonators, consonants are noise and murmur.
// It is deterministic, needs nothing, and fails only with its context or its
// listener. Nobody should have to hear it in production.
package builtin

import (
	"context"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"headstart/turn/tts"
)

// Rate is the sample rate of its audio, in hertz.
const Rate = 16000

// pace is how many characters it says a second: an ordinary pace, and the one
// by which the turn reckons how much of a clause was heard.
const pace = 14

// Config says in which language it reads.
type Config struct {
	Language string // BCP 47; "es" and its regions, or "en" and all else; empty is "es"
}

// Voice is the built-in robotic voice. It holds no state.
type Voice struct{ spanish bool }

// New makes a Voice.
func New(cfg Config) *Voice {
	return &Voice{spanish: cfg.Language == "" || strings.HasPrefix(strings.ToLower(cfg.Language), "es")}
}

// Name tells a listener of logs what they heard.
func (v *Voice) Name() string { return "builtin-robotic-formant" }

// Rate implements turn.Voice.
func (v *Voice) Rate() int { return Rate }

// Fragments implements tts.Fragmented: its melody is nothing that could be spoilt.
func (v *Voice) Fragments() bool { return true }

// Speak implements turn.Voice.
func (v *Voice) Speak(ctx context.Context, clauses <-chan string, play func(tts.Audio) error) error {
	return tts.PerClause(ctx, clauses, play, v.say)
}

// say synthesises sound by sound, so that the first is out at once.
func (v *Voice) say(ctx context.Context, text string, emit func([]int16) error) error {
	text = spell(strings.ToLower(text), v.spanish)
	phones := read(text, v.spanish)
	wanted := float64(utf8.RuneCountInString(strings.TrimSpace(text))) / pace
	total := 0.0
	for _, p := range phones {
		total += p.length
	}
	if total == 0 {
		return nil
	}
	stretch := max(0.6, min(1.6, wanted/total))
	s := newSynth(strings.Contains(text, "?"))
	for i, p := range phones {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := emit(s.sound(p, p.length*stretch, float64(i)/float64(len(phones)))); err != nil {
			return err
		}
	}
	return nil
}

// synth makes sounds one after the other; its state crosses their borders, so
// that they run into each other as speech does.
type synth struct {
	phase  float64      // of the voice's pulse, 0 to 1
	voices [3]resonator // the vowel tract
	hiss   resonator    // what noise goes through
	at     [3]float64   // formants now, hertz: they glide to the next sound's
	gain   float64      // now: it glides too
	seed   uint32       // of the noise: fixed, so that a text sounds the same twice
	asks   bool         // the pitch rises at the end
}

func newSynth(asks bool) *synth {
	return &synth{at: [3]float64{500, 1500, 2500}, seed: 1, asks: asks}
}

// resonator is a two-pole filter, of the same height whatever its frequency.
type resonator struct{ a, b, c, y1, y2 float64 }

func (r *resonator) tune(hertz, width float64) {
	radius, angle := math.Exp(-math.Pi*width/Rate), 2*math.Pi*hertz/Rate
	r.a, r.b, r.c = (1-radius)*math.Sin(angle), 2*radius*math.Cos(angle), radius*radius
}

func (r *resonator) step(x float64) float64 {
	y := r.a*x + r.b*r.y1 - r.c*r.y2
	r.y1, r.y2 = y, r.y1
	return y
}

// The formants' widths, hertz, and heights: ordinary ones of an adult.
var (
	widths  = [3]float64{80, 100, 140}
	heights = [3]float64{1, 0.6, 0.3}
)

// retune is how many samples pass between two steps of the glide: 2 ms.
const retune = 32

// pitch of the voice, hertz, at a place of the clause from 0 to 1.
func (s *synth) pitch(place float64, stress bool) float64 {
	hertz := 130 - 25*place
	if s.asks && place > 0.75 {
		hertz = 110 + 200*(place-0.75)
	}
	if stress {
		hertz *= 1.12
	}
	return hertz
}

// sound synthesises one phone: raw samples first, then a gain that brings them
// to the phone's loudness whatever its filters made of them.
func (s *synth) sound(p phone, length, place float64) []int16 {
	raw := make([]float64, int(length*Rate))
	hertz := s.pitch(place, p.stress)
	square := 0.0
	for i := range raw {
		if i%retune == 0 {
			s.glide(p)
		}
		raw[i] = s.voiced(hertz)*p.voice + s.noise()*p.noise
		if burst := length - float64(i)/Rate; p.burst && burst > 0.02 {
			raw[i] *= 0.02 // a stop is closed until its last 20 ms
		}
		square += raw[i] * raw[i]
	}
	gain := 0.0
	if square > 0 {
		gain = p.loud / math.Sqrt(square/float64(len(raw)))
	}
	return s.scale(raw, gain)
}

// glide moves the tract towards a phone: it is there in about 20 ms.
func (s *synth) glide(p phone) {
	for f := range s.at {
		s.at[f] += (p.formants[f] - s.at[f]) * 0.2
		s.voices[f].tune(s.at[f], widths[f])
	}
	s.hiss.tune(p.hiss, 1200)
}

// scale glides from the gain before to the new one in about 4 ms.
func (s *synth) scale(raw []float64, gain float64) []int16 {
	out := make([]int16, len(raw))
	for i, x := range raw {
		s.gain += (gain - s.gain) * 0.016
		out[i] = int16(max(-1, min(1, x*min(s.gain, gain*1.5+1e-9))) * math.MaxInt16)
	}
	return out
}

// voiced is the next sample of the vowel tract: a pulse a period, falling in
// between, through the three formants.
func (s *synth) voiced(hertz float64) float64 {
	s.phase += hertz / Rate
	x := 0.3 - 0.6*s.phase
	if s.phase >= 1 {
		s.phase--
		x = 3
	}
	y := 0.0
	for f := range s.voices {
		y += s.voices[f].step(x) * heights[f]
	}
	return y
}

// noise is the next sample of noise around a frequency (xorshift).
func (s *synth) noise() float64 {
	s.seed ^= s.seed << 13
	s.seed ^= s.seed >> 17
	s.seed ^= s.seed << 5
	return s.hiss.step(float64(s.seed)/math.MaxUint32 - 0.5)
}

// digits and signs, by language.
var words = map[bool]map[rune]string{
	true: {'0': "cero", '1': "uno", '2': "dos", '3': "tres", '4': "cuatro", '5': "cinco", '6': "seis", '7': "siete", '8': "ocho", '9': "nueve",
		'€': "euros", '$': "dólares", '%': "por ciento", '&': "y", '@': "arroba", '+': "más", '°': "grados"},
	false: {'0': "zero", '1': "one", '2': "two", '3': "three", '4': "four", '5': "five", '6': "six", '7': "seven", '8': "eight", '9': "nine",
		'€': "euros", '$': "dollars", '%': "percent", '&': "and", '@': "at", '+': "plus", '°': "degrees"},
}

// spell writes digits and signs as words, a digit at a time.
func spell(text string, spanish bool) string {
	var b strings.Builder
	for _, r := range text {
		if word, ok := words[spanish][r]; ok {
			fmt.Fprintf(&b, " %s ", word)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
