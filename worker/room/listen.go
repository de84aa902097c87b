package room

import (
	"context"
	"sync"
	"time"

	"github.com/pion/rtp"
	"github.com/pion/webrtc/v4"
	"go.uber.org/zap"

	"headstart/worker/room/audio"
	"headstart/worker/room/line"
	"headstart/worker/room/recording"
)

// heardTrack is a track to hear, from the loop.
type heardTrack struct {
	track     *webrtc.TrackRemote
	id        string
	announced bool // a recording belongs to it
}

// listener owns the ear and what comes before the track. The reader of the track gives
// the ear its packets itself: each hand-off wakes a thread. The loop does the rest.
type listener struct {
	room   *Room
	beside func(func() error) // runs what ends with the listener
	begin  time.Time
	tick   *time.Timer // when the ear is to be told that time has passed

	// The loop's own.
	current *webrtc.TrackRemote

	lock   sync.Mutex // guards what follows
	ear    *audio.Ear
	before before
	reader int    // of the current track
	ssrc   uint32 // of its last packet
	begun  bool   // there was one
}

// listen hears until ctx ends.
func (r *Room) listen(ctx context.Context, beside func(func() error)) error {
	l := &listener{room: r, beside: beside, begin: time.Now()}
	l.ear = audio.NewEar(l.give)
	defer func() { line.StopReading(l.current) }()
	l.tick = time.NewTimer(audio.Idle)
	defer l.tick.Stop()
	for {
		if err := l.next(ctx); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// next hears the next thing that happens. The frames of a recording go out as
// fast as their reader takes them.
func (l *listener) next(ctx context.Context) error {
	var out chan []int16
	first := l.first()
	if first != nil {
		out = l.room.heard
	}
	select {
	case <-ctx.Done():
	case out <- first:
		l.gone(first)
	case track := <-l.room.tracks:
		return l.track(track)
	case rec := <-l.room.recordings:
		l.recorded(rec)
	case <-l.tick.C:
		l.pass()
	}
	return nil
}

// first is the frame that waits to be heard before what is heard now.
func (l *listener) first() []int16 {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.before.first()
}

// gone takes the frame that was heard away, unless it has given way already.
func (l *listener) gone(frame []int16) {
	l.lock.Lock()
	defer l.lock.Unlock()
	if first := l.before.first(); first != nil && &first[0] == &frame[0] {
		l.before.next()
	}
}

// pass lets time pass. While packets come in order, and before any, nothing wakes the listener.
func (l *listener) pass() {
	l.lock.Lock()
	defer l.lock.Unlock()
	now := time.Since(l.begin)
	l.before.tick(now)
	l.ear.Tick(now)
	l.tick.Reset(l.again(now))
	l.tally()
}

// track lets the track before go and hears another.
func (l *listener) track(t heardTrack) error {
	decoder, err := l.room.decoder()
	if err != nil {
		return err
	}
	line.StopReading(l.current)
	l.current = t.track
	l.lock.Lock()
	defer l.lock.Unlock()
	l.reader++
	l.begun = false
	l.ear.Track(decoder)
	now := time.Since(l.begin)
	l.before.hear(now, t.id, t.announced)
	l.tick.Reset(l.again(now))
	number := l.reader
	l.beside(func() error { return l.read(t.track, number) })
	return nil
}

// read reads a track until its end, which StopReading brings about at once.
func (l *listener) read(track *webrtc.TrackRemote, reader int) error {
	for {
		p, _, err := track.ReadRTP()
		if err != nil {
			return nil
		}
		if err := l.packet(reader, time.Since(l.begin), p); err != nil {
			return err
		}
	}
}

// packet hears a packet of the current track. One from another source has
// another sequence and clock.
func (l *listener) packet(reader int, at time.Duration, p *rtp.Packet) error {
	l.lock.Lock()
	defer l.lock.Unlock()
	if reader != l.reader {
		return nil
	}
	if l.begun && p.SSRC != l.ssrc {
		decoder, err := l.room.decoder()
		if err != nil {
			return err
		}
		l.ear.Track(decoder)
	}
	l.begun, l.ssrc = true, p.SSRC
	l.ear.Packet(at, p.SequenceNumber, p.Timestamp, p.Payload)
	l.tick.Reset(l.again(at))
	l.tally()
	return nil
}

// again is how soon the loop has something to do, unless a packet comes before: the
// lock is held.
func (l *listener) again(at time.Duration) time.Duration {
	again := l.ear.Again(at)
	if l.before.waiting {
		again = min(again, l.before.until-at)
	}
	return max(again, 0)
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
	l.lock.Lock()
	defer l.lock.Unlock()
	l.before.recorded(time.Since(l.begin), rec.Attributes[attrRecordedTrack], pcm)
}

// give hands a frame on, behind what comes before it. The lock is held.
func (l *listener) give(frame []int16) {
	if !l.before.frame(frame) {
		l.room.give(frame)
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

// tally tells the room what the ear has done.
func (l *listener) tally() {
	c, h := &l.room.count, l.ear.Heard()
	c.heard.Store(h.Frames)
	c.lost.Store(h.Lost)
	c.concealed.Store(h.Concealed)
	c.silence.Store(h.Silence)
	c.trimmed.Store(h.Trimmed)
	c.late.Store(h.Late)
	c.reordered.Store(h.Reordered)
	c.undecoded.Store(h.Broken)
	c.overflow.Store(l.before.dropped)
	c.stale.Store(l.before.stale)
}
