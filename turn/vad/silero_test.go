package vad_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headstart/turn/vad"
)

// The publisher's weights must give what a plain forward pass of them gives.
func TestSileroMatchesReference(t *testing.T) {
	t.Parallel()
	pcm, want := recording(t)
	w, err := vad.Load(shared(t, "silero_vad_16k.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	engine := w.NewEngine()
	var worst float32
	eachWindow(pcm, func(n int, window []float32) {
		got := engine.Probability(window)
		worst = max(worst, got-want[n], want[n]-got)
		if diff := got - want[n]; diff > 1e-3 || diff < -1e-3 {
			t.Fatalf("window %d: got %.5f, want %.5f", n, got, want[n])
		}
	})
	t.Logf("%d windows, at most %.6f off", len(want), worst)
}

// Any weights must give what the description of the network says, with the
// transform folded and without.
func TestSileroMatchesNaive(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		net    network
		folded bool
	}{
		"filters without symmetry": {randomNetwork(1), false},
		"Fourier transform":        {randomNetwork(2).withFourier(), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := load(t, tc.net)
			if w.Folded() != tc.folded {
				t.Fatalf("folded is %t, want %t", w.Folded(), tc.folded)
			}
			engine, oracle := w.NewEngine(), newNaive(tc.net)
			apart := map[float64]bool{}
			for n, window := range loudWindows(3, 12) {
				got, want := float64(engine.Probability(window)), oracle.probability(window)
				if math.Abs(got-want) > 1e-5 {
					t.Fatalf("window %d: got %.7f, want %.7f", n, got, want)
				}
				apart[math.Round(want*1e4)] = true
			}
			if len(apart) < 6 { // else the comparison would show nothing
				t.Fatalf("12 windows gave only %d different probabilities", len(apart))
			}
		})
	}
}

// Engines share weights and nothing else; a reset one begins again.
func TestSileroState(t *testing.T) {
	t.Parallel()
	w := load(t, randomNetwork(4))
	windows := loudWindows(5, 6)
	all := func(e vad.Engine) (out []float32) {
		for _, window := range windows {
			out = append(out, e.Probability(window))
		}
		return out
	}
	engine := w.NewEngine()
	want := all(engine)
	if cmp.Equal(want, all(engine)) {
		t.Fatal("the engine remembers nothing")
	}
	engine.Reset()
	if diff := cmp.Diff(want, all(engine)); diff != "" {
		t.Fatalf("after a reset (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, all(w.NewEngine())); diff != "" {
		t.Fatalf("another engine (-want +got):\n%s", diff)
	}
}

func TestSileroAllocatesNothing(t *testing.T) {
	engine, window := load(t, randomNetwork(6)).NewEngine(), loudWindows(7, 1)[0]
	if n := testing.AllocsPerRun(20, func() { engine.Probability(window) }); n != 0 {
		t.Fatalf("%g allocations a window", n)
	}
}

func load(tb testing.TB, net network) *vad.Weights {
	tb.Helper()
	w, err := vad.Load(write(tb, net.bytes(tb, nil)))
	if err != nil {
		tb.Fatal(err)
	}
	return w
}

// loudWindows is seeded noise whose loudness changes from window to window.
func loudWindows(seed uint64, count int) [][]float32 {
	random := rand.New(rand.NewPCG(seed, 2))
	windows := make([][]float32, count)
	for n := range windows {
		gain := random.Float64()
		for range 512 {
			windows[n] = append(windows[n], float32(gain*(2*random.Float64()-1)))
		}
	}
	return windows
}

func BenchmarkSileroWindow(b *testing.B) {
	pcm, _ := recording(b)
	w, err := vad.Load(shared(b, "silero_vad_16k.safetensors"))
	if err != nil {
		b.Fatal(err)
	}
	var windows [][]float32
	eachWindow(pcm, func(_ int, window []float32) {
		windows = append(windows, append([]float32(nil), window...))
	})
	engine := w.NewEngine()
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		engine.Probability(windows[n%len(windows)])
	}
}
