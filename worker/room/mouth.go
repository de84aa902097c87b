package room

import (
	"context"
	"sync"
	"time"

	"headstart/worker/room/audio"
	"headstart/worker/room/line"
)

const (
	// ahead is how much speech may wait to leave: what a caller who cuts in
	// would otherwise hear is only what the network holds.
	ahead = 200 * time.Millisecond
	// refill is how little of it is left when a play that waits goes on: it then
	// gives several frames at once, and is not woken for each.
	refill = ahead / 2
	// hush is how many frames of silence follow speech, so that the last word
	// ends in silence at the listener, not in what a decoder makes up.
	hush = 10
	// comfort is how many frames apart single silent packets keep an idle track
	// alive, as an Opus encoder does that saves bandwidth: 400 ms.
	comfort = 20
	// tardy is how late after its time a frame leaves to be counted as late: half
	// of the frame that a listener's jitter buffer has to spare.
	tardy = audio.Frame / 2
)

// mouth is what the agent says. Speech waits in the queue; step, which the
// pacer and the tests call each 20 ms, lets one frame go. While nobody listens
// it sends silence: the server announces a track only when it has a packet.
// An idle mouth sends one silent packet each 400 ms, and lets the pacer rest between.
type mouth struct {
	encoder audio.Encoder
	send    func(packet []byte, slot int64) error
	count   *counts
	space   chan struct{} // one place: rings for a play that waits when half has left, or was cut
	bell    chan struct{} // one place: rings for the pacer that rests when there is speech

	lock   sync.Mutex // guards what follows, and the encoder
	queue  audio.Queue
	cuts   int  // how many times it was cut
	heard  bool // somebody listens
	shut   bool
	tail   int       // frames of silence still to send
	begin  time.Time // of slot 0
	sent   int64     // the slot of the last packet
	due    int64     // the slot that is to be next
	rests  bool      // until then there is nothing to do
	frame  [audio.SaidFrame]int16
	packet [audio.MaxPacket]byte
}

func newMouth(encoder audio.Encoder, send func([]byte, int64) error, count *counts) *mouth {
	return &mouth{encoder: encoder, send: send, count: count, space: make(chan struct{}, 1), bell: make(chan struct{}, 1)}
}

// play queues speech piece by piece.
func (m *mouth) play(ctx context.Context, pcm []int16, rate int) error {
	m.lock.Lock()
	cuts := m.cuts
	m.lock.Unlock()
	for len(pcm) > 0 {
		taken, err := m.put(pcm, rate, cuts)
		if err != nil {
			return err
		}
		pcm = pcm[taken:]
		if taken > 0 {
			continue
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-m.space:
		}
	}
	return nil
}

// put takes what there is room for, and tells how much: 0 is to wait. After a cut
// it takes everything and keeps nothing. Whoever else waits hears of the end, too.
func (m *mouth) put(pcm []int16, rate, cuts int) (int, error) {
	m.lock.Lock()
	defer m.lock.Unlock()
	switch {
	case m.shut:
		m.wake()
		return 0, ErrLeft
	case m.cuts != cuts:
		m.wake()
		return len(pcm), nil
	case m.queue.Queued() >= ahead:
		return 0, nil
	}
	n := min(len(pcm), max(1, int((ahead-m.queue.Queued())*time.Duration(rate)/time.Second)))
	m.rouse()
	return n, m.queue.Put(pcm[:n], rate)
}

// rouse ends a rest of the pacer. Speech that comes less than 10 ms before a slot
// is not late in the next.
func (m *mouth) rouse() {
	if !m.rests {
		return
	}
	m.rests = false
	m.due = min(m.due, int64((time.Since(m.begin)+tardy+audio.Frame-1)/audio.Frame))
	select {
	case m.bell <- struct{}{}:
	default:
	}
}

func (m *mouth) cut() {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.cuts++
	m.queue.Cut()
	m.wake()
}

func (m *mouth) played() time.Duration {
	m.lock.Lock()
	defer m.lock.Unlock()
	return m.queue.Played()
}

// listened says that somebody hears the track from now on.
func (m *mouth) listened() {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.heard, m.tail = true, hush
}

// protect says whether what leaves carries copies against loss.
func (m *mouth) protect(on bool) {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.encoder.Protect(on)
}

func (m *mouth) close() {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.shut = true
	m.wake()
}

// wake lets a play that waits look again.
func (m *mouth) wake() {
	select {
	case m.space <- struct{}{}:
	default:
	}
}

// step lets the frame of a slot go, and tells how many of the next slots need not come.
func (m *mouth) step(slot int64) (rest int64) {
	m.lock.Lock()
	defer m.lock.Unlock()
	skipped := m.mark(slot)
	packet := m.next(slot)
	if packet != nil {
		m.let(packet, slot, skipped)
	}
	m.rests = m.heard && m.tail == 0 && m.queue.Queued() == 0
	if m.rests {
		m.due = max(m.due, m.sent+comfort)
	}
	return m.due - slot - 1
}

// let sends a packet and counts it.
func (m *mouth) let(packet []byte, slot, late int64) {
	m.sent = slot
	if err := m.send(packet, slot); err != nil {
		m.count.unsent.Add(1)
		return
	}
	m.count.sent.Add(1)
	if time.Since(m.begin)-time.Duration(slot)*audio.Frame > tardy {
		late++
	}
	m.count.tardy.Add(late)
}

// mark notes a slot and tells how many the pacer left out that were due before it.
func (m *mouth) mark(slot int64) (skipped int64) {
	if m.begin.IsZero() {
		m.begin, m.due = time.Now().Add(-time.Duration(slot)*audio.Frame), slot
	}
	skipped = max(0, slot-m.due)
	m.due = slot + 1
	return skipped
}

// next is the packet of the next slot, nil when nothing is to be sent.
func (m *mouth) next(slot int64) []byte {
	if !m.heard {
		return line.Silent
	}
	if m.queue.Queued() > 0 {
		m.queue.Next(m.frame[:])
		m.tail = hush
		m.count.said.Add(1)
		if m.queue.Queued() <= refill {
			m.wake()
		}
		return m.encode()
	}
	m.queue.Next(m.frame[:]) // the end of the filter, if any: less than a frame
	switch {
	case m.tail > 0:
		m.tail--
		return m.encode()
	case slot-m.sent >= comfort:
		return line.Silent
	}
	return nil
}

func (m *mouth) encode() []byte {
	n, err := m.encoder.Encode(m.frame[:], m.packet[:])
	if err != nil {
		m.count.unsent.Add(1)
		return line.Silent
	}
	return m.packet[:n]
}
