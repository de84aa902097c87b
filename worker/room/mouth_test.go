package room_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"headstart/worker/room"
	"headstart/worker/room/audio"
)

// sine is a tone at half of full scale.
func sine(hertz float64, rate int, d time.Duration) []int16 {
	pcm := make([]int16, int(d*time.Duration(rate)/time.Second))
	for i := range pcm {
		pcm[i] = int16(16384 * math.Sin(2*math.Pi*hertz*float64(i)/float64(rate)))
	}
	return pcm
}

// tape is a track that keeps what was sent: the slot and whether it was the
// packet of silence, silence that was encoded, or speech.
type tape struct {
	slots []int64
	kinds []string
}

// Encode marks a frame instead of encoding it.
func (*tape) Encode(pcm []int16, packet []byte) (int, error) {
	packet[0] = 0
	if audio.RMS(pcm) > 0 {
		packet[0] = 1
	}
	return 1, nil
}

func (*tape) Protect(bool) {}

func (t *tape) send(packet []byte, slot int64) error {
	kinds := map[byte]string{0: "hush", 1: "speech", 0xf8: "silent"}
	t.slots, t.kinds = append(t.slots, slot), append(t.kinds, kinds[packet[0]])
	return nil
}

// counted folds runs of the same kind.
func (t *tape) counted() map[string]int {
	n := map[string]int{}
	for _, k := range t.kinds {
		n[k]++
	}
	return n
}

func TestMouthKeepsSpeechUntilItIsHeard(t *testing.T) {
	t.Parallel()
	var tape tape
	m := room.NewMouth(&tape, tape.send)
	if err := m.Play(t.Context(), sine(440, 24000, 100*time.Millisecond), 24000); err != nil {
		t.Fatalf("play: %v", err)
	}
	for slot := range int64(20) {
		m.Step(slot)
	}
	if diff := cmp.Diff(map[string]int{"silent": 20}, tape.counted()); diff != "" || m.Played() != 0 {
		t.Fatalf("before anyone listens, %v played (-want +got):\n%s", m.Played(), diff)
	}
	m.Listened()
	for slot := range int64(100) {
		m.Step(20 + slot)
	}
	want := map[string]int{"silent": 20 + 4, "speech": 5, "hush": 10}
	if diff := cmp.Diff(want, tape.counted()); diff != "" || m.Played() != 100*time.Millisecond {
		t.Fatalf("after that, %v played (-want +got):\n%s", m.Played(), diff)
	}
	if diff := cmp.Diff([]int64{54, 74, 94, 114}, tape.slots[35:]); diff != "" {
		t.Fatalf("slots of an idle mouth (-want +got):\n%s", diff)
	}
}

// talking runs a pacer and lets test talk; it ends the pacer afterwards.
func talking(t *testing.T, test func(ctx context.Context, m room.Mouth, tape *tape)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		tape := &tape{}
		m := room.NewMouth(tape, tape.send)
		m.Listened()
		go m.Pace(ctx)
		synctest.Wait()
		test(ctx, m, tape)
		stop()
		synctest.Wait()
	})
}

func TestMouthBlocksWhile200msWait(t *testing.T) {
	t.Parallel()
	talking(t, func(ctx context.Context, m room.Mouth, tape *tape) {
		begin := time.Now()
		if err := m.Play(ctx, sine(440, 24000, time.Second), 24000); err != nil {
			t.Fatalf("play: %v", err)
		}
		// slots at 20, 40 ... 800 ms let 40 frames go; the last 200 ms wait
		if got := time.Since(begin); got != 800*time.Millisecond {
			t.Fatalf("a second was taken after %v, want 800ms", got)
		}
		time.Sleep(200*time.Millisecond + time.Millisecond)
		if got := m.Played(); got != time.Second {
			t.Fatalf("played %v after 1001ms", got)
		}
	})
}

