package worker

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
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

// parts are what runs beside a call, by name.
type parts struct {
	all sync.WaitGroup

	mu      sync.Mutex // guards running
	running []string
}

// run runs a part on a goroutine of its own, and gives broken its panic.
func (p *parts) run(name string, part func(), broken chan<- error) {
	p.mu.Lock()
	p.running = append(p.running, name)
	p.mu.Unlock()
	p.all.Go(func() {
		if err := crew.Guard(func() error { part(); return nil }); err != nil {
			broken <- err
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		i := slices.Index(p.running, name)
		p.running = slices.Delete(p.running, i, i+1)
	})
}

// left are the parts that still run.
func (p *parts) left() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.running)
}

// beside runs a part of the call. One that panics ends the call.
func (c *call) beside(name string, part func()) { c.parts.run(name, part, c.broken) }

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
	go func() { c.parts.all.Wait(); close(ended) }()
	late := time.NewTimer(leaveWithin)
	defer late.Stop()
	select {
	case <-ended:
		return nil
	case <-late.C:
		c.worker.abandoned.Add(1)
		return fmt.Errorf("still running %v after the room was left: %s", leaveWithin, strings.Join(c.parts.left(), ", "))
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
