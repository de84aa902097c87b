package room

import (
	"sync/atomic"
	"time"

	"headstart/turn/crew"
)

// renewal remembers when the room's own connection was made anew. The SDK's
// callbacks write it, before the server can hear of it.
type renewal struct {
	begun atomic.Int64 // how often it began
	done  atomic.Int64 // how often it succeeded
	last  atomic.Int64 // when that was, in Unix nanoseconds
}

func (r *renewal) begin() { r.begun.Add(1) }

func (r *renewal) end() {
	r.last.Store(time.Now().UnixNano())
	r.done.Store(r.begun.Load())
}

// Renewed tells whether the room's own connection is being made anew, or was
// within this time. LiveKit ends the participant that was there before when the
// new one comes, and with it the participant's job.
func (r *Room) Renewed(within time.Duration) bool {
	begun, done := r.renewal.begun.Load(), r.renewal.done.Load()
	return begun != done || begun > 0 && time.Since(time.Unix(0, r.renewal.last.Load())) < within
}

// sidWithin is how long the room's id is waited for: a server tells it as the
// room is joined, or somewhat later.
const sidWithin = 200 * time.Millisecond

// SID is the server's id of the room: another room of the same name has another.
// It is empty when the server does not tell.
func (r *Room) SID() string {
	told := make(chan string, 1)
	go func() { // until the server tells, or the room is left
		var sid string
		_ = crew.Guard(func() error { sid = r.sdk.SID(); return nil }) // none is as good as a late one
		told <- sid
	}()
	late := time.NewTimer(sidWithin)
	defer late.Stop()
	select {
	case sid := <-told:
		return sid
	case <-late.C:
		return ""
	}
}
