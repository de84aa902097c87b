package caller

import (
	"context"
	"fmt"
	"sync"
	"time"

	"headstart/worker/room/audio"
	"headstart/worker/room/line"
)

// utterance is one Say.
type utterance struct {
	rest    []int16 // what is not in the queue yet
	rate    int
	started time.Time
	done    chan struct{} // closed when its last frame has left
}

// voice is what the caller says. Unlike an agent it never stops sending:
// between utterances it sends the noise of a quiet line, as telephones do.
type voice struct {
	encoder audio.Encoder
	send    func(packet []byte, slot int64) error
	turn    chan struct{} // one place: who has it may say something

	lock    sync.Mutex // guards what follows, and the encoder
	queue   audio.Queue
	current *utterance
	seed    uint32
	frame   [audio.SaidFrame]int16
	packet  [audio.MaxPacket]byte
}

func newVoice(encoder audio.Encoder, send func([]byte, int64) error) *voice {
	return &voice{encoder: encoder, send: send, turn: make(chan struct{}, 1), seed: 1}
}

// Say says mono audio of any rate from 4 to 192 kHz, at its own pace, and
// returns when its last frame has left: when the first did, too. One Say waits
// for the other. When ctx ends the rest is not said.
func (c *Caller) Say(ctx context.Context, pcm []int16, rate int) (time.Time, error) {
	select {
	case c.voice.turn <- struct{}{}:
	case <-c.left:
		return time.Time{}, fmt.Errorf("say: %w", line.ErrLeft)
	case <-ctx.Done():
		return time.Time{}, fmt.Errorf("say: %w", context.Cause(ctx))
	}
	defer func() { <-c.voice.turn }()
	u, err := c.voice.begin(pcm, rate)
	if err != nil {
		return time.Time{}, err
	}
	select {
	case <-u.done:
		return u.started, nil
	case <-c.left:
		err = line.ErrLeft
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	return c.voice.stop(u), fmt.Errorf("say: %w", err)
}

func (v *voice) begin(pcm []int16, rate int) (*utterance, error) {
	v.lock.Lock()
	defer v.lock.Unlock()
	u := &utterance{rest: pcm, rate: rate, done: make(chan struct{})}
	if err := v.queue.Put(nil, rate); err != nil { // before anything is promised
		return nil, fmt.Errorf("say: %w", err)
	}
	if len(pcm) == 0 {
		close(u.done)
		return u, nil
	}
	v.current = u
	return u, nil
}

// stop cuts an utterance short and tells when it had begun.
func (v *voice) stop(u *utterance) time.Time {
	v.lock.Lock()
	defer v.lock.Unlock()
	v.queue.Cut()
	v.current = nil
	return u.started
}

// step lets the frame of a slot go. An error of the track means that it is
// closed, which Run hears of in another way.
func (v *voice) step(slot int64) {
	v.lock.Lock()
	defer v.lock.Unlock()
	v.feed()
	if n := v.queue.Next(v.frame[:]); n == 0 {
		v.hiss()
	}
	packet := line.Silent
	if n, err := v.encoder.Encode(v.frame[:], v.packet[:]); err == nil {
		packet = v.packet[:n]
	}
	_ = v.send(packet, slot)
	if v.current != nil && v.queue.Queued() == 0 && len(v.current.rest) == 0 {
		close(v.current.done)
		v.current = nil
	}
}

// feed resamples two frames ahead and no more: a long utterance must not hold
// up the frame that is due.
func (v *voice) feed() {
	u := v.current
	if u == nil {
		return
	}
	if u.started.IsZero() {
		u.started = time.Now()
	}
	for len(u.rest) > 0 && v.queue.Queued() < 2*audio.Frame {
		n := min(len(u.rest), u.rate/50)
		_ = v.queue.Put(u.rest[:n], u.rate) // begin has seen that the rate is good
		u.rest = u.rest[n:]
	}
}

// hiss fills the frame with noise of an RMS of about 4, from a fixed seed.
func (v *voice) hiss() {
	for i := range v.frame {
		v.seed = v.seed*1664525 + 1013904223 // Numerical Recipes' generator
		v.frame[i] = int16(v.seed>>28) - 8
	}
}
