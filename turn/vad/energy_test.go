package vad_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"headstart/turn/vad"
)

// sound gives the sample at a time in seconds, between -1 and 1.
type sound func(at float64) float64

// render makes samples of a sound.
func render(s sound, length time.Duration) []int16 {
	pcm := make([]int16, int(length.Seconds()*16000))
	for i := range pcm {
		pcm[i] = int16(math.Round(32767 * max(-1, min(1, s(float64(i)/16000)))))
	}
	return pcm
}

func decibels(db float64) float64 { return math.Pow(10, db/20) }

// white is noise of this level, in decibels of full scale.
func white(seed uint64, db float64) sound {
	random := rand.New(rand.NewPCG(seed, 3))
	return func(float64) float64 { return decibels(db) * random.NormFloat64() }
}

// fan is noise that falls with the frequency, as a fan's and a car's does.
func fan(seed uint64, db float64) sound {
	random := rand.New(rand.NewPCG(seed, 4))
	const pole = 0.9
	var y float64
	return func(float64) float64 {
		y = pole*y + random.NormFloat64()
		return decibels(db) * math.Sqrt(1-pole*pole) * y
	}
}

// hum is a mains tone with its harmonics, the n-th 1/n as loud.
func hum(hertz, db float64) sound {
	return func(at float64) float64 {
		var sum float64
		for n := 1.0; n <= 12; n++ {
			sum += math.Sin(2*math.Pi*hertz*n*at+n) / n
		}
		return decibels(db) * sum
	}
}

// voice is a synthetic speaker: harmonics of a gliding pitch under three
// moving formants, four syllables a second.
func voice(pitch, db float64) sound {
	var phase float64
	return func(at float64) float64 {
		phase += pitch * (1 + 0.15*math.Sin(2*math.Pi*1.3*at)) / 16000
		var sum float64
		for n := 1.0; n*pitch < 3600; n++ {
			sum += formants(n*pitch, at) * math.Sin(2*math.Pi*n*phase)
		}
		syllable := math.Pow(math.Sin(2*math.Pi*2*at), 2)
		return decibels(db) * sum * syllable
	}
}

func formants(hertz, at float64) float64 {
	bump := func(centre, width float64) float64 { return math.Exp(-math.Pow((hertz-centre)/width, 2)) }
	return bump(500+150*math.Sin(2*math.Pi*1.7*at), 150) +
		0.6*bump(1500+500*math.Sin(2*math.Pi*1.1*at), 200) + 0.3*bump(2600, 300)
}

// between plays a sound from one second to another.
func between(s sound, from, to float64) sound {
	return func(at float64) float64 {
		if at < from || at >= to {
			return 0
		}
		return s(at)
	}
}

func mix(sounds ...sound) sound {
	return func(at float64) (sum float64) {
		for _, s := range sounds {
			sum += s(at)
		}
		return sum
	}
}

// loudness is the root mean square of samples, in decibels of full scale.
func loudness(pcm []int16) float64 {
	var sum float64
	for _, s := range pcm {
		sum += float64(s) * float64(s)
	}
	return 10 * math.Log10(sum/float64(len(pcm))/32768/32768)
}

// A call that begins in a steady noise, and one that a noise without pitch
// enters, hears no speech.
func TestEnergyIgnoresSteadySounds(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]sound{
		"digital silence":           func(float64) float64 { return 0 },
		"an offset":                 func(float64) float64 { return 0.2 },
		"faint noise":               white(1, -70),
		"noise":                     white(2, -45),
		"loud noise":                white(3, -20),
		"a fan":                     fan(4, -30),
		"50 Hz hum":                 hum(50, -30),
		"60 Hz hum":                 hum(60, -20),
		"100 Hz hum in noise":       mix(hum(100, -35), white(5, -50)),
		"a tone":                    func(at float64) float64 { return 0.1 * math.Sin(2*math.Pi*440*at) },
		"noise that comes and goes": mix(between(white(6, -30), 2.01, 7), between(white(6, -40), 9.3, 60)),
		"a fan turned on":           between(fan(7, -30), 2.01, 60),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engine := vad.NewEnergy()
			eachWindow(render(s, 20*time.Second), func(n int, window []float32) {
				if p := engine.Probability(window); !(p < 0.35) {
					t.Fatalf("window %d at %s: probability %.2f", n, time.Duration(n)*vad.Window, p)
				}
			})
		})
	}
}

// A hum that begins may be a voice at first; it is known for a machine within
// a third of a second and never again.
func TestEnergyLearnsAHum(t *testing.T) {
	t.Parallel()
	pcm := render(between(hum(120, -30), 2.01, 60), 20*time.Second)
	var last time.Duration
	engine := vad.NewEnergy()
	eachWindow(pcm, func(n int, window []float32) {
		if engine.Probability(window) >= 0.35 {
			last = time.Duration(n+1) * vad.Window
		}
	})
	if last > 2500*ms {
		t.Fatalf("the hum of 2.01 s was still speech at %s", last)
	}
}

