package vad_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"headstart/turn/vad"
)

// script is an engine that says what it is told, window by window, and fails
// when it is asked for more.
type script struct {
	tb     testing.TB
	says   []float32
	asked  int
	resets int
}

func (s *script) Probability([]float32) float32 {
	if s.asked == len(s.says) {
		s.tb.Fatalf("asked for window %d of %d", s.asked, len(s.says))
	}
	s.asked++
	return s.says[s.asked-1]
}

func (s *script) Reset() { s.resets++ }

// times repeats a probability.
func times(n int, p float32) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = p
	}
	return out
}

func join(parts ...[]float32) (out []float32) {
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

const ms = time.Millisecond

func TestDetector(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		cfg        vad.Config
		says       []float32
		want       []vad.Edge
		speaking   bool
		lastVoiced time.Duration
	}{
		"silence": {says: times(50, 0.1)},
		"a blip shorter than 64 ms is no speech": {
			says: join(times(3, 0), times(1, 0.9), times(20, 0)),
		},
		"blips never add up": {
			says: join(times(1, 0.9), times(1, 0.4), times(1, 0.9), times(1, 0.1), times(1, 0.9), times(9, 0)),
		},
		"two windows are speech, from the first one's beginning": {
			says: join(times(3, 0), times(2, 0.51)), speaking: true, lastVoiced: 160 * ms,
			want: []vad.Edge{{Speaking: true, At: 96 * ms, Detected: 160 * ms}},
		},
		"the threshold itself is not above it": {says: times(20, 0.5)},
		"eight silent windows end it, at the last voiced one's end": {
			says: join(times(4, 0.9), times(8, 0.34)), lastVoiced: 128 * ms,
			want: []vad.Edge{{Speaking: true, Detected: 64 * ms}, {At: 128 * ms, Detected: 384 * ms}},
		},
		"seven do not": {
			says: join(times(4, 0.9), times(7, 0)), speaking: true, lastVoiced: 128 * ms,
			want: []vad.Edge{{Speaking: true, Detected: 64 * ms}},
		},
		"a dip between the thresholds goes on": {
			says: join(times(2, 0.9), times(30, 0.35)), speaking: true, lastVoiced: 1024 * ms,
			want: []vad.Edge{{Speaking: true, Detected: 64 * ms}},
		},
		"a weak window breaks a silence": {
			says: join(times(2, 0.9), times(7, 0), times(1, 0.36), times(7, 0)), speaking: true, lastVoiced: 320 * ms,
			want: []vad.Edge{{Speaking: true, Detected: 64 * ms}},
		},
		"speech, silence and speech again": {
			says: join(times(2, 0.9), times(8, 0), times(1, 0.45), times(2, 0.8), times(8, 0)), lastVoiced: 416 * ms,
			want: []vad.Edge{
				{Speaking: true, Detected: 64 * ms}, {At: 64 * ms, Detected: 320 * ms},
				{Speaking: true, At: 352 * ms, Detected: 416 * ms}, {At: 416 * ms, Detected: 672 * ms},
			},
		},
		"a blip after speech moves nothing": {
			says: join(times(2, 0.9), times(8, 0), times(1, 0.9), times(3, 0)), lastVoiced: 64 * ms,
			want: []vad.Edge{{Speaking: true, Detected: 64 * ms}, {At: 64 * ms, Detected: 320 * ms}},
		},
		"own figures, in whole windows rounded up": {
			cfg:  vad.Config{SpeechAbove: 0.8, SilenceBelow: 0.2, SpeechAfter: 65 * ms, SilenceAfter: 1 * ms},
			says: join(times(5, 0.7), times(3, 0.9), times(2, 0.3), times(1, 0.1)), lastVoiced: 320 * ms,
			want: []vad.Edge{{Speaking: true, At: 160 * ms, Detected: 256 * ms}, {At: 320 * ms, Detected: 352 * ms}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engine := &script{tb: t, says: tc.says}
			d := vad.New(engine, tc.cfg)
			var got []vad.Edge
			for left := len(tc.says) * 512; left > 0; left -= 320 {
				got = append(got, d.Write(make([]int16, min(left, 320)))...)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Fatalf("edges (-want +got):\n%s", diff)
			}
			if engine.asked != len(tc.says) || engine.resets != 0 {
				t.Fatalf("%d windows of %d judged, %d resets", engine.asked, len(tc.says), engine.resets)
			}
			if d.Speaking() != tc.speaking || d.LastVoiced() != tc.lastVoiced {
				t.Fatalf("speaking %t, last voiced %s, want %t and %s", d.Speaking(), d.LastVoiced(), tc.speaking, tc.lastVoiced)
			}
		})
	}
}

