package caller_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"headstart/worker/caller"
)

// Closed is the last event, whatever the room's server tells after it.
func TestClosedIsTheLastEvent(t *testing.T) {
	t.Parallel()
	joined, left, closed := caller.AgentJoined{Identity: "a"}, caller.AgentLeft{Identity: "a"}, caller.Closed{Reason: "ROOM_DELETED"}
	for _, tt := range []struct {
		name         string
		events, want []caller.Event
		over         bool
	}{
		{"nothing", nil, nil, false},
		{"it goes on", []caller.Event{joined, left}, nil, false},
		{"closed", []caller.Event{joined, closed}, []caller.Event{joined, closed}, true},
		{"closed, then the agent leaves", []caller.Event{joined, closed, left}, []caller.Event{joined, closed}, true},
	} {
		last, over := caller.UntilClosed(tt.events)
		if diff := cmp.Diff(tt.want, last); over != tt.over || over && diff != "" {
			t.Errorf("%s: over %v, (-want +got):\n%s", tt.name, over, diff)
		}
	}
}
