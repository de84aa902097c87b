package room_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headstart/worker/caller"
	"headstart/worker/devserver/devservertest"
	"headstart/worker/room"
)

// The note of what a caller typed may come before the note that they are there.
func TestWhatIsTypedBeforeTheCallerIsKnownIsHeard(t *testing.T) {
	t.Parallel()
	server := devservertest.Start(t)
	a := join(t, server, room.Config{})
	for i := range 20 { // and somebody else's is not
		room.Typed(a.Room, "ben", fmt.Sprint(i))
	}
	room.Typed(a.Room, "anna", "hola")
	dial(t, server, caller.Config{Identity: "anna"})
	next[room.CallerJoined](t, a)
	if diff := cmp.Diff(room.Chat{Text: "hola"}, next[room.Chat](t, a)); diff != "" {
		t.Fatalf("heard (-want +got):\n%s", diff)
	}
}

// A client types the moment it sees that the agent is in some state, again and
// again in another room: none is lost.
func TestWhatIsTypedAsTheAgentListensIsHeard(t *testing.T) {
	t.Parallel()
	server := devservertest.Start(t)
	for i := range 10 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			c := dial(t, server, caller.Config{Identity: "anna"})
			a := join(t, server, room.Config{})
			if err := a.SetState(within(t), "listening"); err != nil {
				t.Fatal(err)
			}
			ctx := within(t)
			for told := false; !told; {
				select {
				case e := <-c.Events():
					_, told = e.(caller.AgentState)
				case <-ctx.Done():
					t.Fatal("no state is told")
				}
			}
			if err := c.Chat(ctx, "hola"); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(room.Chat{Text: "hola"}, next[room.Chat](t, a)); diff != "" {
				t.Fatalf("heard (-want +got):\n%s", diff)
			}
		})
	}
}
