package replay_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"headstart/turn/stt"
	"headstart/turn/stt/replay"
)

var channels = []struct {
	name string
	channel
	firstBy time.Duration // the first interim, from the first sound
}{
	{"clean", channel{}, 500 * ms},
	{"off the frames", channel{late: 137}, 500 * ms},
	{"noise 15 dB below", channel{noise: 15}, 700 * ms},
	{"3% of the frames lost", channel{loss: 0.03}, 500 * ms},
	{"louder", channel{gain: 6}, 500 * ms},
	{"quieter", channel{gain: -6}, 500 * ms},
	{"all of it", channel{gain: -6, noise: 15, loss: 0.03, late: 211}, 700 * ms},
}

// TestTellsTheRecordingsApart plays every recording through every channel: its
// words and no others are told, each after it was heard and soon after.
func TestTellsTheRecordingsApart(t *testing.T) {
	t.Parallel()
	turns := recorded(t, calls)
	ears := open(t, replay.Config{Dir: calls})
	for _, c := range channels {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var firsts []time.Duration
			for n, turn := range turns {
				events := listen(t, ears, c.carry(turn.pcm, uint64(n)))
				offset := lead + time.Duration(c.late)*time.Second/stt.SampleRate
				first := checkTurn(t, turn, events, offset)
				firsts = append(firsts, first)
				known := turn.Words[0].end() - turn.Words[0].start() + 40*ms
				if by := max(c.firstBy, known+frame+100*ms); first > by {
					t.Errorf("%s: first interim %v after the first sound, want at most %v", turn.Audio, first, by)
				}
			}
			slices.Sort(firsts)
			t.Logf("first interim after the first sound: median %v, worst %v of %d", firsts[len(firsts)/2], firsts[len(firsts)-1], len(firsts))
		})
	}
}

// checkTurn holds the events of one recording, played at offset, against its
// words, and gives the time from the first sound to the first interim.
func checkTurn(t *testing.T, turn turn, events []heard, offset time.Duration) time.Duration {
	t.Helper()
	const off = 30 * ms // the frame, and a step of misalignment
	finals, ends, starts := only(events, stt.Final), only(events, stt.EndOfSpeech), only(events, stt.SpeechStarted)
	if len(finals) != 1 || finals[0].Text != turn.words() || len(ends) != 1 || len(starts) != 1 {
		t.Fatalf("%s: finals %v, %d ends, %d starts, want %q once", turn.Audio, finals, len(ends), len(starts), turn.words())
	}
	near(t, turn.Audio+" final told", finals[0].At, offset+turn.last().end()+150*ms, off)
	near(t, turn.Audio+" start", starts[0].Start, offset+turn.Words[0].start(), off)
	near(t, turn.Audio+" final's start", finals[0].Start, offset+turn.Words[0].start(), off)
	near(t, turn.Audio+" final's end", finals[0].End, offset+turn.last().end(), off)
	if finals[0].Language != turn.language {
		t.Errorf("%s: language %q, want %q", turn.Audio, finals[0].Language, turn.language)
	}
	interims := only(events, stt.Interim)
	if len(interims) == 0 {
		t.Fatalf("%s: no interims", turn.Audio)
	}
	before := ""
	for _, e := range interims {
		if !strings.HasPrefix(turn.words(), e.Text) || len(e.Text) <= len(before) {
			t.Errorf("%s: interim %q after %q", turn.Audio, e.Text, before)
		}
		known := turn.Words[len(strings.Fields(e.Text))-1].end() + offset + 40*ms
		if e.At < known-off {
			t.Errorf("%s: %q told at %v, its last word is known at %v", turn.Audio, e.Text, e.At, known)
		}
		before = e.Text
	}
	checkPace(t, turn, interims, offset)
	return interims[0].At - offset - turn.Words[0].start()
}

// checkPace wants every word that ends after the first interim told within
// 200 ms: known after 40, and 100 to the next interim.
func checkPace(t *testing.T, turn turn, interims []heard, offset time.Duration) {
	t.Helper()
	for n, w := range turn.Words {
		due := offset + w.end() + 200*ms
		if w.end()+offset < interims[0].At || n == len(turn.Words)-1 {
			continue
		}
		told := slices.ContainsFunc(interims, func(e heard) bool { return e.At <= due && len(strings.Fields(e.Text)) > n })
		if !told {
			t.Errorf("%s: %q was not told by %v", turn.Audio, w.Word, due)
		}
	}
}

