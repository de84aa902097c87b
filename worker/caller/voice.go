package caller

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"headstart/worker/room/audio"
	"headstart/worker/room/line"
)

// utterance is one Say.
type utterance struct {
	rest    []int16 // what is not in the queue yet
	rate    int
	packets [][]byte // or what is said as it is
	started time.Time
	done    chan struct{} // closed when its last frame has left
}

// voice is what the caller says. Unlike an agent it never stops sending:
// between utterances it sends the noise of a quiet line, as telephones do.
type voice struct {
	encoder audio.Encoder
	hiss    [][]byte // the noise of a quiet line, encoded beforehand
	send    func(packet []byte, slot int64) error
	turn    chan struct{} // one place: who has it may say something

	lock    sync.Mutex // guards what follows, and the encoder
	queue   audio.Queue
	current *utterance
	seed    uint32
	quiet   int // frames since the last that was said
	frame   [audio.SaidFrame]int16
	packet  [audio.MaxPacket]byte
}

// settled is after how many frames of noise it goes on from what was encoded
// beforehand: no decoder hears the seam by then.
const settled = 10

// hisses is a second of a quiet line. It is the same for every caller, and
// callers who say nothing cost next to nothing.
var hisses = sync.OnceValues(func() ([][]byte, error) {
	v := &voice{seed: 1}
	pcm := make([]int16, 0, audio.SaidRate)
	for len(pcm) < audio.SaidRate {
		v.noise()
		pcm = append(pcm, v.frame[:]...)
	}
	return Encode(pcm, audio.SaidRate)
})

func newVoice(send func([]byte, int64) error) (*voice, error) {
	encoder, err := audio.NewEncoder()
	if err != nil {
		return nil, err
	}
	hiss, err := hisses()
	if err != nil {
		return nil, err
	}
	return &voice{encoder: encoder, hiss: hiss, send: send, turn: make(chan struct{}, 1), seed: 1}, nil
}

// Encode makes the packets that SayPackets says, of 20 ms each: mono audio of any
// rate from 4 to 192 kHz, silence after its end.
func Encode(pcm []int16, rate int) ([][]byte, error) {
	encoder, err := audio.NewEncoder()
	if err != nil {
		return nil, err
	}
	var queue audio.Queue
	if err := queue.Put(pcm, rate); err != nil {
		return nil, fmt.Errorf("encode speech: %w", err)
	}
	var packets [][]byte
	frame, packet := make([]int16, audio.SaidFrame), make([]byte, audio.MaxPacket)
	for queue.Next(frame) > 0 {
		n, err := encoder.Encode(frame, packet)
		if err != nil {
			return nil, fmt.Errorf("encode speech: %w", err)
		}
		packets = append(packets, slices.Clone(packet[:n]))
	}
	return packets, nil
}

// Say says mono audio of any rate from 4 to 192 kHz, at its own pace, and
// returns when its last frame has left: when the first did, too. One Say waits
// for the other. When ctx ends the rest is not said.
func (c *Caller) Say(ctx context.Context, pcm []int16, rate int) (time.Time, error) {
	return c.say(ctx, &utterance{rest: pcm, rate: rate, done: make(chan struct{})})
}

// SayPackets says Opus packets of 20 ms that were encoded beforehand, as Say does:
// many callers can say the same at the cost of one.
func (c *Caller) SayPackets(ctx context.Context, packets [][]byte) (time.Time, error) {
	return c.say(ctx, &utterance{packets: packets, rate: audio.SaidRate, done: make(chan struct{})})
}

func (c *Caller) say(ctx context.Context, u *utterance) (time.Time, error) {
	select {
	case c.voice.turn <- struct{}{}:
	case <-c.left:
		return time.Time{}, fmt.Errorf("say: %w", line.ErrLeft)
	case <-ctx.Done():
		return time.Time{}, fmt.Errorf("say: %w", context.Cause(ctx))
	}
	defer func() { <-c.voice.turn }()
	if err := c.voice.begin(u); err != nil {
		return time.Time{}, err
	}
	var err error
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

func (v *voice) begin(u *utterance) error {
	v.lock.Lock()
	defer v.lock.Unlock()
	if err := v.queue.Put(nil, u.rate); err != nil { // before anything is promised
		return fmt.Errorf("say: %w", err)
	}
	if len(u.rest)+len(u.packets) == 0 {
		close(u.done)
		return nil
	}
	v.current = u
	return nil
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
	_ = v.send(v.next(slot), slot)
	if u := v.current; u != nil && v.queue.Queued() == 0 && len(u.rest)+len(u.packets) == 0 {
		close(u.done)
		v.current = nil
	}
}

// next is the packet of a slot.
func (v *voice) next(slot int64) []byte {
	u := v.current
	if u != nil && u.started.IsZero() {
		u.started = time.Now()
	}
	if u != nil && len(u.packets) > 0 {
		packet := u.packets[0]
		u.packets, v.quiet = u.packets[1:], settled // the next noise is encoded beforehand, too
		return packet
	}
	v.feed(u)
	if v.queue.Next(v.frame[:]) > 0 {
		v.quiet = 0
		return v.encode()
	}
	if v.quiet >= settled {
		return v.hiss[slot%int64(len(v.hiss))]
	}
	v.quiet++
	v.noise()
	return v.encode()
}

func (v *voice) encode() []byte {
	n, err := v.encoder.Encode(v.frame[:], v.packet[:])
	if err != nil {
		return line.Silent
	}
	return v.packet[:n]
}

// feed resamples two frames ahead and no more: a long utterance must not hold
// up the frame that is due.
func (v *voice) feed(u *utterance) {
	for u != nil && len(u.rest) > 0 && v.queue.Queued() < 2*audio.Frame {
		n := min(len(u.rest), u.rate/50)
		_ = v.queue.Put(u.rest[:n], u.rate) // begin has seen that the rate is good
		u.rest = u.rest[n:]
	}
}

// noise fills the frame with noise of an RMS of about 4, from a fixed seed.
func (v *voice) noise() {
	for i := range v.frame {
		v.seed = v.seed*1664525 + 1013904223 // Numerical Recipes' generator
		v.frame[i] = int16(v.seed>>28) - 8
	}
}