// A voice 10 dB above a noise is heard where it is and only there.
func TestEnergyHearsVoiceInNoise(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		voice sound
		noise sound
	}{
		"a man in silence":        {voice(110, -25), white(1, -90)},
		"a man in noise":          {voice(110, -25), white(2, 0)},
		"a woman in noise":        {voice(210, -25), white(3, 0)},
		"a child in noise":        {voice(300, -30), white(4, 0)},
		"a woman near a fan":      {voice(190, -25), fan(5, 0)},
		"a man on a humming line": {voice(130, -25), hum(50, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			speech := between(tc.voice, 3, 5)
			level := loudness(render(between(tc.voice, 0, 2), 2*time.Second))
			gain := min(0, level-10-loudness(render(between(tc.noise, 0, 2), 2*time.Second)))
			gained := func(at float64) float64 { return decibels(gain) * tc.noise(at) }
			edges := vad.New(vad.NewEnergy(), vad.Config{}).Write(render(mix(speech, gained), 8*time.Second))
			if len(edges) != 2 || !edges[0].Speaking || edges[1].Speaking {
				t.Fatalf("edges %v, want a beginning and an end", edges)
			}
			if began := edges[0].At; began < 2900*ms || began > 3200*ms {
				t.Fatalf("speech of 3 s began at %s", began)
			}
			if ended := edges[1].At; ended < 4800*ms || ended > 5250*ms {
				t.Fatalf("speech until 5 s ended at %s", ended)
			}
		})
	}
}

// Noises and fans begin twenty-five times each; none is speech to the gate. (Of 300
// beginnings each, measured once, no noise was and two fans were.)
func TestEnergyIgnoresNoisesThatBegin(t *testing.T) {
	t.Parallel()
	for seed := range uint64(25) {
		for name, s := range map[string]sound{"noise": white(100+seed, -35), "fan": fan(200+seed, -35)} {
			pcm := render(between(s, 0.5+float64(seed)/100, 60), 3*time.Second)
			if edges := vad.New(vad.NewEnergy(), vad.Config{}).Write(pcm); len(edges) != 0 {
				t.Errorf("%s %d: edges %v", name, seed, edges)
			}
		}
	}
}

// On a recording it agrees with Silero, clean and with noise added. Measured
// 0.933, 0.926 and 0.859 of the windows; the floors stand below them.
func TestEnergyAgreesWithSilero(t *testing.T) {
	t.Parallel()
	pcm, want := recording(t)
	for name, tc := range map[string]struct {
		snr   float64
		floor float64
	}{
		"clean":             {math.Inf(1), 0.91},
		"noise 20 dB below": {20, 0.91},
		"noise 10 dB below": {10, 0.85},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, missed, invented := agreement(addNoise(pcm, tc.snr), want)
			t.Logf("agreement %.3f, %d windows missed, %d invented, of %d", got, missed, invented, len(want))
			if got < tc.floor {
				t.Fatalf("agreement %.3f is under %.2f", got, tc.floor)
			}
		})
	}
}

// Behind the gate no stretch of the recording's speech is lost at 10 dB.
func TestEnergyLosesNoSpeech(t *testing.T) {
	t.Parallel()
	pcm, want := recording(t)
	golden := stretches(vad.New(&script{tb: t, says: want}, vad.Config{}), pcm)
	heard := stretches(vad.New(vad.NewEnergy(), vad.Config{}), addNoise(pcm, 10))
	for _, g := range golden {
		found := slices.ContainsFunc(heard, func(h stretch) bool { return h.from < g.to && h.to > g.from })
		if !found {
			t.Errorf("speech from %s to %s is lost; heard %v", g.from, g.to, heard)
		}
	}
}

// stretch is speech between two edges.
type stretch struct{ from, to time.Duration }

// stretches pairs the edges of a recording that ends in silence.
func stretches(d *vad.Detector, pcm []int16) (out []stretch) {
	edges := d.Write(pcm)
	for i := 0; i+1 < len(edges); i += 2 {
		out = append(out, stretch{edges[i].At, edges[i+1].At})
	}
	return out
}

func agreement(pcm []int16, want []float32) (share float64, missed, invented int) {
	engine := vad.NewEnergy()
	eachWindow(pcm, func(n int, window []float32) {
		switch speech := engine.Probability(window) > 0.5; {
		case want[n] > 0.5 && !speech:
			missed++
		case want[n] <= 0.5 && speech:
			invented++
		}
	})
	return 1 - float64(missed+invented)/float64(len(want)), missed, invented
}

func addNoise(pcm []int16, snr float64) []int16 {
	noise := white(11, loudness(pcm)-snr)
	out := make([]int16, len(pcm))
	for i, s := range pcm {
		out[i] = int16(max(-32768, min(32767, float64(s)+32768*noise(0))))
	}
	return out
}

// Its answer is always a probability, whatever the sound.
func TestEnergyStaysInRange(t *testing.T) {
	t.Parallel()
	engine := vad.NewEnergy()
	random := rand.New(rand.NewPCG(12, 5))
	eachWindow(render(func(float64) float64 { return float64(random.IntN(3)-1) * math.Pow(random.Float64(), 8) }, 4*time.Second),
		func(n int, window []float32) {
			if p := engine.Probability(window); !(p >= 0 && p <= 1) {
				t.Fatalf("window %d: %g", n, p)
			}
		})
}

func TestEnergyReset(t *testing.T) {
	t.Parallel()
	pcm := render(mix(between(voice(120, -20), 0.5, 1.5), white(13, -45)), 2*time.Second)
	engine := vad.NewEnergy()
	var first, second []float32
	eachWindow(pcm, func(_ int, w []float32) { first = append(first, engine.Probability(w)) })
	engine.Reset()
	eachWindow(pcm, func(_ int, w []float32) { second = append(second, engine.Probability(w)) })
	for n := range first {
		if first[n] != second[n] {
			t.Fatalf("window %d: %g, after a reset %g", n, first[n], second[n])
		}
	}
}

func BenchmarkEnergyWindow(b *testing.B) {
	var windows [][]float32
	eachWindow(render(mix(voice(120, -20), white(14, -45)), 4*time.Second), func(_ int, w []float32) {
		windows = append(windows, append([]float32(nil), w...))
	})
	engine := vad.NewEnergy()
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		engine.Probability(windows[n%len(windows)])
	}
}
