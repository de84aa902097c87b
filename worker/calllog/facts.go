package calllog

import (
	"encoding/json"
	"time"

	"headstart/memory"
	"headstart/turn"
)

// The event types that a log itself understands.
var (
	startedType = turn.CallStarted{}.EventType()
	opsType     = turn.MemoryOps{}.EventType()
	endedType   = turn.CallEnded{}.EventType()
	summaryType = turn.CallSummary{}.EventType()
)

// The end that a log gets when its process could not write one.
const (
	reasonError     = "error"
	endedByPlatform = "platform"
)

// facts is what a log knows of its call from the entries so far: enough to
// close it when nobody else can. The zero value is a log without entries.
type facts struct {
	first, last time.Time
	ended       time.Time // zero while the call lasts
	reason      string
	lasted      float64 // what call.ended says of it, in seconds
	contact     string  // who is on the line; empty is nobody
	remembered  bool    // what the call taught was kept, or given up
	tally       turn.CallSummary
}

// payload is what facts reads of the entries' data; other fields are skipped.
type payload struct {
	Reason      string          `json:"reason"`      // call.ended
	Op          string          `json:"op"`          // memory.ops
	Code        string          `json:"code"`        // error
	Text        string          `json:"text"`        // turn.agent
	Interrupted bool            `json:"interrupted"` // turn.agent
	DurationS   float64         `json:"duration_s"`  // call.ended
	Contact     json.RawMessage `json:"contact"`     // call.started: an object with an id
}

// contactID reads whom call.started names.
func (p payload) contactID() string {
	var c memory.Contact
	if json.Unmarshal(p.Contact, &c) != nil {
		return "" // memory.ops names a contact by its id alone
	}
	return c.ID
}

// note takes one durable entry in, in order.
func (f *facts) note(entry turn.Entry) {
	if f.first.IsZero() {
		f.first = entry.Time
	}
	f.last = entry.Time
	switch entry.Type {
	case "turn.user":
		f.tally.Turns++
	case "docs.sources":
		f.tally.Lookups++
	case startedType, "turn.agent", opsType, "error", endedType:
		f.notePayload(entry)
	}
}

func (f *facts) notePayload(entry turn.Entry) {
	var p payload
	if err := json.Unmarshal(entry.Data, &p); err != nil {
		p = payload{} // an event of another shape under a known name counts as an empty one
	}
	switch entry.Type {
	case startedType:
		f.contact = p.contactID()
	case "turn.agent":
		f.noteReply(p)
	case opsType:
		f.noteMemory(p.Op)
	case "error":
		f.noteError(p.Code)
	case endedType:
		f.ended, f.reason, f.lasted = entry.Time, p.Reason, p.DurationS
	}
}

func (f *facts) noteMemory(op string) {
	switch op {
	case "recall":
		f.tally.Lookups++
	case "remember":
		f.remembered = true
	}
}

func (f *facts) noteReply(p payload) {
	if p.Text != "" {
		f.tally.Answered++
	}
	if p.Interrupted {
		f.tally.Interrupted++
	}
}

func (f *facts) noteError(code string) {
	if code == turn.CodeSearchSkipped || code == turn.CodeRecallSkipped {
		f.tally.Skipped++
		return
	}
	f.remembered = f.remembered || code == turn.CodeRememberFailed
	f.tally.Errors++
}

// duration is what call.ended says, and else the time between the first entry
// and the last.
func (f *facts) duration() float64 {
	if f.lasted > 0 {
		return f.lasted
	}
	return f.last.Sub(f.first).Seconds()
}

// end is the call.ended of a call whose owner wrote none.
func (f *facts) end() turn.CallEnded {
	return turn.CallEnded{Reason: reasonError, EndedBy: endedByPlatform, DurationS: f.duration()}
}

// summary closes the log from its own entries. It knows of no frames.
func (f *facts) summary(duration float64) turn.CallSummary {
	s := f.tally
	s.DurationS = duration
	return s
}