// TestMouthRefillsByTheHalf: a play that waits goes on when half of what waits has left.
func TestMouthRefillsByTheHalf(t *testing.T) {
	t.Parallel()
	talking(t, func(ctx context.Context, m room.Mouth, tape *tape) {
		begin := time.Now()
		if err := m.Play(ctx, sine(440, 24000, 200*time.Millisecond), 24000); err != nil {
			t.Fatalf("play: %v", err)
		}
		if err := m.Play(ctx, sine(440, 24000, 20*time.Millisecond), 24000); err != nil {
			t.Fatalf("play: %v", err)
		}
		if got := time.Since(begin); got != 100*time.Millisecond {
			t.Fatalf("a frame behind 200ms was taken after %v, want 100ms", got)
		}
		time.Sleep(200 * time.Millisecond)
		synctest.Wait()
		if diff := cmp.Diff(11, tape.counted()["speech"]); diff != "" {
			t.Fatalf("frames of speech without a gap (-want +got):\n%s", diff)
		}
	})
}

func TestMouthCutEndsAPlayThatWaits(t *testing.T) {
	t.Parallel()
	talking(t, func(ctx context.Context, m room.Mouth, tape *tape) {
		begin, done := time.Now(), make(chan error, 1)
		go func() { done <- m.Play(ctx, sine(440, 22050, time.Minute), 22050) }()
		time.Sleep(510 * time.Millisecond)
		m.Cut()
		if err := <-done; err != nil {
			t.Fatalf("play that was cut: %v", err)
		}
		if got := time.Since(begin); got != 510*time.Millisecond {
			t.Fatalf("play returned after %v", got)
		}
		if got := m.Played(); got != 500*time.Millisecond {
			t.Fatalf("played %v of it, want 500ms", got)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if diff := cmp.Diff(map[string]int{"hush": 11, "silent": 2, "speech": 25}, tape.counted()); diff != "" {
			t.Fatalf("sent (-want +got):\n%s", diff)
		}
		if err := m.Play(ctx, sine(440, 16000, 50*time.Millisecond), 16000); err != nil {
			t.Fatalf("play after the cut: %v", err)
		}
		time.Sleep(100 * time.Millisecond)
		if got := m.Played(); got != 550*time.Millisecond {
			t.Fatalf("played %v in all, want 550ms", got)
		}
	})
}

func TestMouthPlayEndsWithItsContextAndTheRoom(t *testing.T) {
	t.Parallel()
	talking(t, func(ctx context.Context, m room.Mouth, _ *tape) {
		cut := errors.New("cut in")
		short, cancel := context.WithTimeoutCause(ctx, 100*time.Millisecond, cut)
		defer cancel()
		if err := m.Play(short, sine(440, 24000, time.Minute), 24000); !errors.Is(err, cut) {
			t.Fatalf("play whose context ended: %v", err)
		}
		done := make(chan error, 1)
		go func() { done <- m.Play(ctx, sine(440, 24000, time.Minute), 24000) }()
		time.Sleep(time.Second)
		m.Close()
		if err := <-done; !errors.Is(err, room.ErrLeft) {
			t.Fatalf("play in a room that was left: %v", err)
		}
		if err := m.Play(ctx, nil, 24000); err != nil {
			t.Fatalf("playing nothing: %v", err)
		}
	})
}

func TestMouthRefusesARate(t *testing.T) {
	t.Parallel()
	var tape tape
	if err := room.NewMouth(&tape, tape.send).Play(t.Context(), []int16{1}, 3); err == nil {
		t.Fatal("3 Hz is taken")
	}
}

func TestMouthCutEndsEveryPlayThatWaits(t *testing.T) {
	t.Parallel()
	talking(t, func(ctx context.Context, m room.Mouth, _ *tape) {
		done := make(chan error, 3)
		for range cap(done) {
			go func() { done <- m.Play(ctx, sine(440, 24000, time.Minute), 24000) }()
		}
		time.Sleep(time.Second)
		begin := time.Now()
		m.Cut()
		for range cap(done) {
			if err := <-done; err != nil || time.Since(begin) != 0 {
				t.Fatalf("play that was cut, %v after the cut: %v", time.Since(begin), err)
			}
		}
	})
}

// mute is an encoder and a track without a codec: what is left is ours.
type mute struct{}

func (mute) Protect(bool) {}

func (mute) Encode([]int16, []byte) (int, error) { return 80, nil }
func (mute) send([]byte, int64) error            { return nil }

// speaking is the way of a frame from Play to the track.
func speaking(t testing.TB) func() {
	m := room.NewMouth(mute{}, mute{}.send)
	m.Listened()
	speech, slot := sine(440, 24000, audio.Frame), int64(0)
	return func() {
		if err := m.Play(t.Context(), speech, 24000); err != nil {
			t.Fatalf("play: %v", err)
		}
		m.Step(slot)
		slot++
	}
}

func TestMouthAllocatesNothing(t *testing.T) { // AllocsPerRun does not go with t.Parallel
	step := speaking(t)
	for range 100 {
		step()
	}
	if n := testing.AllocsPerRun(500, step); n > 0 {
		t.Fatalf("a frame allocates %v times", n)
	}
}

func BenchmarkMouth(b *testing.B) {
	step := speaking(b)
	b.ReportAllocs()
	for b.Loop() {
		step()
	}
}

func TestMouthCountsFramesThatLeaveLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var tape tape
		m := room.NewMouth(&tape, tape.send) // nobody listens: each slot sends silence
		begin := time.Now()
		for _, frame := range []struct {
			slot int64
			at   time.Duration
		}{
			{0, 0}, {1, 20 * time.Millisecond}, {2, 50 * time.Millisecond}, {3, 71 * time.Millisecond}, {4, 80 * time.Millisecond},
			{10, 215 * time.Millisecond}, // after a stall the pacer leaves 5, 6, 7, 8 and 9 out
		} {
			time.Sleep(time.Until(begin.Add(frame.at)))
			m.Step(frame.slot)
		}
		// 2 left 10 ms late, which is not more; 3 left 11 ms late, and 10 left 15
		if sent, late := m.Sent(); sent != 6 || late != 7 {
			t.Fatalf("%d sent, %d late; want 6 and 7", sent, late)
		}
	})
}

