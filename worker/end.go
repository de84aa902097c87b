package worker

import (
	"errors"

	"headstart/turn"
	"headstart/worker/dispatch"
	"headstart/worker/room"
)

// How a call may end. The two reasons of the wire that are not here cannot
// happen: nothing transfers a call, and no app's socket holds one.
var (
	endHungUp     = turn.End{Reason: "caller_hung_up", By: "caller"}
	endNoAnswer   = turn.End{Reason: "no_answer", By: "platform"}
	endBusy       = turn.End{Reason: "busy", By: "caller"}
	endDialFailed = turn.End{Reason: "dial_failed", By: "platform"}
	endSupervisor = turn.End{Reason: "supervisor_ended", By: "supervisor"}
	endDrained    = turn.End{Reason: "drained", By: "platform"}
	endError      = turn.End{Reason: "error", By: "platform"}
)

// endOfLeaving reads why the caller left; nil when they may come back. dialling
// says that we had called them and they had not answered yet.
func endOfLeaving(left room.CallerLeft, dialling bool) *turn.End {
	if dialling {
		switch left.Reason {
		case "USER_REJECTED":
			return new(endBusy)
		case "USER_UNAVAILABLE":
			return new(endNoAnswer)
		case "SIP_TRUNK_FAILURE":
			return new(endDialFailed)
		}
	}
	if left.Reason == "ROOM_DELETED" {
		return new(endSupervisor) // they did not leave: the room was taken from under them
	}
	if left.Final {
		return new(endHungUp)
	}
	return nil
}

// endOfRoom reads why the room is gone. A room that closes after its caller had
// left is the caller's end; one that is deleted, or from which the agent is
// taken, while the caller is there is somebody else's. Anything else broke.
func endOfRoom(reason string, callerGone bool) turn.End {
	switch {
	case callerGone:
		return endHungUp
	case reason == "ROOM_DELETED", reason == "ROOM_CLOSED", reason == "PARTICIPANT_REMOVED":
		return endSupervisor
	}
	return endError
}

// endOf reads why a call was ended from outside its room.
func endOf(cause error) turn.End {
	if end, ok := errors.AsType[turn.End](cause); ok {
		return end
	}
	if errors.Is(cause, dispatch.ErrTerminated) {
		return endSupervisor
	}
	return endDrained
}
