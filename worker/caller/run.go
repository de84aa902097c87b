package caller

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	lksdk "github.com/livekit/server-sdk-go/v2"
	"github.com/pion/webrtc/v4"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"headstart/turn/crew"
	"headstart/worker/room/audio"
	"headstart/worker/room/line"
)

// unread is how many events are kept for a reader who does not come.
const unread = 4096

// Run speaks and listens until the call is over: Hangup, the room is gone, or
// ctx ends. It returns nil in the first two cases and the cause of ctx in the
// third; and a panic of one of its goroutines as a *crew.Panic. Call it once.
func (c *Caller) Run(ctx context.Context) error {
	life, end := context.WithCancelCause(ctx)
	group, life := errgroup.WithContext(life)
	beside := func(work func() error) { group.Go(func() error { return crew.Guard(work) }) }
	beside(func() error { audio.Pace(life, c.voice.step); return nil })
	beside(func() error { return c.outbox.Run(life) })
	err := crew.Guard(func() error { return c.loop(life, beside) })
	end(line.ErrLeft)
	c.leave.Do(func() { close(c.left) })
	err = errors.Join(err, c.disconnect(), line.Await(group.Wait))
	close(c.events)
	return err
}

// loop hands events on and starts the readers of tracks.
func (c *Caller) loop(ctx context.Context, beside func(func() error)) error {
	tracks := map[string]*webrtc.TrackRemote{} // by the agent's identity
	defer func() {
		for _, track := range tracks {
			line.StopReading(track)
		}
	}()
	pending := c.present()
	for {
		var out chan Event
		var first Event
		if len(pending) > 0 {
			out, first = c.events, pending[0]
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-c.left:
			c.flush(pending)
			return nil
		case out <- first:
			pending = pending[1:]
		case <-c.mailbox.Bell():
			for _, note := range c.mailbox.Take() {
				switch n := note.(type) {
				case heardTrack:
					line.StopReading(tracks[n.identity])
					tracks[n.identity] = n.track
					beside(func() error { return c.listen(n.track) })
				case burst:
					return n.err
				case Event:
					pending = append(pending, n)
				}
			}
			pending = pending[max(0, len(pending)-unread):]
		}
		if last, over := untilClosed(pending); over {
			c.flush(last)
			return nil
		}
	}
}

// untilClosed is the events up to Closed: the agent may be told to have left after
// the room that closed.
func untilClosed(events []Event) (last []Event, over bool) {
	i := slices.IndexFunc(events, func(e Event) bool { _, closed := e.(Closed); return closed })
	return events[:i+1], i >= 0
}

// present tells of the agents who were in the room first.
func (c *Caller) present() []Event {
	var events []Event
	there := c.sdk.GetRemoteParticipants()
	slices.SortFunc(there, func(a, b *lksdk.RemoteParticipant) int { return cmp.Compare(a.Identity(), b.Identity()) })
	for _, p := range there {
		if isAgent(p) {
			events = append(events, AgentJoined{Identity: p.Identity()})
			if state := p.Attributes()[attrState]; state != "" {
				events = append(events, AgentState{State: state})
			}
		}
	}
	return events
}

// flush leaves what was not read in the channel, as far as there is room.
func (c *Caller) flush(pending []Event) {
	for i, e := range pending {
		select {
		case c.events <- e:
		default:
			c.log.Warn("events left unread", zap.Int("events", len(pending)-i))
			return
		}
	}
}

// listen decodes a track into the memory until it ends. Lost packets are
// concealed; pauses are left out.
func (c *Caller) listen(track *webrtc.TrackRemote) error {
	decoder, err := audio.NewDecoder()
	if err != nil {
		return err
	}
	var at time.Time
	ear := audio.NewPlainEar(func(pcm []int16) { c.memory.add(at, pcm) })
	ear.Track(decoder)
	for {
		p, _, err := track.ReadRTP()
		if err != nil {
			return nil
		}
		at = time.Now()
		ear.Packet(at.Sub(c.dialed), p.SequenceNumber, p.Timestamp, p.Payload)
	}
}

// DTMF presses keys, one after the other, 300 ms apart. It refuses all of them
// when one is no key.
func (c *Caller) DTMF(ctx context.Context, digits string) error {
	return line.Press(ctx, digits, c.left, func(code uint32, key string) error {
		return c.outbox.Deliver(ctx, "press key", func() error {
			if err := line.AwaitSendable(ctx, c.sdk, c.left); err != nil {
				return err
			}
			return c.sdk.LocalParticipant.PublishDTMF(code, key)
		})
	})
}
