package audio

import "time"

const (
	// slack is how far the ear lets its samples lag behind the clock of an even
	// network before it fills with silence, and run ahead of it before it drops
	// silence.
	slack = 60 * time.Millisecond
	// settle is how near the clock it comes when it fills: one frame stays for
	// the packet that is on its way.
	settle = 40 * time.Millisecond
	// farAhead is where it drops sound, too: a burst that came so late is no
	// conversation any more.
	farAhead = time.Second
	// longestConcealed is how much of a loss is extrapolated; after 100 ms an
	// Opus decoder has faded out anyway.
	longestConcealed = HeardRate / 10
	// longestGap is the most that a packet's own time can make the ear fill;
	// above it the sender has started a new clock.
	longestGap = 10 * HeardRate
	// quiet is the RMS under which a frame may be dropped unheard.
	quiet = 100
	// burst is how long the packets of a burst take to be heard.
	burst = 5 * time.Millisecond
	// rtpPerSample is how many ticks of RTP's clock one heard sample lasts.
	rtpPerSample = SaidRate / HeardRate
)

// Heard counts what an ear has done.
type Heard struct {
	Frames    int64 // frames given out
	Lost      int64 // packets missing from the sequence
	Concealed int64 // frames' worth of samples made up for them
	Late      int64 // packets that came after their place had passed, or twice
	Reordered int64 // packets that came after a later one, and in time
	Silence   int64 // frames of silence filled in, because nothing was sent
	Trimmed   int64 // frames dropped to come back to the clock
	Broken    int64 // packets that did not decode
}

// Ear turns the packets of a track into frames of HeardFrame samples in order
// of time. A packet that comes in order is heard at once; one that comes after a
// gap waits for those that are missing, as long as packets have lately been late,
// from 20 to 120 ms. What stays away is concealed. Where a sender falls silent (it
// saves bandwidth, it is muted, it is gone) silence is filled in as time passes,
// so that the samples follow the clock from the first packet on, to within 60 ms
// on an even network and 180 ms on the worst. A late burst is heard whole; the
// ear comes back to the clock in the next quiet.
//
// It has no clock: every call says when it is, on any clock that never goes back, and
// whoever hears it calls Tick when Again says so. Not safe for concurrent use.
type Ear struct {
	out     func([]int16)
	plain   bool // no clock, and no waiting
	decoder Decoder
	now     time.Duration // of the last call

	order    order
	lateness lateness

	begun   bool          // a first packet was heard, of any track
	begin   time.Duration // when
	emitted int64         // samples given out since then
	frame   []int16       // the frame that is being filled
	slab    []int16       // where the next ones come from
	scratch [longestPacket]int16

	tracked bool   // a packet of this track was heard
	nextSeq uint16 // the next packet's place
	nextRTP uint32 // and time
	length  int    // samples in the last packet
	filled  int64  // samples of silence since the last packet

	heard Heard
}

// NewEar makes an ear that gives its frames to out. A frame is never written to
// again; a second of them shares one piece of memory.
func NewEar(out func(frame []int16)) *Ear {
	e := &Ear{out: out}
	e.frame = e.blank()
	return e
}

// NewPlainEar makes an ear without a clock, for a listener who notes when each
// frame came in: losses are concealed, pauses are left out and nothing waits or
// is dropped, but for packets that come too late. It needs no Tick.
func NewPlainEar(out func(frame []int16)) *Ear {
	e := NewEar(out)
	e.plain = true
	return e
}

// Track begins another track: its sequence and clock have nothing to do with
// those before. What waits of the track before is heard first; the stream of
// frames goes on.
func (e *Ear) Track(decoder Decoder) {
	e.restart()
	e.decoder, e.length, e.lateness = decoder, HeardFrame, lateness{}
}

// Heard tells what the ear has done so far.
func (e *Ear) Heard() Heard { return e.heard }

// Packet hears one packet: its arrival, sequence number, RTP time and payload,
// which the ear keeps until it is its turn.
func (e *Ear) Packet(at time.Duration, seq uint16, rtp uint32, payload []byte) {
	e.now = at
	s := slot{seq: seq, rtp: rtp, payload: payload}
	if e.plain {
		e.play(s)
		return
	}
	switch e.order.judge(seq) {
	case late:
		e.lateness.observe(at, rtp) // so that the next of its kind is waited for
		e.heard.Late++
		return
	case strange:
		e.heard.Late++
		return
	case restart:
		e.restart()
		e.lateness = lateness{}
	case beyond:
		e.flush()
		e.order.forget()
	}
	e.lateness.observe(at, rtp)
	if e.order.put(at, s) {
		e.heard.Reordered++
	}
	e.drain()
}

// restart ends a stream.
func (e *Ear) restart() {
	e.flush()
	e.order.forget()
	e.tracked = false
}

// flush plays what waits, whatever is missing.
func (e *Ear) flush() {
	for e.order.count > 0 {
		e.order.skip()
		e.inOrder()
	}
}

// drain plays what is in order, and gives up what is missing when its time has come.
func (e *Ear) drain() {
	for e.inOrder(); e.order.count > 0 && e.now >= e.deadline(); e.inOrder() {
		e.order.skip()
	}
}

func (e *Ear) inOrder() {
	for s, ok := e.order.take(e.now); ok; s, ok = e.order.take(e.now) {
		e.play(s)
	}
}

