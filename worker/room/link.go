package room

import "github.com/livekit/protocol/livekit"

// link decides who the caller is and whether they are there. It is a pure step:
// each thing that happens gives the events that it means.
type link struct {
	want     string // the configured identity, or ""
	identity string // the caller's, once there is one
	present  bool
	over     bool // they left for good
	// reconnecting is set while the agent's own connection is made anew. The SDK
	// then reports everybody as gone for no reason, and as new afterwards.
	reconnecting bool
}

func (l *link) join(c Caller) []Event {
	switch {
	case l.over || l.present:
		return nil
	case l.identity == "" && l.want == "" && c.person(), l.identity == "" && l.want != "" && l.want == c.Identity:
		l.identity, l.present = c.Identity, true
		return []Event{CallerJoined{Caller: c}}
	case l.identity != "" && l.identity == c.Identity:
		l.present = true
		return []Event{CallerReturned{Caller: c}}
	}
	return nil
}

func (l *link) depart(identity string, reason livekit.DisconnectReason) []Event {
	if identity != l.identity || !l.present {
		return nil
	}
	if l.reconnecting && reason == livekit.DisconnectReason_UNKNOWN_REASON {
		return nil
	}
	l.present, l.over = false, final[reason]
	return []Event{CallerLeft{Reason: reason.String(), Final: l.over}}
}

func (l *link) reconnect() { l.reconnecting = true }

// reconnected ends a reconnect; there tells whether the caller is still in the room.
func (l *link) reconnected(there bool) []Event {
	l.reconnecting = false
	if !l.present || there {
		return nil
	}
	l.present = false
	return []Event{CallerLeft{Reason: livekit.DisconnectReason_UNKNOWN_REASON.String()}}
}

// linked tells whether identity is the caller's.
func (l *link) linked(identity string) bool { return l.identity != "" && identity == l.identity }
