package audio_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"headstart/worker/room/audio"
)

func put(t *testing.T, q *audio.Queue, pcm []int16, rate int) {
	t.Helper()
	if err := q.Put(pcm, rate); err != nil {
		t.Fatalf("put: %v", err)
	}
}

func TestQueuePlaysAllAndTellsHowMuch(t *testing.T) {
	t.Parallel()
	for _, rate := range []int{8000, 16000, 22050, 24000, 44100, 48000} {
		var q audio.Queue
		put(t, &q, sine(440, rate, rate/10), rate) // 100 ms
		frame := make([]int16, audio.SaidFrame)
		var said []int16
		for i := range 5 {
			want := time.Duration(i) * audio.Frame
			if got := q.Played(); got != want {
				t.Fatalf("%d Hz: played %v before frame %d, want %v", rate, got, i, want)
			}
			if n := q.Next(frame); n != audio.SaidFrame {
				t.Fatalf("%d Hz: frame %d holds %d samples", rate, i, n)
			}
			said = append(said, frame...)
		}
		if got := q.Played(); got != 100*time.Millisecond {
			t.Fatalf("%d Hz: played %v in the end", rate, got)
		}
		if n := q.Next(frame); n != 0 {
			t.Fatalf("%d Hz: %d samples after the end", rate, n)
		}
		if signal, noise := tone(said[480:len(said)-480], 440, audio.SaidRate); decibel(signal, noise) < 60 {
			t.Fatalf("%d Hz: tone is %.0f dB above the noise", rate, decibel(signal, noise))
		}
	}
}

func TestQueueCut(t *testing.T) {
	t.Parallel()
	var q audio.Queue
	put(t, &q, sine(440, 24000, 24000), 24000)
	frame := make([]int16, audio.SaidFrame)
	q.Next(frame)
	q.Next(frame)
	q.Cut()
	if got := q.Played(); got != 40*time.Millisecond || q.Queued() != 0 {
		t.Fatalf("after the cut %v played, %v queued", got, q.Queued())
	}
	if n := q.Next(frame); n != 0 || audio.RMS(frame) != 0 {
		t.Fatalf("%d samples after the cut", n)
	}
	put(t, &q, sine(440, 22050, 441), 22050)
	q.Next(frame)
	if got := q.Played(); got != 60*time.Millisecond {
		t.Fatalf("played %v with the next speech, want 60ms", got)
	}
}

func TestQueueLastFrameIsPadded(t *testing.T) {
	t.Parallel()
	var q audio.Queue
	put(t, &q, sine(440, 24000, 24*25), 24000) // 25 ms
	frame := make([]int16, audio.SaidFrame)
	if n := q.Next(frame); n != 960 {
		t.Fatalf("first frame holds %d", n)
	}
	if n := q.Next(frame); n != 240 {
		t.Fatalf("second frame holds %d", n)
	}
	if got := q.Played(); got != 25*time.Millisecond {
		t.Fatalf("played %v", got)
	}
}

func TestPaceKeepsAbsoluteTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		begin := time.Now()
		var at []time.Duration
		var slots []int64
		audio.Pace(ctx, func(slot int64) {
			at, slots = append(at, time.Since(begin)), append(slots, slot)
			switch slot {
			case 1:
				time.Sleep(50 * time.Millisecond) // late, caught up with
			case 5:
				time.Sleep(time.Second) // stalled, given up
			case 57:
				stop()
			}
		})
		ms := func(n ...int) (d []time.Duration) {
			for _, v := range n {
				d = append(d, time.Duration(v)*time.Millisecond)
			}
			return d
		}
		if diff := cmp.Diff(ms(0, 20, 70, 70, 80, 100, 1100, 1120, 1140), at); diff != "" {
			t.Fatalf("times (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]int64{0, 1, 2, 3, 4, 5, 55, 56, 57}, slots); diff != "" {
			t.Fatalf("slots (-want +got):\n%s", diff)
		}
	})
}

func TestPaceRestsUntilTheBell(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		begin, bell := time.Now(), make(chan struct{}, 1)
		ring := func(at time.Duration) { time.AfterFunc(at, func() { bell <- struct{}{} }) }
		ring(5 * time.Millisecond)   // between slots that come anyway
		ring(331 * time.Millisecond) // within a rest
		ring(800 * time.Millisecond) // on a slot
		at := map[int64]time.Duration{}
		audio.PaceResting(ctx, bell, func(slot int64) int64 {
			at[slot] = time.Since(begin)
			if slot == 60 {
				stop()
			}
			if slot < 2 {
				return 0
			}
			return 19
		})
		want := map[int64]time.Duration{}
		for _, slot := range []int64{0, 1, 2, 17, 37, 40, 60} {
			want[slot] = time.Duration(slot) * audio.Frame
		}
		if diff := cmp.Diff(want, at); diff != "" {
			t.Fatalf("slots and their times (-want +got):\n%s", diff)
		}
	})
}

func BenchmarkQueue(b *testing.B) {
	var q audio.Queue
	pcm, frame := sine(440, 24000, 480), make([]int16, audio.SaidFrame)
	if err := q.Put(pcm, 24000); err != nil {
		b.Fatalf("put: %v", err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := q.Put(pcm, 24000); err != nil {
			b.Fatalf("put: %v", err)
		}
		q.Next(frame)
	}
}
