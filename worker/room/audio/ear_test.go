package audio_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"headstart/worker/room/audio"
)

// listener steps an ear through 20 ms slots and keeps what it gives.
type listener struct {
	ear    *audio.Ear
	frames [][]int16
}

func newListener(t testing.TB) *listener {
	l := &listener{}
	l.ear = audio.NewEar(func(f []int16) { l.frames = append(l.frames, f) })
	l.ear.Track(newDecoder(t))
	return l
}

func (l *listener) pcm() []int16 {
	var all []int16
	for _, f := range l.frames {
		all = append(all, f...)
	}
	return all
}

// send hears packet i of a stream, on time unless late.
func (l *listener) send(stream [][]byte, i int, at time.Duration) {
	l.ear.Packet(at, uint16(65500+i), uint32(0xfffff000+i*audio.SaidFrame), stream[i])
}

func slot(i int) time.Duration { return time.Duration(i) * audio.Frame }

func TestEarPassesWhatIsWhole(t *testing.T) {
	t.Parallel()
	l, stream := newListener(t), packets(t, 440, 100)
	for i := range stream {
		l.send(stream, i, slot(i))
		l.ear.Tick(slot(i))
	}
	if diff := cmp.Diff(audio.Heard{Frames: 100}, l.ear.Heard()); diff != "" {
		t.Fatalf("counters (-want +got):\n%s", diff)
	}
	if signal, noise := tone(middle(l.pcm()), 440, audio.HeardRate); decibel(signal, noise) < 15 {
		t.Fatalf("tone is %.1f dB above the noise", decibel(signal, noise))
	}
}

func TestEarConcealsLoss(t *testing.T) {
	t.Parallel()
	l, stream := newListener(t), packets(t, 440, 100)
	for i := range stream {
		if i == 50 || i == 51 {
			continue
		}
		l.send(stream, i, slot(i))
		l.ear.Tick(slot(i))
	}
	want := audio.Heard{Frames: 100, Lost: 2, Concealed: 2}
	if diff := cmp.Diff(want, l.ear.Heard()); diff != "" {
		t.Fatalf("counters (-want +got):\n%s", diff)
	}
	for i, f := range l.frames[48:54] {
		if audio.RMS(f) < 2000 {
			t.Fatalf("frame %d has RMS %.0f: the loss was not concealed", 48+i, audio.RMS(f))
		}
	}
}

func TestEarFillsWithSilenceAsTimePasses(t *testing.T) {
	t.Parallel()
	l, stream := newListener(t), packets(t, 440, 20)
	for i := range 100 {
		if i < 20 {
			l.send(stream, i, slot(i))
		}
		l.ear.Tick(slot(i))
		lag := slot(i) - audio.Duration(int64(len(l.frames))*audio.HeardFrame, audio.HeardRate)
		if lag < -audio.Frame || lag > 60*time.Millisecond {
			t.Fatalf("at %v the samples lag by %v", slot(i), lag)
		}
	}
}

func TestEarPauseThenTheClockIsExact(t *testing.T) {
	t.Parallel()
	l, stream := newListener(t), packets(t, 440, 100)
	seq := uint16(7)
	for i := range 100 {
		if i < 20 || i >= 70 {
			l.ear.Packet(slot(i), seq, uint32(i*audio.SaidFrame), stream[i])
			seq++
		}
		l.ear.Tick(slot(i))
	}
	if diff := cmp.Diff(audio.Heard{Frames: 100, Silence: 50}, l.ear.Heard()); diff != "" {
		t.Fatalf("counters (-want +got):\n%s", diff)
	}
	for i := 22; i < 70; i++ {
		if audio.RMS(l.frames[i]) > 0 {
			t.Fatalf("frame %d of the pause sounds", i)
		}
	}
}