// deadline is until when the packets of a gap are waited for: until the last of
// them is overdue.
func (e *Ear) deadline() time.Duration {
	before := e.order.first().rtp - uint32(e.length*rtpPerSample)
	due := max(e.lateness.due(before), e.order.since+grace)
	return min(due, e.order.since+deep)
}

// play hears a packet whose turn it is.
func (e *Ear) play(s slot) {
	if len(s.payload) == 0 { // padding, with which servers probe the bandwidth
		if e.tracked && s.seq == e.nextSeq {
			e.nextSeq++
		}
		return
	}
	if !e.begun {
		e.begun, e.begin = true, e.now
	}
	if !e.bridge(s) {
		e.heard.Late++
		return
	}
	n, err := e.decoder.Decode(s.payload, e.scratch[:])
	if err != nil {
		e.heard.Broken++
		n = e.conceal(nil, e.length)
	}
	e.push(e.scratch[:n])
	e.tracked, e.filled, e.length = true, 0, n
	e.nextSeq, e.nextRTP = s.seq+1, s.rtp+uint32(n*rtpPerSample)
}

// bridge fills what lies between the last packet and this one. It is false when
// this one's place has passed.
func (e *Ear) bridge(s slot) bool {
	if !e.tracked {
		return true
	}
	lost := int(int16(s.seq - e.nextSeq))
	if lost < 0 {
		return false
	}
	e.heard.Lost += int64(lost)
	missing := int64(int32(s.rtp-e.nextRTP)) / rtpPerSample
	if missing <= 0 || missing > longestGap {
		return true
	}
	missing -= e.filled
	if lost > 0 {
		missing -= e.cover(min(missing, longestConcealed), s.payload)
	}
	if !e.plain {
		e.silence(missing)
	}
	return true
}

// cover makes up for lost packets, the last one from the packet that follows
// it, and tells how many samples it made.
func (e *Ear) cover(missing int64, next []byte) int64 {
	var made int64
	for e.length > 0 && made+int64(e.length) <= missing {
		var from []byte
		if made+2*int64(e.length) > missing {
			from = next
		}
		n := e.conceal(from, e.length)
		e.push(e.scratch[:n])
		made += int64(n)
	}
	e.heard.Concealed += made / HeardFrame
	return made
}

// conceal fills the scratch for one lost packet, with silence if all else fails.
func (e *Ear) conceal(next []byte, length int) int {
	n, err := e.decoder.Conceal(next, e.scratch[:length])
	if err != nil || n == 0 {
		clear(e.scratch[:length])
		return length
	}
	return n
}

// Tick tells the ear that time has passed. It gives up what is overdue, and fills with
// silence what was not sent. Again tells when it is to be called.
func (e *Ear) Tick(at time.Duration) {
	e.now = at
	if e.begun && !e.plain {
		e.settleAt(at)
	}
}

// Idle is how soon an ear is to be told of the time that has no use for it: whenever.
const Idle = time.Hour

// Again tells how soon after a call Tick is to be called: when the samples will have
// fallen behind if no packet comes, and when a packet that is missing is given up. Where
// they have fallen behind it is 5 ms, in which the rest of a burst is heard: what has
// come is heard before anything is filled in. Before the first packet it is Idle.
func (e *Ear) Again(at time.Duration) time.Duration {
	if !e.begun || e.plain {
		return Idle
	}
	if e.order.count > 0 {
		return max(min(e.deadline()-at, Frame), 0)
	}
	if behind := e.behind(at); behind <= slack {
		return slack + time.Millisecond - behind
	}
	return burst
}

// behind is how far the samples lag the clock of the network as it is.
func (e *Ear) behind(at time.Duration) time.Duration {
	return at - e.begin - Duration(e.emitted, HeardRate) - e.lateness.more()
}

// settleAt comes back to the clock.
func (e *Ear) settleAt(at time.Duration) {
	e.drain()
	behind := e.behind(at)
	if behind <= slack {
		return
	}
	missing := int64((behind - settle) * HeardRate / time.Second)
	missing += (HeardFrame - missing%HeardFrame) % HeardFrame
	e.silence(missing)
	e.filled += missing
}

var zeros [HeardFrame]int16

func (e *Ear) silence(samples int64) {
	for samples > 0 {
		n := min(samples, HeardFrame)
		e.push(zeros[:n])
		samples -= n
		e.heard.Silence++
	}
}

// push cuts samples into frames.
func (e *Ear) push(pcm []int16) {
	for len(pcm) > 0 {
		n := min(HeardFrame-len(e.frame), len(pcm))
		e.frame = append(e.frame, pcm[:n]...)
		pcm = pcm[n:]
		if len(e.frame) == HeardFrame {
			e.give()
		}
	}
}

// give hands the full frame out, unless the samples have run ahead of the clock
// and nobody would miss it.
func (e *Ear) give() {
	ahead := Duration(e.emitted+HeardFrame, HeardRate) - (e.now - e.begin)
	if !e.plain && (ahead > farAhead || (ahead > slack && RMS(e.frame) < quiet)) {
		e.heard.Trimmed++
		e.frame = e.frame[:0]
		return
	}
	e.emitted += HeardFrame
	e.heard.Frames++
	e.out(e.frame)
	e.frame = e.blank()
}

// blank is an empty frame out of the slab, of which one lasts a second.
func (e *Ear) blank() []int16 {
	if len(e.slab) == 0 {
		e.slab = make([]int16, HeardRate)
	}
	frame := e.slab[:0:HeardFrame]
	e.slab = e.slab[HeardFrame:]
	return frame
}
