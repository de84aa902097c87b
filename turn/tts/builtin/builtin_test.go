package builtin_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"headstart/turn/tts"
	"headstart/turn/tts/builtin"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func say(t *testing.T, language, text string) []int16 {
	t.Helper()
	clauses := make(chan string, 1)
	clauses <- text
	close(clauses)
	var pcm []int16
	last := false
	err := builtin.New(builtin.Config{Language: language}).Speak(t.Context(), clauses, func(a tts.Audio) error {
		pcm = append(pcm, a.PCM...)
		last = a.Last
		return nil
	})
	if err != nil || !last {
		t.Fatalf("say %q: %v, last %v", text, err, last)
	}
	return pcm
}

// rms is the loudness in dBFS.
func rms(pcm []int16) float64 {
	square := 0.0
	for _, s := range pcm {
		square += float64(s) * float64(s)
	}
	return 20 * math.Log10(math.Sqrt(square/float64(len(pcm)))/32768)
}

func TestPaceAndLoudness(t *testing.T) {
	t.Parallel()
	for language, texts := range map[string][]string{
		"es":    {"La consulta abre a las nueve y media de la mañana.", "¿Quiere que le reserve una cita para el jueves?", "Gracias, tomo nota."},
		"en-GB": {"The clinic opens at half past nine in the morning.", "Would you like me to book a visit for Thursday?", "Thank you, noted."},
	} {
		for _, text := range texts {
			pcm := say(t, language, text)
			perSecond := float64(len([]rune(text))) / (float64(len(pcm)) / builtin.Rate)
			if perSecond < 12 || perSecond > 16 {
				t.Errorf("%q: %.1f characters a second, want about 14", text, perSecond)
			}
			if level := rms(pcm); level < -23 || level > -17 {
				t.Errorf("%q: %.1f dBFS, want about -20", text, level)
			}
			clipped := 0
			for _, s := range pcm {
				if s == math.MaxInt16 || s == -math.MaxInt16 {
					clipped++
				}
			}
			if clipped > 0 {
				t.Errorf("%q: %d samples are clipped", text, clipped)
			}
		}
	}
}

// power is how much of the audio lies at a frequency (Goertzel).
func power(pcm []int16, hertz float64) float64 {
	c := 2 * math.Cos(2*math.Pi*hertz/builtin.Rate)
	a, b := 0.0, 0.0
	for _, s := range pcm {
		a, b = float64(s)+c*a-b, a
	}
	return (a*a + b*b - c*a*b) / float64(len(pcm)*len(pcm))
}

// band sums the power of a band.
func band(pcm []int16, from, to float64) (sum float64) {
	for hertz := from; hertz < to; hertz += 10 {
		sum += power(pcm, hertz)
	}
	return sum
}

// Speech differs from sound to sound: i has its energy low and high, a in the
// middle; s is above all vowels.
func TestSoundsDiffer(t *testing.T) {
	t.Parallel()
	a, i, s := say(t, "es", "aaaaaa"), say(t, "es", "iiiiii"), say(t, "es", "ssssss")
	if band(a, 600, 1000) < 5*band(i, 600, 1000) {
		t.Errorf("a and i have the same first formant")
	}
	if band(i, 2000, 2600) < 2*band(a, 2000, 2600) {
		t.Errorf("a and i have the same second formant")
	}
	if band(s, 4500, 6500) < 5*band(s, 100, 2000) {
		t.Errorf("s does not hiss")
	}
}

func TestDigitsAreWords(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(say(t, "es", " siete  dos "), say(t, "es", "72")); diff != "" {
		t.Fatal("72 is not said as siete dos")
	}
	if diff := cmp.Diff(say(t, "en", " seven "), say(t, "en", "7")); diff != "" {
		t.Fatal("7 is not said as seven")
	}
}

func TestItSoundsTheSameTwice(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(say(t, "es", "Buenos días."), say(t, "es", "Buenos días.")); diff != "" {
		t.Fatal("the same text gave other audio")
	}
}

func TestPunctuationPauses(t *testing.T) {
	t.Parallel()
	if pcm := say(t, "es", "…"); rms(pcm) > -80 {
		t.Fatalf("a pause sounds, at %.1f dBFS", rms(pcm))
	}
	if pcm := say(t, "es", ""); len(pcm) > builtin.Rate/10 {
		t.Fatalf("nothing took %d samples", len(pcm))
	}
}

func TestCancelAndAMouthThatFails(t *testing.T) {
	t.Parallel()
	cause := errors.New("barge-in")
	ctx, cancel := context.WithCancelCause(t.Context())
	clauses := make(chan string, 1)
	clauses <- "Buenos días a todos."
	err := builtin.New(builtin.Config{}).Speak(ctx, clauses, func(tts.Audio) error { cancel(cause); return nil })
	if err != cause {
		t.Fatalf("got %v, want the cause", err)
	}
	clauses <- "Buenos días."
	if err := builtin.New(builtin.Config{}).Speak(t.Context(), clauses, func(tts.Audio) error { return cause }); err != cause {
		t.Fatalf("got %v, want the mouth's error", err)
	}
}

func FuzzSay(f *testing.F) {
	f.Add("Hola, ¿qué tal? 42 €", true)
	f.Add("\x00\xff ñ…", false)
	f.Fuzz(func(t *testing.T, text string, es bool) {
		if len(text) > 200 {
			return
		}
		language := "en"
		if es {
			language = "es"
		}
		say(t, language, text)
	})
}

func BenchmarkSecondOfSpeech(b *testing.B) {
	v := builtin.New(builtin.Config{})
	b.ReportAllocs()
	var first time.Duration
	for b.Loop() {
		clauses := make(chan string, 1)
		clauses <- "Buenos días a to" // 14 characters and some: about a second
		close(clauses)
		start, heard := time.Now(), false
		if err := v.Speak(b.Context(), clauses, func(tts.Audio) error {
			if !heard {
				first, heard = time.Since(start), true
			}
			return nil
		}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(first.Microseconds()), "µs-to-first-audio")
}
