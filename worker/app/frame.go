package app

import (
	"errors"
	"time"

	"headstart/turn"
)

// Configured tells, in the agent's own log and to the app, what is declared now.
type Configured struct {
	ID    string   `json:"id,omitempty"` // of the command; in no log
	By    string   `json:"by"`           // "app"
	Tools []string `json:"tools"`        // names, as declared; never null
}

// released tells that the app holds the agent no more.
type released struct {
	ID string `json:"id,omitempty"`
}

// pong answers a ping.
type pong struct {
	ID string `json:"id,omitempty"`
}

// Refused is why a command was not obeyed: an error that names its id.
type Refused struct {
	ID          string `json:"id,omitempty"`
	Code        string `json:"code"`    // one of the Code constants
	Message     string `json:"message"` // the reason, in words
	Recoverable bool   `json:"recoverable"`
}

// EventType implements turn.Event.
func (Configured) EventType() string { return "agent.configured" }
func (released) EventType() string   { return "agent.released" }
func (pong) EventType() string       { return "pong" }
func (Refused) EventType() string    { return "error" }

// reply is a frame that answers a command and stands in no log: seq 0.
func reply(c Command, ev turn.Event) *turn.Entry {
	frame, err := turn.NewEntry(ev)
	if err != nil { // strings always marshal
		panic(err)
	}
	frame.Time, frame.Agent, frame.Call, frame.Ephemeral = time.Now(), c.Agent, c.Call, true
	return &frame
}

func refused(c Command, err error) *turn.Entry {
	why := Refused{ID: c.ID, Code: CodeFrame, Message: err.Error(), Recoverable: true}
	if r, ok := errors.AsType[refusal](err); ok {
		why.Code = r.code
	}
	return reply(c, why)
}
