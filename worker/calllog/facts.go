package calllog

import (
	"encoding/json"
	"time"

	"headstart/turn"
)

// The event types that a log itself understands.
var (
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
	tally       turn.CallSummary
}

// payload is what facts reads of the entries' data; other fields are skipped.
type payload struct {
	Reason      string `json:"reason"`      // call.ended
	Op          string `json:"op"`          // memory.ops
	Code        string `json:"code"`        // error
	Text        string `json:"text"`        // turn.agent
	Interrupted bool   `json:"interrupted"` // turn.agent
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
	case "turn.agent", "memory.ops", "error", endedType:
		f.notePayload(entry)
	}
}

func (f *facts) notePayload(entry turn.Entry) {
	var p payload
	if err := json.Unmarshal(entry.Data, &p); err != nil {
		p = payload{} // an event of another shape under a known name counts as an empty one
	}
	switch entry.Type {
	case "turn.agent":
		f.noteReply(p)
	case "memory.ops":
		if p.Op == "recall" {
			f.tally.Lookups++
		}
	case "error":
		f.noteError(p.Code)
	case endedType:
		f.ended, f.reason = entry.Time, p.Reason
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
	f.tally.Errors++
}

func (f *facts) duration() float64 { return f.last.Sub(f.first).Seconds() }

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
