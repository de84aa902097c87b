package vad_test

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shared is the path of a model file outside the project. Without the folder
// that holds it a test skips on a laptop and fails in CI.
func shared(tb testing.TB, name string) string {
	tb.Helper()
	dir := os.Getenv("HEADSTART_SHARED")
	if dir == "" {
		if os.Getenv("CI") == "true" {
			tb.Fatal("HEADSTART_SHARED is unset: the model files are needed in CI")
		}
		tb.Skip("HEADSTART_SHARED is unset: needs its models/" + name)
	}
	return filepath.Join(dir, "models", name)
}

// recording is the shared recording of speech, and the right probability of
// each of its windows.
func recording(tb testing.TB) (pcm []int16, want []float32) {
	tb.Helper()
	wav, err := os.ReadFile(shared(tb, "speech-20s.wav"))
	if err != nil {
		tb.Fatal(err)
	}
	const header = 44 // canonical: RIFF, a 16-byte fmt, data
	if string(wav[36:40]) != "data" {
		tb.Fatal("the recording has no canonical WAV header")
	}
	for b := wav[header:]; len(b) >= 2; b = b[2:] {
		pcm = append(pcm, int16(binary.LittleEndian.Uint16(b)))
	}
	file, err := os.ReadFile(shared(tb, "speech-20s.golden.json"))
	if err != nil {
		tb.Fatal(err)
	}
	var golden struct{ Probabilities []float32 }
	if err := json.Unmarshal(file, &golden); err != nil {
		tb.Fatal(err)
	}
	if len(golden.Probabilities) == 0 || len(golden.Probabilities) != len(pcm)/512 {
		tb.Fatalf("%d probabilities for %d samples", len(golden.Probabilities), len(pcm))
	}
	return pcm, golden.Probabilities
}

// eachWindow gives the whole windows of a recording, as an engine takes them.
func eachWindow(pcm []int16, visit func(n int, window []float32)) {
	window := make([]float32, 512)
	for n := range len(pcm) / 512 {
		for i, s := range pcm[n*512:][:512] {
			window[i] = float32(s) / 32768
		}
		visit(n, window)
	}
}
