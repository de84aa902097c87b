package room_test

import (
	"math"
	"testing"
	"time"

	"headstart/worker/caller"
	"headstart/worker/devserver/devservertest"
	"headstart/worker/room"
	"headstart/worker/room/audio"
)

// power is how much of pcm's RMS is at a frequency (Goertzel).
func power(pcm []int16, hertz float64) float64 {
	k := 2 * math.Cos(2*math.Pi*hertz/audio.HeardRate)
	var s1, s2 float64
	for _, v := range pcm {
		s1, s2 = float64(v)+k*s1-s2, s1
	}
	return math.Sqrt(2*(s1*s1+s2*s2-k*s1*s2)) / float64(len(pcm))
}

// expectTone fails unless pcm is a tone at half of full scale.
func expectTone(t *testing.T, who string, pcm []int16, hertz float64) {
	t.Helper()
	rms, at := audio.RMS(pcm), power(pcm, hertz)
	t.Logf("%s hears %d samples, RMS %.0f, at %.0f Hz %.0f", who, len(pcm), rms, hertz, at)
	if rms < 10000 || rms > 13000 || at < 0.9*rms {
		t.Fatalf("%s hears an RMS of %.0f, of which %.0f at %.0f Hz; want 11585", who, rms, at, hertz)
	}
}

// loudest cuts d out of the middle of what is loud.
func loudest(frames [][]int16, noise float64) []int16 {
	var pcm []int16
	for _, f := range frames {
		if audio.RMS(f) > noise {
			pcm = append(pcm, f...)
		}
	}
	return pcm[len(pcm)/10 : len(pcm)*9/10]
}

func TestHearsTheCaller(t *testing.T) {
	t.Parallel()
	server := devservertest.Start(t)
	a := join(t, server, room.Config{})
	c := dial(t, server, caller.Config{Kind: caller.Phone, Number: "+34600111222", Trunk: "+34910000000"})
	if err := c.Answered(within(t)); err != nil {
		t.Fatal(err)
	}
	said := make(chan error, 1)
	go func() {
		_, err := c.Say(within(t), sine(440, 24000, time.Second), 24000)
		said <- err
	}()
	var frames [][]int16
	var begin time.Time
	for quiet := 0; quiet < 25; {
		select {
		case f := <-a.Audio():
			if begin.IsZero() {
				begin = time.Now()
			}
			frames = append(frames, f)
			if len(f) != audio.HeardFrame {
				t.Fatalf("a frame of %d samples", len(f))
			}
			if quiet++; audio.RMS(f) > 1000 || len(frames) < 50 {
				quiet = 0
			}
		case <-time.After(patience):
			t.Fatal("no audio")
		}
	}
	elapsed, heard := time.Since(begin), time.Duration(len(frames))*audio.Frame
	t.Logf("%v of audio in %v, %+v", heard, elapsed, a.Counters())
	if err := <-said; err != nil {
		t.Fatal(err)
	}
	tone := loudest(frames, 1000)
	expectTone(t, "the agent", tone, 440)
	if d := audio.Duration(int64(len(tone)), audio.HeardRate); d < 600*time.Millisecond || d > time.Second {
		t.Fatalf("of a second the middle is %v", d)
	}
}

func TestIsHeardAndCutShort(t *testing.T) {
	t.Parallel()
	server := devservertest.Start(t)
	a := join(t, server, room.Config{})
	c := dial(t, server, caller.Config{})
	begin := time.Now()
	if err := a.Play(within(t), sine(440, 24000, 500*time.Millisecond), 24000); err != nil {
		t.Fatalf("play: %v", err)
	}
	at, err := c.WaitSound(within(t), begin)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("first sound %v after the call was made", at.Sub(c.Dialed()))
	if err := c.WaitSilent(within(t), 300*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if got := a.Played(); got != 500*time.Millisecond {
		t.Fatalf("played %v of 500ms", got)
	}
	var frames [][]int16
	for _, s := range c.Heard(begin, time.Time{}) {
		frames = append(frames, s.PCM)
	}
	expectTone(t, "the caller", loudest(frames, 1000), 440)
	if d := audio.Duration(int64(len(loudest(frames, 1000))), audio.HeardRate); d < 350*time.Millisecond {
		t.Fatalf("of 500ms the middle is %v: the head was lost", d)
	}

	begin = time.Now()
	played := make(chan error, 1)
	go func() { played <- a.Play(within(t), sine(880, 22050, 10*time.Second), 22050) }()
	if _, err := c.WaitSound(within(t), begin); err != nil {
		t.Fatal(err)
	}
	wait := time.After(500 * time.Millisecond)
	<-wait
	cut := time.Now()
	a.Cut()
	if err := <-played; err != nil {
		t.Fatalf("play that was cut: %v", err)
	}
	if err := c.WaitSilent(within(t), 400*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	sent := a.Played() - 500*time.Millisecond
	var heard time.Duration
	for _, sound := range c.Heard(begin, time.Time{}) {
		if sound.RMS > 1000 {
			heard += audio.Duration(int64(len(sound.PCM)), audio.HeardRate)
		}
	}
	t.Logf("cut after %v: %v sent, %v heard, sound ended %v after the cut", cut.Sub(begin), sent, heard, c.LastSound().Sub(cut))
	if heard > 5*time.Second { // of ten that were played
		t.Fatalf("%v were heard although it was cut", heard)
	}
	if off := sent - heard; off < -200*time.Millisecond || off > 200*time.Millisecond || sent == 0 {
		t.Fatalf("played says %v, %v were heard", sent, heard)
	}
}
