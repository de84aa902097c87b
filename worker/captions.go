package worker

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"

	"headstart/turn"
	"headstart/worker/room"
)

// captions show clients in the room what is said and what the agent does. They
// follow the log, and never hold it up: when the room takes nothing, what
// cannot wait is lost to the screen and stands in the log all the same.
type captions struct {
	room *room.Room
	log  *zap.Logger
	feed chan turn.Event
	end  chan struct{}

	segments int // of the agent, so far; run's only
}

func newCaptions(r *room.Room, log *zap.Logger) *captions {
	return &captions{room: r, log: log, feed: make(chan turn.Event, 256), end: make(chan struct{})}
}

// add queues an event. It is called by whoever appends to the log.
func (c *captions) add(ev turn.Event) {
	select {
	case c.feed <- ev:
	default:
	}
}

// close ends run. It is called once.
func (c *captions) close() { close(c.end) }

// captionWithin bounds one message to the room.
const captionWithin = 2 * time.Second

func (c *captions) run(ctx context.Context) {
	for {
		select {
		case <-c.end:
			return
		case ev := <-c.feed:
			if err := c.show(ctx, ev); err != nil {
				c.log.Debug("caption", zap.String("type", ev.EventType()), zap.Error(err))
			}
		}
	}
}

func (c *captions) show(ctx context.Context, ev turn.Event) error {
	ctx, cancel := context.WithTimeoutCause(ctx, captionWithin, fmt.Errorf("not sent after %v", captionWithin))
	defer cancel()
	switch ev := ev.(type) {
	case turn.AgentState:
		return c.room.SetState(ctx, ev.State)
	case turn.UserTranscript:
		return c.room.TranscribeCaller(ctx, "SG_"+string(ev.SpeechID), ev.Text, false)
	case turn.TurnUser:
		if ev.Medium == "voice" { // only now is it certain that no more words follow
			return c.room.TranscribeCaller(ctx, "SG_"+string(ev.SpeechID), ev.Text, true)
		}
	case turn.AgentTranscript:
		segment := fmt.Sprintf("SG_agent-%d", c.segments)
		if ev.Final {
			c.segments++
		}
		return c.room.TranscribeAgent(ctx, segment, ev.Delta, ev.Final)
	}
	return nil
}
