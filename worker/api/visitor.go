package api

import (
	"context"

	"go.uber.org/zap"

	"headstart/worker/caller"
)

// Door lets visitors into rooms.
type Door interface {
	// Token is what a browser needs to join the room by itself, and who it will
	// be there.
	Token(room string) (token, identity string, err error)
	// Dial joins the room for a visitor who types. It has a deadline of its own.
	Dial(ctx context.Context, room string) (Visitor, error)
}

// Visitor is in a room for somebody who types.
type Visitor interface {
	// Run tells what happens, in order and from one goroutine, until the room is
	// gone (nil) or ctx ends; then the room is left. It is called once.
	Run(ctx context.Context, hear func(Event)) error
	// Type sends the agent a text. It has a deadline of its own, and may be
	// called from any goroutine.
	Type(ctx context.Context, text string) error
}

// The types of events.
const (
	TypeAgent       = "agent"       // an agent came or went: There
	TypeState       = "state"       // what the agent does: State
	TypeTranscript  = "transcript"  // a segment's words so far: Who, Segment, Text, Final
	TypeUndelivered = "undelivered" // the agent never got what was typed: Segment
	TypeEnd         = "end"         // the last one: Reason
)

// Who said a transcript.
const (
	WhoVisitor = "visitor"
	WhoAgent   = "agent"
)

// Event is what the page shows of a visit. Of a transcript's events, one that
// the next one replaces may be left out for a reader who comes late.
type Event struct {
	Seq     int64  `json:"seq"` // from 1, growing; it may skip
	Type    string `json:"type"`
	There   bool   `json:"there,omitempty"`
	State   string `json:"state,omitempty"` // LiveKit's: "listening", "thinking", "speaking"
	Who     string `json:"who,omitempty"`
	Segment string `json:"segment,omitempty"`
	Text    string `json:"text,omitempty"`  // all of the segment so far: it replaces what was shown
	Final   bool   `json:"final,omitempty"` // the words will not change
	// Reason is why the visit ended: "hung_up", "idle", "unwatched", "left" (the
	// agent ended it), "lost" or "closing".
	Reason string `json:"reason,omitempty"`
}

// door is the way in through LiveKit.
type door struct {
	config Config
	log    *zap.Logger
}

func (d door) caller(room string) caller.Config {
	return caller.Config{
		URL: d.config.URL, APIKey: d.config.APIKey, APISecret: d.config.APISecret, Room: room, Kind: caller.Web,
		AgentName: d.config.AgentName, JobMetadata: d.config.JobMetadata, Log: d.log,
	}
}

func (d door) Token(room string) (token, identity string, err error) {
	return caller.Token(d.caller(room))
}

func (d door) Dial(ctx context.Context, room string) (Visitor, error) {
	cfg := d.caller(room)
	cfg.Written = true
	c, err := caller.Dial(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return guest{c}, nil
}

// guest is a visitor in a LiveKit room.
type guest struct{ caller *caller.Caller }

func (g guest) Type(ctx context.Context, text string) error { return g.caller.Chat(ctx, text) }

// Run returns after the caller's own Run, which closes the events.
func (g guest) Run(ctx context.Context, hear func(Event)) error {
	ended := make(chan error, 1)
	go func() { ended <- g.caller.Run(ctx) }()
	for event := range g.caller.Events() {
		if e, ok := g.translate(event); ok {
			hear(e)
		}
	}
	return <-ended
}

// translate is false for what the page has no use for. Why the room is gone
// is told by how Run ends.
func (g guest) translate(event caller.Event) (Event, bool) {
	switch e := event.(type) {
	case caller.AgentJoined:
		return Event{Type: TypeAgent, There: true}, true
	case caller.AgentLeft:
		return Event{Type: TypeAgent}, true
	case caller.AgentState:
		return Event{Type: TypeState, State: e.State}, true
	case caller.Transcript:
		who := WhoAgent
		if e.Identity == g.caller.Identity() {
			who = WhoVisitor
		}
		return Event{Type: TypeTranscript, Who: who, Segment: e.Segment, Text: e.Text, Final: e.Final}, true
	}
	return Event{}, false
}
