package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"headstart/turn"
)

// leaveWithin bounds the end of what runs beside a call: media is gone within
// 2 s of call.ended, and what is not by then is left behind.
const leaveWithin = 2 * time.Second

// awaitParts waits for the conversation, the room and the captions.
func (c *call) awaitParts() error {
	ended := make(chan struct{})
	go func() { c.parts.Wait(); close(ended) }()
	late := time.NewTimer(leaveWithin)
	defer late.Stop()
	select {
	case <-ended:
		return nil
	case <-late.C:
		c.worker.abandoned.Add(1)
		return fmt.Errorf("parts of the call still run after %v", leaveWithin)
	}
}

// finish closes the call: its end is logged, its status told, its room left,
// its place given back, what it taught remembered, its summary written. The
// caller of run seals the log.
func (c *call) finish(ctx context.Context, end turn.End, err error) {
	c.book.Append(turn.CallEnded{Reason: end.Reason, EndedBy: end.By, DurationS: time.Since(c.began).Seconds()})
	if c.stopTalk != nil {
		c.stopTalk(end)
	}
	if c.memory != nil {
		c.memory.stop(errCallOver)
	}
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
	errs = append(errs, c.awaitParts())
	if err := errors.Join(errs...); err != nil {
		c.log.Warn("leave room", zap.Error(err))
	}
}
