package worker

import (
	"time"

	"headstart/turn"
)

// appGone is closed when the app that holds the call is gone; nil once that is known,
// and for a call without an app.
func (c *call) appGone() <-chan struct{} {
	if c.detached {
		return nil
	}
	return c.held.Gone()
}

// onDetached ends a call that lost its app: nobody answers its tools any more. One
// that says goodbye already goes on with that.
func (c *call) onDetached(patience *time.Timer) *turn.End {
	c.detached = true
	switch {
	case c.ordered != nil:
		return nil
	case !c.greeted:
		return new(endDetached)
	}
	return c.bid(endDetached, patience)
}