func near(t *testing.T, what string, got, want, off time.Duration) {
	t.Helper()
	if (got - want).Abs() > off {
		t.Errorf("%s at %v, want %v give or take %v", what, got, want, off)
	}
}

// TestStrangersYieldNothing plays every recording to ears that know only the
// others, by the same voice.
func TestStrangersYieldNothing(t *testing.T) {
	t.Parallel()
	turns := recorded(t, calls)
	for n, turn := range turns {
		t.Run(fmt.Sprintf("%s/%s", turn.language, turn.Audio), func(t *testing.T) {
			t.Parallel()
			ears := open(t, replay.Config{Dir: folder(t, slices.Delete(slices.Clone(turns), n, n+1))})
			for _, c := range []channel{{}, {noise: 15}, {loss: 0.03, gain: 6}} {
				if events := listen(t, ears, c.carry(turn.pcm, uint64(n))); len(events) > 0 {
					t.Errorf("heard %v", events)
				}
			}
		})
	}
}

// TestHumanSpeechYieldsNothing plays 20 s of a person to the ears.
func TestHumanSpeechYieldsNothing(t *testing.T) {
	t.Parallel()
	shared := os.Getenv("HEADSTART_SHARED")
	if shared == "" && os.Getenv("CI") == "true" {
		t.Fatal("HEADSTART_SHARED is not set")
	}
	if shared == "" {
		t.Skip("HEADSTART_SHARED is not set: no recording of a person")
	}
	pcm := wav(t, filepath.Join(shared, "models", "speech-20s.wav"))
	ears := open(t, replay.Config{Dir: calls})
	if events := listen(t, ears, channel{}.carry(pcm, 1)); len(events) > 0 {
		t.Fatalf("heard %v", events)
	}
}

// TestSkippedFrames leaves frames out altogether, so that the recording runs
// ahead of the clock: it is still heard to its end.
func TestSkippedFrames(t *testing.T) {
	t.Parallel()
	ears := open(t, replay.Config{Dir: calls})
	for n, turn := range recorded(t, calls) {
		events := listen(t, ears, channel{drop: 0.02}.carry(turn.pcm, uint64(n)))
		if said(events) != turn.words() {
			t.Errorf("%s: heard %q, want %q", turn.Audio, said(events), turn.words())
		}
	}
}

// TestCallInOneBreath plays the recordings one after the other to one pair of
// ears, in frames of other sizes than theirs.
func TestCallInOneBreath(t *testing.T) {
	t.Parallel()
	ears := open(t, replay.Config{Dir: calls, Language: "es"})
	var sound []int16
	var want []string
	for _, turn := range recorded(t, calls) {
		if turn.language != "es-ES" {
			continue
		}
		sound = append(append(sound, turn.pcm...), make([]int16, samples(400*ms))...)
		want = append(want, turn.words())
	}
	for _, size := range []int{160, 333, 800} {
		var frames [][]int16
		for pcm := range slices.Chunk(sound, size) {
			frames = append(frames, pcm)
		}
		if got := said(listen(t, ears, frames)); got != strings.Join(want, " ") {
			t.Errorf("in frames of %d heard %q, want %q", size, got, want)
		}
	}
}

// TestPartOfARecording begins a recording in its middle, and cuts one off.
func TestPartOfARecording(t *testing.T) {
	t.Parallel()
	ears := open(t, replay.Config{Dir: calls})
	for n, turn := range recorded(t, calls) {
		half := turn.Words[len(turn.Words)/2]
		tail := said(listen(t, ears, channel{}.carry(turn.pcm[samples(half.start()):], uint64(n))))
		if !strings.HasSuffix(turn.words(), tail) {
			t.Errorf("%s from %q: heard %q", turn.Audio, half.Word, tail)
		}
		events := listen(t, ears, channel{}.carry(turn.pcm[:samples(half.end())], uint64(n)))
		if head := said(events); head == "" || !strings.HasPrefix(turn.words(), head) || len(only(events, stt.EndOfSpeech)) != 1 {
			t.Errorf("%s to %q: heard %q", turn.Audio, half.Word, head)
		}
	}
}

func BenchmarkSecondOfAudio(b *testing.B) {
	turns := recorded(b, calls)
	ears := open(b, replay.Config{Dir: calls})
	frames := channel{}.carry(turns[0].pcm, 1)
	b.ReportAllocs()
	for b.Loop() {
		listen(b, ears, frames)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/(float64(len(frames))/50), "µs/second")
}
