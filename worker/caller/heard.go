package caller

import (
	"context"
	"fmt"
	"sync"
	"time"

	"headstart/worker/room/audio"
	"headstart/worker/room/line"
)

// look is how often a wait looks at what was heard: a frame.
const look = audio.Frame

// Sound is a stretch of what the caller heard: what one packet held.
type Sound struct {
	At  time.Time // when it came in
	PCM []int16   // 16 kHz mono
	RMS float64
}

// memory keeps what was heard.
type memory struct {
	noise float64
	keep  time.Duration

	lock   sync.Mutex // guards what follows
	sounds []Sound
	length time.Duration // of sounds
	loud   time.Time     // when the last above the noise came in
}

func newMemory(noise float64, keep time.Duration) *memory { return &memory{noise: noise, keep: keep} }

func (m *memory) add(at time.Time, pcm []int16) {
	s := Sound{At: at, PCM: pcm, RMS: audio.RMS(pcm)}
	m.lock.Lock()
	defer m.lock.Unlock()
	m.sounds = append(m.sounds, s)
	m.length += audio.Duration(int64(len(pcm)), audio.HeardRate)
	if s.RMS >= m.noise {
		m.loud = at
	}
	for m.length > m.keep && len(m.sounds) > 1 {
		m.length -= audio.Duration(int64(len(m.sounds[0].PCM)), audio.HeardRate)
		m.sounds[0].PCM = nil
		m.sounds = m.sounds[1:]
	}
}

// Heard returns what came in from one time to another, in order. A zero time is
// no bound. What is older than Config.Keep is forgotten.
func (c *Caller) Heard(from, to time.Time) []Sound {
	c.memory.lock.Lock()
	defer c.memory.lock.Unlock()
	var found []Sound
	for _, s := range c.memory.sounds {
		if !s.At.Before(from) && (to.IsZero() || s.At.Before(to)) {
			found = append(found, s)
		}
	}
	return found
}

// PCM joins sounds to 16 kHz mono audio; pauses in which nothing was sent are
// not in it.
func PCM(sounds []Sound) []int16 {
	var pcm []int16
	for _, s := range sounds {
		pcm = append(pcm, s.PCM...)
	}
	return pcm
}

// FirstSoundAfter is when the first sound above the noise came in after a
// time; false when there was none yet.
func (c *Caller) FirstSoundAfter(after time.Time) (time.Time, bool) {
	c.memory.lock.Lock()
	defer c.memory.lock.Unlock()
	for _, s := range c.memory.sounds {
		if s.At.After(after) && s.RMS >= c.memory.noise {
			return s.At, true
		}
	}
	return time.Time{}, false
}

// LastSound is when the last sound above the noise came in; zero when there was none.
func (c *Caller) LastSound() time.Time {
	c.memory.lock.Lock()
	defer c.memory.lock.Unlock()
	return c.memory.loud
}

// WaitSound waits for the first sound above the noise after a time, and tells
// when it came in.
func (c *Caller) WaitSound(ctx context.Context, after time.Time) (time.Time, error) {
	var at time.Time
	err := c.wait(ctx, "wait for a sound", func() (ok bool) {
		at, ok = c.FirstSoundAfter(after)
		return ok
	})
	return at, err
}

// WaitSilent waits until nothing above the noise has come in for so long. The
// time before the call was made counts for nothing.
func (c *Caller) WaitSilent(ctx context.Context, silence time.Duration) error {
	return c.wait(ctx, "wait for silence", func() bool {
		since := c.LastSound()
		if since.IsZero() {
			since = c.dialed
		}
		return time.Since(since) >= silence
	})
}

// wait looks each 20 ms whether something is so.
func (c *Caller) wait(ctx context.Context, what string, so func() bool) error {
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	for !so() {
		select {
		case <-ticker.C:
		case <-c.left:
			return fmt.Errorf("%s: %w", what, line.ErrLeft)
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, context.Cause(ctx))
		}
	}
	return nil
}
