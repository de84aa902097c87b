package room_test

import (
	"testing"
	"time"

	"headstart/worker/caller"
	"headstart/worker/devserver/devservertest"
	"headstart/worker/room"
)

// The server grades connections each five seconds.
const grading = 4 * patience

func TestCopiesAgainstLossAreLeftOutOnAnExcellentConnection(t *testing.T) {
	t.Parallel()
	server := devservertest.Start(t)
	a := join(t, server, room.Config{})
	protections := room.Protections(a.Room)
	dial(t, server, caller.Config{})
	next[room.CallerJoined](t, a)
	deadline := time.After(grading)
	for {
		select {
		case on := <-protections:
			if !on {
				return
			}
		case <-deadline:
			t.Fatalf("still protected after %v", grading)
		}
	}
}
