package audio

import "time"

const (
	// held is how many packets beyond a gap can wait for it: 120 ms of the
	// shortest packets that anybody sends (2.5 ms), and to spare.
	held = 64
	// strayed and dropout are where a sequence number is no late packet and no
	// loss any more, but perhaps another stream (RFC 3550, A.1).
	strayed, dropout = 100, 3000
	// grace is how long a gap is waited for at least: until the packet after the
	// next, so that neighbours that changed places are put right.
	grace = Frame
)

// slot is a packet that waits for those before it.
type slot struct {
	used    bool
	seq     uint16
	rtp     uint32
	payload []byte
}

// order puts packets back into the order in which they were sent. What comes in
// order waits for nothing; what comes after a gap waits until the gap is filled,
// or nobody expects its packets any more.
type order struct {
	begun bool
	next  uint16 // the packet that is played next
	last  uint16 // the furthest that came
	probe uint16 // where another stream would go on, if the last stray began one
	stray bool
	count int           // of used slots
	since time.Duration // when the gap was noticed, if count > 0
	slots [held]slot
}

// verdict is what becomes of a packet that came.
type verdict int

const (
	kept    verdict = iota
	late            // its place has passed, or is taken
	strange         // far from the stream: perhaps another one begins
	restart         // another one has begun
	beyond          // there is no room: what waits must be played first
)

// judge says what a packet is to the stream.
func (o *order) judge(seq uint16) verdict {
	if !o.begun {
		return kept
	}
	distance := int(int16(seq - o.next))
	switch {
	case distance < -strayed, distance > dropout:
		again := o.stray && seq == o.probe
		o.stray, o.probe = !again, seq+1
		if again {
			return restart
		}
		return strange
	case distance < 0:
		return late
	case distance >= held:
		return beyond
	case o.slots[seq%held].used:
		return late
	}
	o.stray = false
	return kept
}

// put keeps a packet, and tells whether one that was sent after it was here first.
func (o *order) put(at time.Duration, s slot) (overtaken bool) {
	if !o.begun {
		o.begun, o.next, o.last = true, s.seq, s.seq
	}
	overtaken = int16(s.seq-o.last) < 0
	if !overtaken {
		o.last = s.seq
	}
	if o.count == 0 {
		o.since = at
	}
	s.used = true
	o.slots[s.seq%held] = s
	o.count++
	return overtaken
}

// take gives the packet that is next in order, if it is there.
func (o *order) take(at time.Duration) (slot, bool) {
	s := &o.slots[o.next%held]
	if !s.used {
		return slot{}, false
	}
	taken := *s
	*s = slot{}
	o.count--
	o.next, o.since = taken.seq+1, at
	return taken, true
}

// first is the packet behind the gap.
func (o *order) first() slot {
	for i := range uint16(held) {
		if s := o.slots[(o.next+i)%held]; s.used {
			return s
		}
	}
	return slot{}
}

// skip gives up the packets before the first that is there.
func (o *order) skip() { o.next = o.first().seq }

// forget begins another stream.
func (o *order) forget() { *o = order{} }
