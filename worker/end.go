package worker

import (
	"errors"

	"headstart/turn"
	"headstart/worker/dispatch"
	"headstart/worker/room"
)

// How a call may end.
var (
	endHungUp     = turn.End{Reason: "caller_hung_up", By: "caller"}
	endNoAnswer   = turn.End{Reason: "no_answer", By: "platform"}
	endBusy       = turn.End{Reason: "busy", By: "caller"}
	endDialFailed = turn.End{Reason: "dial_failed", By: "platform"}
	endSupervisor = turn.End{Reason: "supervisor_ended", By: "supervisor"}
	// endTransferred: a person had the caller passed on, and somebody took them.
	endTransferred = turn.End{Reason: "transferred", By: "supervisor"}
	endDrained     = turn.End{Reason: "drained", By: "platform"}
	endDetached    = turn.End{Reason: "app_detached", By: "platform"}
	endError       = turn.End{Reason: "error", By: "platform"}
)

// endOfLeaving reads why the caller left; nil when they may come back. dialling
// says that we had called them and they had not answered yet.
func endOfLeaving(left room.CallerLeft, dialling bool) *turn.End {
	switch {
	case left.Reason == "ROOM_DELETED":
		return new(endSupervisor) // they did not leave: the room was taken from under them
	case dialling:
		return endOfDialling(left.Reason)
	case left.Final:
		return new(endHungUp)
	}
	return nil
}

// endOfDialling reads why a callee left who had not answered. What LiveKit's SIP
// service says of a trunk that fails is no reason that LiveKit's server knows:
// it passes CLIENT_INITIATED on.
func endOfDialling(reason string) *turn.End {
	switch reason {
	case "USER_REJECTED":
		return new(endBusy)
	case "USER_UNAVAILABLE":
		return new(endNoAnswer)
	case "SIP_TRUNK_FAILURE", "MEDIA_FAILURE", "CLIENT_INITIATED":
		return new(endDialFailed)
	}
	return nil
}

// endOfGone is the end of a call whose caller has not come back.
func endOfGone(dialling bool) turn.End {
	if dialling {
		return endDialFailed
	}
	return endHungUp
}

// endOfRoom reads why the room is gone, of a call whose caller had not left; came
// says that there was one. A room that is deleted, or from which the agent is
// taken, was so by somebody else. A room that closes by itself had nobody in it.
// Anything else broke, and another participant in the agent's place is no
// better: they have the caller now.
func endOfRoom(reason string, came bool) turn.End {
	switch {
	case reason == "ROOM_CLOSED" && !came:
		return endNoAnswer
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
