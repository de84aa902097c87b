package replay_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"headstart/turn/stt"
	"headstart/turn/stt/replay"
)

// bursts makes a recording of bursts of noise, each in a band of its own: 180
// ms of silence, a word every 200 ms of which 180 sound, 100 ms of silence.
func bursts(name string, words []string, seed uint64) turn {
	rng := rand.New(rand.NewPCG(seed, 1))
	t := turn{Audio: name, language: "en-GB", pcm: make([]int16, samples(180*ms))}
	for n, text := range words {
		start := 180 + 200*n
		t.Words = append(t.Words, word{Word: text, Start: start, End: start + 180})
		t.pcm = append(t.pcm, burst(rng, 180*ms)...)
		t.pcm = append(t.pcm, make([]int16, samples(20*ms))...)
	}
	t.pcm = append(t.pcm, make([]int16, samples(80*ms))...)
	return t
}

// burst is noise around two frequencies that glide.
func burst(rng *rand.Rand, length time.Duration) []int16 {
	pcm := make([]int16, samples(length))
	var from, to [2]float64
	for i := range from {
		from[i], to[i] = 300+rng.Float64()*4000, 300+rng.Float64()*4000
	}
	var phase [2]float64
	for i := range pcm {
		for tone := range phase {
			hertz := from[tone] + (to[tone]-from[tone])*float64(i)/float64(len(pcm))
			phase[tone] += 2*math.Pi*hertz/stt.SampleRate + rng.NormFloat64()*0.1
			pcm[i] += int16(6000 * math.Sin(phase[tone]))
		}
	}
	return pcm
}

func synthetic() []turn {
	return []turn{
		bursts("one.wav", []string{"where", "is", "the", "clinic", "please"}, 1),
		bursts("two.wav", []string{"when", "do", "you", "open"}, 2),
		bursts("three.wav", []string{"how", "much", "is", "a", "blood", "test"}, 3),
	}
}

func TestHearsWhatItKnows(t *testing.T) {
	t.Parallel()
	turns := synthetic()
	ears := open(t, replay.Config{Dir: folder(t, turns)})
	for n, turn := range turns {
		for _, c := range channels {
			events := listen(t, ears, c.carry(turn.pcm, uint64(n)))
			checkTurn(t, turn, events, lead+time.Duration(c.late)*time.Second/stt.SampleRate)
		}
	}
}

func TestTellsEachWordWhenItWasHeard(t *testing.T) {
	t.Parallel()
	turns := synthetic()
	ears := open(t, replay.Config{Dir: folder(t, turns)})
	events := listen(t, ears, channel{}.carry(turns[0].pcm, 1))
	type told struct {
		At   time.Duration
		Kind stt.Kind
		Text string
	}
	var got []told
	for _, e := range events {
		got = append(got, told{e.At, e.Kind, e.Text})
	}
	// The recording begins at 0.5 s, its first word at 0.68, and one ends every
	// 200 ms from 0.86. 280 ms of sound name it; the interims count from there.
	want := []told{
		{960 * ms, stt.SpeechStarted, ""},
		{960 * ms, stt.Interim, "where"},
		{1160 * ms, stt.Interim, "where is"},
		{1360 * ms, stt.Interim, "where is the"},
		{1560 * ms, stt.Interim, "where is the clinic"},
		{1760 * ms, stt.Interim, "where is the clinic please"},
		{1820 * ms, stt.Final, "where is the clinic please"},
		{1820 * ms, stt.EndOfSpeech, ""},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("events (-want +got):\n%s", diff)
	}
}

func TestFlush(t *testing.T) {
	t.Parallel()
	turns := synthetic()
	ears := open(t, replay.Config{Dir: folder(t, turns)})
	frames := channel{}.carry(turns[0].pcm, 1)
	flushed := append(append([][]int16{}, frames[:66]...), nil) // at 1.32 s, three words have ended
	flushed = append(append(flushed, frames[66:84]...), nil)    // and at 1.68 s, all
	flushed = append(flushed, frames[84:]...)
	finals := only(listen(t, ears, flushed), stt.Final)
	if len(finals) != 2 || finals[0].Text != "where is the" || finals[1].Text != "clinic please" || finals[1].At != 1680*ms {
		t.Fatalf("finals %v, want the first three words and, at 1.68 s, the others", finals)
	}
}

func TestLanguage(t *testing.T) {
	t.Parallel()
	turns := synthetic()
	turns[1].language = "es-ES"
	dir := folder(t, turns)
	for _, language := range []string{"es", "es-ES", "ES-es"} {
		ears := open(t, replay.Config{Dir: dir, Language: language})
		if events := listen(t, ears, channel{}.carry(turns[0].pcm, 1)); len(events) > 0 {
			t.Errorf("%s heard %v of an English recording", language, events)
		}
		if got := said(listen(t, ears, channel{}.carry(turns[1].pcm, 1))); got != turns[1].words() {
			t.Errorf("%s heard %q, want %q", language, got, turns[1].words())
		}
	}
}

func TestNoRecordings(t *testing.T) {
	t.Parallel()
	_, err := replay.New(replay.Config{Dir: t.TempDir()}, zap.NewNop())
	if !errors.Is(err, replay.ErrEmpty) {
		t.Fatalf("new recogniser: %v, want %v", err, replay.ErrEmpty)
	}
	dir := folder(t, synthetic())
	write(t, filepath.Join(dir, "en-GB", "two.wav"), []byte("RIFF\x00\x00\x00\x00WAVE"))
	if _, err := replay.New(replay.Config{Dir: dir}, zap.NewNop()); err == nil {
		t.Fatal("a broken recording was read")
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	err := replay.Config{InterimEvery: -1, WordDelay: -1, FinalDelay: -1}.Validate()
	joined, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err)
	if !ok || len(joined.Unwrap()) != 4 {
		t.Fatalf("validate: %v, want four complaints", err)
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	ears := open(t, replay.Config{Dir: folder(t, synthetic())})
	gone := errors.New("caller hung up")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	if err := ears.Recognise(ctx, make(chan stt.Input), func(stt.Event) {}); !errors.Is(err, gone) {
		t.Fatalf("recognise: %v, want %v", err, gone)
	}
}

func FuzzReadWAV(f *testing.F) {
	f.Add(riff([]int16{1, -1, 32767, -32768}))
	f.Add([]byte("RIFF\x00\x00\x00\x00WAVEdata\xff\xff\xff\xff"))
	f.Add([]byte("RIFF\x00\x00\x00\x00WAVEfmt \x03\x00\x00\x00abc"))
	f.Fuzz(func(t *testing.T, file []byte) {
		pcm, err := replay.ReadWAV(file)
		if 2*len(pcm) > len(file) || err != nil && pcm != nil {
			t.Fatalf("read %d samples of %d bytes, error %v", len(pcm), len(file), err)
		}
	})
}