// hearing is an engine that keeps the windows it is given.
type hearing struct{ samples []float32 }

func (h *hearing) Probability(window []float32) float32 {
	h.samples = append(h.samples, window...)
	return max(0, window[0])
}

func (*hearing) Reset() {}

// However the audio is cut, the engine hears the same and the edges agree.
func TestDetectorCutsAnyhow(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(9, 9))
	pcm := make([]int16, 60*512+100)
	for i := range pcm {
		pcm[i] = int16(random.IntN(1 << 16))
	}
	for w := range 60 { // the first sample of a window is its probability
		pcm[w*512] = int16(w / 12 % 2 * 30000)
	}
	whole := &hearing{}
	want := vad.New(whole, vad.Config{}).Write(pcm)
	if len(want) != 4 {
		t.Fatalf("%d edges, want 4", len(want))
	}
	for range 20 {
		cut := &hearing{}
		d := vad.New(cut, vad.Config{})
		var got []vad.Edge
		for rest := pcm; len(rest) > 0; {
			n := min(random.IntN(1500), len(rest))
			got = append(got, d.Write(rest[:n])...)
			rest = rest[n:]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("edges (-whole +cut):\n%s", diff)
		}
		if diff := cmp.Diff(whole.samples, cut.samples); diff != "" {
			t.Fatal("the engine heard something else")
		}
	}
	for i, s := range whole.samples {
		if s != float32(pcm[i])/32768 {
			t.Fatalf("sample %d is %g, want %d/32768", i, s, pcm[i])
		}
	}
}

func TestConfigValidate(t *testing.T) {
	t.Parallel()
	nan := float32(0)
	nan /= nan
	for name, tc := range map[string]struct {
		cfg  vad.Config
		want string
	}{
		"default": {},
		"own":     {cfg: vad.Config{SpeechAbove: 0.9, SilenceBelow: 0.9, SpeechAfter: time.Second, SilenceAfter: time.Second}},
		"everything": {
			cfg: vad.Config{SpeechAbove: 1, SilenceBelow: 1.5, SpeechAfter: -1, SilenceAfter: -2},
			want: "speech above 1 is not between 0 and 1\nsilence below 1.5 is not between 0 and 1\n" +
				"silence below 1.5 is higher than speech above 1\nspeech after -1ns is negative\nsilence after -2ns is negative",
		},
		"crossed with a default": {cfg: vad.Config{SpeechAbove: 0.3}, want: "silence below 0.35 is higher than speech above 0.3"},
		"no number":              {cfg: vad.Config{SpeechAbove: nan}, want: "speech above NaN is not between 0 and 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ""
			if err := tc.cfg.Validate(); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Fatalf("error (-want +got):\n%s", diff)
			}
		})
	}
}

// A recording's edges through the whole path, engine and gate.
func TestDetectorOnSpeech(t *testing.T) {
	t.Parallel()
	pcm, want := recording(t)
	w, err := vad.Load(shared(t, "silero_vad_16k.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	heard := vad.New(w.NewEngine(), vad.Config{}).Write(pcm)
	scripted := vad.New(&script{tb: t, says: want}, vad.Config{}).Write(pcm)
	if diff := cmp.Diff(scripted, heard); diff != "" || len(heard) < 4 {
		t.Fatalf("%d edges (-golden +heard):\n%s", len(heard), diff)
	}
}