func TestEarHearsALateBurstWholeAndComesBack(t *testing.T) {
	t.Parallel()
	l := newListener(t)
	speech, hush := packets(t, 440, 40), packets(t, 0, 100)
	for i := range 100 {
		at := slot(i)
		switch {
		case i < 20:
			l.send(speech, i, at)
		case i == 30: // 200 ms late, all at once
			for late := 20; late <= 30; late++ {
				l.send(speech, late, at)
			}
		case i > 30 && i < 40:
			l.send(speech, i, at)
		case i >= 40:
			l.send(hush, i, at)
		}
		l.ear.Tick(at)
	}
	loud := 0
	for _, f := range l.frames {
		if audio.RMS(f) > 5000 {
			loud++
		}
	}
	if loud < 39 || loud > 41 {
		t.Fatalf("%d frames of speech were heard, 40 were sent", loud)
	}
	if n := len(l.frames); n < 97 || n > 103 {
		t.Fatalf("%d frames in 2 s: the ear did not come back to the clock", n)
	}
	if h := l.ear.Heard(); h.Trimmed == 0 || h.Lost != 0 || h.Late != 0 {
		t.Fatalf("counters %+v", h)
	}
}

func TestEarTracksFollowEachOther(t *testing.T) {
	t.Parallel()
	l, stream := newListener(t), packets(t, 440, 20)
	for i := range 10 {
		l.send(stream, i, slot(i))
	}
	l.ear.Track(newDecoder(t))
	for i := range 10 { // another sequence, another clock
		l.ear.Packet(slot(10+i), uint16(3+i), uint32(99+i*audio.SaidFrame), stream[i])
	}
	if diff := cmp.Diff(audio.Heard{Frames: 20}, l.ear.Heard()); diff != "" {
		t.Fatalf("counters (-want +got):\n%s", diff)
	}
}

func TestEarIgnoresRepeatsAndPadding(t *testing.T) {
	t.Parallel()
	l, stream := newListener(t), packets(t, 440, 4)
	l.send(stream, 0, 0)
	l.send(stream, 0, 0)
	l.ear.Packet(0, 65501, 0, nil)
	l.ear.Packet(slot(1), 65502, 0xfffff000+audio.SaidFrame, stream[1])
	if diff := cmp.Diff(audio.Heard{Frames: 2, Late: 1}, l.ear.Heard()); diff != "" {
		t.Fatalf("counters (-want +got):\n%s", diff)
	}
}

func FuzzEar(f *testing.F) {
	f.Add([]byte{0, 1, 3, 255, 255, 1, 2, 0xf8, 0xff, 0xfe})
	f.Add([]byte{9, 9, 0, 0, 200, 1, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		l := newListener(t)
		var at time.Duration
		for len(data) > 2 {
			at += time.Duration(data[0]) * time.Millisecond
			n := min(int(data[2])%32, len(data)-3)
			l.ear.Packet(at, uint16(data[1]), uint32(data[1])*960, data[3:3+n])
			l.ear.Tick(at)
			data = data[3+n:]
		}
		if limit := int(at/audio.Frame) + 60; len(l.frames) > limit {
			t.Fatalf("%d frames in %v", len(l.frames), at)
		}
	})
}

// TestEarAsksForTimeWhenItMatters: before the first packet never, between even packets
// when sound would be missing, and while it is missing each two frames.
func TestEarAsksForTimeWhenItMatters(t *testing.T) {
	t.Parallel()
	l, stream := newListener(t), packets(t, 440, 5)
	if got := l.ear.Again(time.Second); got != audio.Idle {
		t.Fatalf("before the first packet: again in %v", got)
	}
	for i := range 3 {
		l.send(stream, i, slot(i))
		if got, want := l.ear.Again(slot(i)), 81*time.Millisecond; got != want { // its own 20, 60 that it may lag, and 1
			t.Fatalf("after packet %d: again in %v, want %v", i, got, want)
		}
	}
	l.send(stream, 4, slot(4)) // the fourth is missing: one frame is waited for it
	if got := l.ear.Again(slot(4)); got != audio.Frame {
		t.Fatalf("while a packet is missing: again in %v", got)
	}
	l.ear.Tick(slot(5))
	if frames := l.ear.Heard().Frames; frames != 5 {
		t.Fatalf("%d frames when it was given up", frames)
	}
	late := slot(5) + 61*time.Millisecond
	if got := l.ear.Again(slot(5)); got != 61*time.Millisecond {
		t.Fatalf("after the gap: again in %v", got)
	}
	l.ear.Tick(late)
	if h := l.ear.Heard(); h.Silence != 2 || l.ear.Again(late) != 2*audio.Frame {
		t.Fatalf("%d frames of silence, again in %v", h.Silence, l.ear.Again(late))
	}
	if got := l.ear.Again(late + 2*audio.Frame); got != 5*time.Millisecond {
		t.Fatalf("behind, in a burst: again in %v", got)
	}
}
