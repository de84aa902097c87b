package worker

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"headstart/turn"
)

// finish closes the call: its end is logged, its status told, its room left,
// its place given back, what it taught remembered, its summary written. The
// caller of run seals the log.
func (c *call) finish(ctx context.Context, end turn.End, err error) {
	c.book.Append(turn.CallEnded{Reason: end.Reason, EndedBy: end.By, DurationS: time.Since(c.began).Seconds()})
	c.held.End() // before the rest: its app may go now
	if c.stopTalk != nil {
		c.stopTalk(end)
	}
	if c.stopPassing != nil {
		c.stopPassing(end)
	}
	c.forgetMemory()
	c.assignment.Done(err) // before the agent leaves: a job whose agent left while it ran has failed
	if c.room != nil {
		c.leave(ctx, end)
		counters := c.room.Counters()
		c.book.tally.frames(counters.FramesHeard, counters.FramesSaid, counters.FramesLost, counters.DroppedAudio)
	} else if late := c.awaitParts(); late != nil {
		c.log.Warn("end call", zap.Error(late))
	}
	c.release()
	// Neither the caller nor a drain cuts it short: it has a deadline of its own.
	c.worker.rememberOrSay(context.WithoutCancel(ctx), c.served, c.id, c.book)
	c.book.Append(c.book.tally.summary(time.Since(c.began)))
	c.log.Info("call ended", zap.String("reason", end.Reason), zap.String("by", end.By),
		zap.Duration("lasted", time.Since(c.began)), zap.Error(err))
}

// leave hangs up when the end was ours, leaves the room and waits for what
// still runs of the call.
func (c *call) leave(ctx context.Context, end turn.End) {
	var errs []error
	if end.By != "caller" && !c.closed && !c.terminated {
		errs = append(errs, c.room.Hangup(context.WithoutCancel(ctx))) // closing work: it has its own deadline
	}
	errs = append(errs, c.room.Leave())
	c.book.show.close()
	errs = append(errs, c.awaitParts(), c.roomError())
	if err := errors.Join(errs...); err != nil {
		c.log.Warn("leave room", zap.Error(err))
	}
}
