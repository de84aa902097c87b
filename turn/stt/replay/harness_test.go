package replay_test

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"

	"headstart/turn/stt"
	"headstart/turn/stt/replay"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	ms        = time.Millisecond
	frame     = 20 * ms
	frameSize = stt.SampleRate / 50
	calls     = "../../../testdata/calls"
	lead      = 500 * ms // of silence before every recording that a test plays
)

// call is a call.json, as far as these tests need it.
type call struct {
	ID       string `json:"id"`
	Language string `json:"language"`
	Turns    []turn `json:"turns"`
}

type turn struct {
	Audio string `json:"audio"`
	Text  string `json:"text"`
	Words []word `json:"words"`

	language string
	pcm      []int16
}

type word struct {
	Word  string `json:"word"`
	Start int    `json:"start_ms"`
	End   int    `json:"end_ms"`
}

func (w word) start() time.Duration { return time.Duration(w.Start) * ms }
func (w word) end() time.Duration   { return time.Duration(w.End) * ms }

func (t turn) words() string {
	var texts []string
	for _, w := range t.Words {
		texts = append(texts, w.Word)
	}
	return strings.Join(texts, " ")
}

func (t turn) last() word { return t.Words[len(t.Words)-1] }

// recorded reads every turn under a folder of calls; it fails when there is none.
func recorded(t testing.TB, dir string) []turn {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*", "call.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no calls under %s: %v", dir, err)
	}
	var turns []turn
	for _, path := range paths {
		var c call
		text, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(text, &c)
		}
		if err != nil {
			t.Fatalf("read %s: %v", path, err)
		}
		for _, turn := range c.Turns {
			turn.language = c.Language
			turn.pcm = wav(t, filepath.Join(filepath.Dir(path), turn.Audio))
			turns = append(turns, turn)
		}
	}
	return turns
}

func wav(t testing.TB, path string) []int16 {
	t.Helper()
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("read recording: %v", err)
	}
	pcm, err := replay.ReadWAV(file)
	if err != nil {
		t.Fatalf("read %s: %v", path, err)
	}
	return pcm
}

// folder writes turns as one call a language, and gives the folder.
func folder(t testing.TB, turns []turn) string {
	t.Helper()
	dir := t.TempDir()
	byLanguage := map[string][]turn{}
	for _, turn := range turns {
		byLanguage[turn.language] = append(byLanguage[turn.language], turn)
	}
	for language, turns := range byLanguage {
		at := filepath.Join(dir, language)
		text, err := json.Marshal(call{ID: language, Language: language, Turns: turns})
		if err != nil {
			t.Fatalf("write call: %v", err)
		}
		write(t, filepath.Join(at, "call.json"), text)
		for _, turn := range turns {
			write(t, filepath.Join(at, turn.Audio), riff(turn.pcm))
		}
	}
	return dir
}

func write(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatalf("make folder: %v", err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatalf("write file: %v", err)
	}
}

// riff makes a WAV file, with a chunk that a reader has to skip.
func riff(pcm []int16) []byte {
	b := []byte("RIFF\x00\x00\x00\x00WAVELIST\x03\x00\x00\x00abc\x00fmt \x10\x00\x00\x00")
	for _, v := range []any{uint16(1), uint16(1), uint32(stt.SampleRate), uint32(2 * stt.SampleRate), uint16(2), uint16(16)} {
		b, _ = binary.Append(b, binary.LittleEndian, v) // the types are fixed
	}
	b = append(b, "data"...)
	b = binary.LittleEndian.AppendUint32(b, uint32(2*len(pcm)))
	for _, s := range pcm {
		b = binary.LittleEndian.AppendUint16(b, uint16(s))
	}
	binary.LittleEndian.PutUint32(b[4:], uint32(len(b)-8))
	return b
}

// channel is what happens to the sound on its way.
type channel struct {
	gain  float64 // dB
	noise float64 // dB below the speech; 0 = none
	loss  float64 // share of frames replaced by silence
	drop  float64 // share of frames left out
	late  int     // samples by which the frames are off the recording's
}

// carry gives the frames that arrive of a sound with silence around it.
func (c channel) carry(pcm []int16, seed uint64) [][]int16 {
	rng := rand.New(rand.NewPCG(seed, 7))
	sound := make([]int16, samples(lead)+c.late, samples(lead)+len(pcm)+stt.SampleRate)
	sound = append(sound, pcm...)
	sound = append(sound, make([]int16, stt.SampleRate)...)
	gain, level := math.Pow(10, c.gain/20)*0.5, 0.0 // halved: room for 6 dB more
	if c.noise > 0 {
		level = rms(pcm) * gain * math.Pow(10, -c.noise/20)
	}
	var frames [][]int16
	for ; len(sound) >= frameSize; sound = sound[frameSize:] {
		out := make([]int16, frameSize)
		lost, dropped := rng.Float64() < c.loss, rng.Float64() < c.drop
		for i, s := range sound[:frameSize] {
			v := float64(s)*gain + rng.NormFloat64()*level
			out[i] = int16(max(-32768, min(32767, v)))
		}
		if lost {
			clear(out)
		}
		if !dropped {
			frames = append(frames, out)
		}
	}
	return frames
}

func rms(pcm []int16) float64 {
	var sum float64
	for _, s := range pcm {
		sum += float64(s) * float64(s)
	}
	return math.Sqrt(sum / float64(max(1, len(pcm))))
}

func samples(d time.Duration) int { return int(d * stt.SampleRate / time.Second) }

// heard is an event, with the audio that had been fed when it was told.
type heard struct {
	At time.Duration
	stt.Event
}

func open(t testing.TB, config replay.Config) *replay.Recogniser {
	t.Helper()
	r, err := replay.New(config, zap.NewNop())
	if err != nil {
		t.Fatalf("new recogniser: %v", err)
	}
	return r
}

// listen feeds frames one by one, an empty one meaning a flush, and notes
// after which each event was told.
func listen(t testing.TB, r *replay.Recogniser, frames [][]int16) []heard {
	t.Helper()
	audio := make(chan stt.Input)
	var fed atomic.Int64 // samples, to the end of the frame that is being heard
	var feeding sync.WaitGroup
	feeding.Go(func() {
		defer close(audio)
		for _, pcm := range frames {
			fed.Add(int64(len(pcm)))
			audio <- stt.Input{PCM: pcm, Flush: len(pcm) == 0}
			audio <- stt.Input{} // taken only once the frame was heard
		}
	})
	var events []heard
	err := r.Recognise(t.Context(), audio, func(e stt.Event) {
		events = append(events, heard{At: time.Duration(fed.Load()) * time.Second / stt.SampleRate, Event: e})
	})
	feeding.Wait()
	if err != nil {
		t.Fatalf("recognise: %v", err)
	}
	return events
}

func only(events []heard, kind stt.Kind) []heard {
	var some []heard
	for _, e := range events {
		if e.Kind == kind {
			some = append(some, e)
		}
	}
	return some
}

func said(events []heard) string {
	var texts []string
	for _, e := range only(events, stt.Final) {
		texts = append(texts, e.Text)
	}
	return strings.Join(texts, " ")
}
