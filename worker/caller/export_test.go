package caller

import (
	"headstart/turn/crew"
	"headstart/worker/room/line"
)

// UntilClosed is the events up to Closed, and whether that is among them.
func UntilClosed(events []Event) ([]Event, bool) { return untilClosed(events) }

// Reachable tells whether what others send reaches the caller.
func (c *Caller) Reachable() (bool, error) { return line.Reachable(c.sdk) }

// Sabotages make a goroutine of a caller panic, each another one. They are to be done
// before Run.
var Sabotages = map[string]func(*Caller){
	"voice":    func(c *Caller) { c.voice.send = func([]byte, int64) error { panic("bug") } },
	"reader":   func(c *Caller) { c.mailbox.Put(heardTrack{}) },
	"outbox":   func(c *Caller) { c.outbox.Post(func() error { panic("bug") }, func(error) {}) },
	"loop":     func(c *Caller) { c.mailbox = nil },
	"callback": func(c *Caller) { c.mailbox.Put(burst{crew.Guard(func() error { panic("bug") })}) },
}
