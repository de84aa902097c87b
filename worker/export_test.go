package worker

import (
	"headstart/turn"
	"headstart/worker/room"
)

// EndOfLeaving reads why the caller left; nil when they may come back.
func EndOfLeaving(reason string, final, dialling bool) *turn.End {
	return endOfLeaving(room.CallerLeft{Reason: reason, Final: final}, dialling)
}

// EndOfRoom reads why a room is gone.
func EndOfRoom(reason string, came bool) turn.End { return endOfRoom(reason, came) }

// EndOf reads why a call was ended from outside its room.
func EndOf(cause error) turn.End { return endOf(cause) }
