package worker

import (
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"headstart/turn"
	"headstart/turn/crew"
)

// talkOver is how the conversation ended: err is its panic.
type talkOver struct {
	end turn.End
	err error
}

// beside runs a part of the call on a goroutine of its own. One that panics ends
// the call.
func (c *call) beside(part func()) {
	c.parts.Go(func() {
		if err := crew.Guard(func() error { part(); return nil }); err != nil {
			c.broken <- err
		}
	})
}

// onBroken is the end of a call of which a part broke: its panic is told here,
// and nowhere else.
func (c *call) onBroken(err error) turn.End {
	c.lost = err
	failure := turn.Failure{Code: turn.CodeRoom, Message: err.Error()}
	if p := crew.In(err); p != nil {
		c.log.Error("call panicked", zap.Error(p), zap.ByteString("stack", p.Stack))
		failure = turn.Failure{Code: turn.CodePanic, Message: "internal error"}
	}
	c.book.Append(failure)
	return endError
}

// errNoRoom says that the room's Run ended, and why not.
var errNoRoom = errors.New("the room ended")

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

// roomError is how the room's Run ended, when that was not told before.
func (c *call) roomError() error {
	select {
	case err := <-c.roomOver:
		return err
	default:
		return nil
	}
}
