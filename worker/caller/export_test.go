package caller

import "headstart/worker/room/line"

// UntilClosed is the events up to Closed, and whether that is among them.
func UntilClosed(events []Event) ([]Event, bool) { return untilClosed(events) }

// Reachable tells whether what others send reaches the caller.
func (c *Caller) Reachable() (bool, error) { return line.Reachable(c.sdk) }
