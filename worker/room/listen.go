package room

import (
	"context"
	"time"

	"github.com/pion/webrtc/v4"
	"go.uber.org/zap"

	"headstart/worker/room/audio"
	"headstart/worker/room/line"
	"headstart/worker/room/recording"
)

// packet is one RTP packet as it came in.
type packet struct {
	reader  int
	at      time.Duration
	ssrc    uint32
	seq     uint16
	rtp     uint32
	payload []byte
}

// waiting is how many packets wait for the ear: five seconds of them.
const waiting = 256

// heardTrack is a track to hear, from the loop.
type heardTrack struct {
	track     *webrtc.TrackRemote
	id        string
	announced bool // a recording belongs to it
}

// listener owns the ear, the reader of the track that is heard, and what comes
// before the track. Its loop alone reads and writes it.
type listener struct {
	room    *Room
	beside  func(func() error) // runs what ends with the listener
	begin   time.Time
	packets chan packet
	ear     *audio.Ear
	before  before
	tick    *time.Timer

	current *webrtc.TrackRemote
	reader  int    // of the current track
	ssrc    uint32 // of its last packet
	begun   bool   // there was one
}

// listen hears until ctx ends.
func (r *Room) listen(ctx context.Context, beside func(func() error)) error {
	l := &listener{room: r, beside: beside, begin: time.Now(), packets: make(chan packet, waiting)}
	l.ear = audio.NewEar(l.give)
	defer func() { line.StopReading(l.current) }()
	l.tick = time.NewTimer(audio.Frame)
	defer l.tick.Stop()
	for {
		if err := l.next(ctx); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return nil
		}
		r.tally(l.ear.Heard())
		r.count.overflow.Store(l.before.dropped)
		r.count.stale.Store(l.before.stale)
	}
}

// next hears the next thing that happens. The frames of a recording go out as
// fast as their reader takes them.
func (l *listener) next(ctx context.Context) error {
	var out chan []int16
	first := l.before.first()
	if first != nil {
		out = l.room.heard
	}
	select {
	case <-ctx.Done():
	case out <- first:
		l.before.next()
	case track := <-l.room.tracks:
		return l.track(track)
	case rec := <-l.room.recordings:
		l.recorded(rec)
	case p := <-l.packets:
		if err := l.packet(p); err != nil {
			return err
		}
		l.pass()
	case <-l.tick.C:
		l.pass()
	}
	return nil
}

// pass lets time pass. While packets come in order nothing but them wakes the listener.
func (l *listener) pass() {
	now, again := time.Since(l.begin), audio.Frame
	l.before.tick(now)
	if len(l.packets) == 0 { // what has come is heard before anything is filled in
		again = l.ear.Tick(now)
	}
	l.tick.Reset(again)
}

// track lets the track before go and hears another.
func (l *listener) track(t heardTrack) error {
	decoder, err := l.room.decoder()
	if err != nil {
		return err
	}
	line.StopReading(l.current)
	l.current, l.reader, l.begun = t.track, l.reader+1, false
	l.ear.Track(decoder)
	l.before.hear(time.Since(l.begin), t.id, t.announced)
	number := l.reader
	l.beside(func() error { l.room.read(t.track, number, l.begin, l.packets); return nil })
	return nil
}

// packet hears a packet of the current track. One from another source has
// another sequence and clock.
func (l *listener) packet(p packet) error {
	if p.reader != l.reader {
		return nil
	}
	if l.begun && p.ssrc != l.ssrc {
		decoder, err := l.room.decoder()
		if err != nil {
			return err
		}
		l.ear.Track(decoder)
	}
	l.begun, l.ssrc = true, p.ssrc
	l.ear.Packet(p.at, p.seq, p.rtp, p.payload)
	return nil
}

// recorded hears what was said before the track.
func (l *listener) recorded(rec recorded) {
	pcm, err := recording.Decode(rec.form(), rec.Bytes)
	if err != nil {
		l.room.count.broken.Add(1)
		l.room.log.Warn("recording", zap.Int("bytes", len(rec.Bytes)), zap.Error(err))
		pcm = nil // nothing is waited for any more
	}
	l.room.log.Debug("recording", zap.Duration("length", audio.Duration(int64(len(pcm)), audio.HeardRate)))
	l.before.recorded(time.Since(l.begin), rec.Attributes[attrRecordedTrack], pcm)
}

// give hands a frame on, behind what comes before it.
func (l *listener) give(frame []int16) {
	if !l.before.frame(frame) {
		l.room.give(frame)
	}
}

// read reads a track until its end, which StopReading brings about at once.
func (r *Room) read(track *webrtc.TrackRemote, reader int, begin time.Time, packets chan<- packet) {
	for {
		p, _, err := track.ReadRTP()
		if err != nil {
			return
		}
		select {
		case packets <- packet{reader: reader, at: time.Since(begin), ssrc: p.SSRC, seq: p.SequenceNumber, rtp: p.Timestamp, payload: p.Payload}:
		default:
			r.count.dropped.Add(1)
		}
	}
}

// give hands a frame to the reader of Audio; the oldest gives way.
func (r *Room) give(frame []int16) {
	for {
		select {
		case r.heard <- frame:
			return
		default:
		}
		select {
		case <-r.heard:
			r.count.dropped.Add(1)
		default:
		}
	}
}

func (r *Room) tally(h audio.Heard) {
	c := &r.count
	c.heard.Store(h.Frames)
	c.lost.Store(h.Lost)
	c.concealed.Store(h.Concealed)
	c.silence.Store(h.Silence)
	c.trimmed.Store(h.Trimmed)
	c.late.Store(h.Late)
	c.reordered.Store(h.Reordered)
	c.undecoded.Store(h.Broken)
}
