package room

import "github.com/livekit/protocol/livekit"

// Event is something that happened in the room.
type Event interface{ event() }

// CallerJoined says who the caller is. It comes once, before all else of theirs.
type CallerJoined struct{ Caller Caller }

// CallerLeft says that the caller is gone. Final: they hung up, or the room was
// deleted. Otherwise the line broke, and they may be back under the same identity.
type CallerLeft struct {
	Reason string // LiveKit's name for it: "CLIENT_INITIATED", "CONNECTION_TIMEOUT"
	Final  bool
}

// CallerReturned says that a caller who had left is back.
type CallerReturned struct{ Caller Caller }

// Subscribed says that somebody hears the agent's track from now on. Speech
// that was queued before waits until then.
type Subscribed struct{}

// Chat is a text that the caller typed.
type Chat struct{ Text string }

// DTMF is a key that the caller pressed: "0" to "9", "*", "#", "A" to "D".
type DTMF struct{ Digit string }

// AttributesChanged tells new attributes of the caller, a phone call's status among them.
type AttributesChanged struct {
	Changed map[string]string // empty when deleted
	Caller  Caller            // with all attributes as they are now
}

// RoomClosed says that the room is gone for the agent. It is the last event.
type RoomClosed struct{ Reason string }

func (CallerJoined) event()      {}
func (CallerLeft) event()        {}
func (CallerReturned) event()    {}
func (Subscribed) event()        {}
func (Chat) event()              {}
func (DTMF) event()              {}
func (AttributesChanged) event() {}
func (RoomClosed) event()        {}

// final are the reasons after which nobody comes back. All others (a broken
// connection, a second session under the same identity, a removal) leave the
// caller the time that the call grants.
var final = map[livekit.DisconnectReason]bool{
	livekit.DisconnectReason_CLIENT_INITIATED: true,
	livekit.DisconnectReason_ROOM_DELETED:     true,
	livekit.DisconnectReason_USER_REJECTED:    true,
}