func TestMouthThatRestedIsPunctual(t *testing.T) {
	t.Parallel()
	talking(t, func(ctx context.Context, m room.Mouth, tape *tape) {
		time.Sleep(time.Second + 7*time.Millisecond) // ten of hush, then one packet each 400 ms
		if err := m.Play(ctx, sine(440, 24000, 100*time.Millisecond), 24000); err != nil {
			t.Fatalf("play: %v", err)
		}
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		want := []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 29, 49, 51, 52, 53, 54, 55}
		if diff := cmp.Diff(want, tape.slots); diff != "" {
			t.Fatalf("slots (-want +got):\n%s", diff)
		}
		if _, late := m.Sent(); late != 0 {
			t.Fatalf("%d frames are late", late)
		}
	})
}

func TestMouthCountsWhatLeavesLateAfterARest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var tape tape
		m := room.NewMouth(&tape, tape.send)
		m.Listened()
		for slot := range int64(12) { // ten of hush, then it rests
			m.Step(slot)
			time.Sleep(audio.Frame)
		}
		if err := m.Play(t.Context(), sine(440, 24000, audio.Frame), 24000); err != nil { // at the time of slot 12
			t.Fatalf("play: %v", err)
		}
		time.Sleep(5 * audio.Frame)
		m.Step(17)
		if sent, late := m.Sent(); sent != 11 || late != 4 { // 10 ms after it was given, it was due in 13
			t.Fatalf("%d sent, %d late; want 11 and 4", sent, late)
		}
	})
}
