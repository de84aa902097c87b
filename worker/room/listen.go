package room

import (
	"context"
	"time"

	"github.com/pion/webrtc/v4"
	"golang.org/x/sync/errgroup"

	"headstart/worker/room/audio"
	"headstart/worker/room/line"
)

// packet is one RTP packet as it came in.
type packet struct {
	reader  int
	at      time.Duration
	seq     uint16
	rtp     uint32
	payload []byte
}

// waiting is how many packets wait for the ear: five seconds of them.
const waiting = 256

// listen owns the ear and the reader of the track that is heard.
func (r *Room) listen(ctx context.Context, group *errgroup.Group) error {
	begin := time.Now()
	packets := make(chan packet, waiting)
	ear := audio.NewEar(r.give)
	ticker := time.NewTicker(audio.Frame)
	defer ticker.Stop()
	var current *webrtc.TrackRemote
	var reader int
	defer func() { line.StopReading(current) }()
	for {
		select {
		case <-ctx.Done():
			return nil
		case track := <-r.tracks:
			decoder, err := audio.NewDecoder()
			if err != nil {
				return err
			}
			line.StopReading(current)
			current, reader = track, reader+1
			ear.Track(decoder)
			number := reader
			group.Go(func() error { r.read(track, number, begin, packets); return nil })
		case p := <-packets:
			if p.reader == reader {
				ear.Packet(p.at, p.seq, p.rtp, p.payload)
			}
		case <-ticker.C:
			if len(packets) == 0 { // what has come is heard before anything is filled in
				ear.Tick(time.Since(begin))
			}
		}
		r.tally(ear.Heard())
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
		case packets <- packet{reader: reader, at: time.Since(begin), seq: p.SequenceNumber, rtp: p.Timestamp, payload: p.Payload}:
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
	c.broken.Store(h.Broken)
}
