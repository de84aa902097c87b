package audio

import "time"

const (
	// shallow and deep are how late a packet may be, beside the fastest, before it
	// is given up: one frame where the network is even, six where it is not.
	shallow, deep = Frame, 6 * Frame
	// calm is how fast an uneven network is believed to be even again: 5 ms a second.
	calm = 200
	// margin is for what is later still, next time.
	margin = Frame / 2
	// memory is how long the fastest packet is remembered, at least: long enough
	// for a pause, short enough for clocks that drift (100 ppm is 1 ms in it).
	memory = 10 * time.Second
	// otherClock is how far packets and clock must disagree to be the sender's doing.
	otherClock = 2 * time.Second
)

// lateness learns how unevenly packets come: how much later than the fastest of
// the last 10 to 20 s. It peaks at once and calms slowly.
type lateness struct {
	begun   bool
	rtp     uint32        // of the last packet
	sent    time.Duration // the last packet's time on the sender's clock, from the first
	seen    time.Duration // when it came
	fastest time.Duration // the smallest difference between the clocks, now
	before  time.Duration // and in the window before
	window  time.Duration // when now began
	depth   time.Duration // how late packets are
}

// observe notes a packet.
func (l *lateness) observe(at time.Duration, rtp uint32) {
	step := time.Duration(int32(rtp-l.rtp)) * time.Second / SaidRate
	behind := at - (l.sent + step)
	if far := behind - l.base(); !l.begun || far > otherClock || far < -otherClock {
		*l = lateness{begun: true, rtp: rtp, seen: at, fastest: at, before: at, window: at, depth: max(l.depth, shallow)}
		return
	}
	l.depth -= min(max(0, at-l.seen), Frame) / calm // a pause teaches nothing
	l.rtp, l.sent, l.seen = rtp, l.sent+step, max(l.seen, at)
	if at-l.window >= memory {
		l.before, l.fastest, l.window = l.fastest, behind, at
	}
	l.fastest = min(l.fastest, behind)
	l.depth = min(max(l.depth, behind-l.base()+margin, shallow), deep)
}

// base is what the sender's clock lags behind ours on the fastest way.
func (l *lateness) base() time.Duration { return min(l.fastest, l.before) }

// due is when a packet of that RTP time is here, if it is as late as any.
func (l *lateness) due(rtp uint32) time.Duration {
	return l.base() + l.sent + time.Duration(int32(rtp-l.rtp))*time.Second/SaidRate + l.depth
}

// more is how much deeper than on an even network packets must be waited for.
func (l *lateness) more() time.Duration { return max(0, l.depth-shallow) }
