package room

import (
	"context"
	"strconv"
	"sync"
	"time"

	lksdk "github.com/livekit/server-sdk-go/v2"

	"headstart/worker/room/line"
	"headstart/worker/room/stream"
)

// What clients of agents expect of transcripts and states.
const (
	transcriptTopic = "lk.transcription"
	attrFinal       = "lk.transcription_final"
	attrSegment     = "lk.segment_id"
	attrTrack       = "lk.transcribed_track_id"
	attrState       = "lk.agent.state"
)

// writer is what the room writes with: the SDK's local participant.
type writer interface {
	PublishDataPacket(lksdk.DataPacket, ...lksdk.DataPublishOption) error
	PublishDTMF(code uint32, digit string) error
	SetAttributes(map[string]string)
}

// speech is the agent's transcripts that are not final yet.
type speech struct {
	lock sync.Mutex // guards open, and keeps a segment's deltas in order
	open map[string]*segment
}

type segment struct {
	text   stream.Text
	chunks uint64
}

// SetState tells clients what the agent does: "initializing", "idle",
// "listening", "thinking" or "speaking".
func (r *Room) SetState(ctx context.Context, state string) error {
	return r.outbox.Deliver(ctx, "set agent state", func() error {
		r.writer.SetAttributes(map[string]string{attrState: state})
		return nil
	})
}

// SendDTMF presses keys for the other side of a telephone call, one each 300 ms:
// "0" to "9", "*", "#", "A" to "D". It refuses all of them when one is no key, and
// blocks until the last is pressed.
func (r *Room) SendDTMF(ctx context.Context, digits string) error {
	return line.Press(ctx, digits, r.left, func(code uint32, key string) error {
		return r.outbox.Deliver(ctx, "press key", func() error {
			if err := line.AwaitSendable(ctx, r.sdk, r.left); err != nil {
				return err
			}
			return r.writer.PublishDTMF(code, key)
		})
	})
}

// TranscribeCaller shows clients what the caller says: the whole text of the
// segment so far, which replaces what was shown of it. It is sent in the
// caller's name. Without a caller it does nothing.
func (r *Room) TranscribeCaller(ctx context.Context, segmentID, text string, final bool) error {
	caller := r.caller.Load()
	if caller == nil {
		return nil
	}
	whole := r.transcript(segmentID, caller.track, final)
	whole.Identity = caller.identity
	return r.publishAll(ctx, "transcribe caller", whole.Whole(text))
}

// TranscribeAgent shows clients the next words of what the agent says in a
// segment. final closes the segment; delta may then be empty.
func (r *Room) TranscribeAgent(ctx context.Context, segmentID, delta string, final bool) error {
	r.speech.lock.Lock()
	defer r.speech.lock.Unlock()
	var packets []stream.Packet
	s := r.speech.open[segmentID]
	if s == nil {
		s = &segment{text: r.transcript(segmentID, r.track.ID, false)}
		r.speech.open[segmentID] = s
		packets = append(packets, s.text.Header())
	}
	chunks := s.text.Chunks(s.chunks, delta)
	s.chunks += uint64(len(chunks))
	packets = append(packets, chunks...)
	if final {
		delete(r.speech.open, segmentID)
		packets = append(packets, s.text.Trailer(map[string]string{attrFinal: "true"}))
	}
	return r.publishAll(ctx, "transcribe agent", packets)
}

func (r *Room) transcript(segmentID, track string, final bool) stream.Text {
	return stream.Text{ID: stream.NewID(), Topic: transcriptTopic, At: time.Now(), Attributes: map[string]string{
		attrSegment: segmentID, attrFinal: strconv.FormatBool(final), attrTrack: track,
	}}
}

func (r *Room) publishAll(ctx context.Context, what string, packets []stream.Packet) error {
	return r.outbox.Deliver(ctx, what, func() error {
		if err := line.AwaitSendable(ctx, r.sdk, r.left); err != nil {
			return err
		}
		for _, p := range packets {
			if err := r.writer.PublishDataPacket(p, lksdk.WithDataPublishReliable(true)); err != nil {
				return err
			}
		}
		return nil
	})
}
