package room_test

import (
	"testing"
	"time"

	"go.uber.org/zap"

	"headstart/turn/crew"
	"headstart/worker/caller"
	"headstart/worker/devserver/devservertest"
	"headstart/worker/room"
)

// A panic on any goroutine of a room ends its Run, which tells it, and leaves
// nothing of the room behind. Another room of the process goes on.
func TestAPanicEndsItsRoomAlone(t *testing.T) {
	t.Parallel()
	server := devservertest.Start(t)
	for kind, sabotage := range room.Sabotages {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			dial(t, server, caller.Config{Identity: "anna"})
			r, err := room.Join(t.Context(), room.Config{URL: server.URL, Token: agentToken(t, server, t.Name()), Log: zap.NewNop()})
			if err != nil {
				t.Fatalf("join: %v", err)
			}
			sabotage(r)
			ended := make(chan error, 1)
			go func() { ended <- r.Run(t.Context()) }()
			select {
			case err = <-ended:
			case <-time.After(patience):
				t.Fatal("the room goes on")
			}
			if crew.In(err) == nil {
				t.Fatalf("ended with %v", err)
			}
			for range r.Events() { // they close
			}
		})
	}
}
