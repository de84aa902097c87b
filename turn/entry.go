package turn

import (
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// Entry is one line of a call's log, or of an agent's own log when Call is
// empty. Order is Seq, never Time.
type Entry struct {
	Seq       int64     // its place in its log, from 1, never reused
	Time      time.Time // when it was written
	Call      string    // the call's id; empty in an agent's own log
	Agent     string    // the agent's slug
	Type      string    // which event: "turn.user"
	Ephemeral bool      // a store may drop it, a slow reader may miss it
	Data      json.RawMessage
}

// wireEntry is an Entry as readers see it: the time in unix seconds with
// fractions, the call null in an agent's own log.
type wireEntry struct {
	Seq       int64           `json:"seq"`
	Time      json.Number     `json:"ts"`
	Call      *string         `json:"call"`
	Agent     string          `json:"agent"`
	Type      string          `json:"type"`
	Ephemeral bool            `json:"ephemeral"`
	Data      json.RawMessage `json:"data"`
}

// MarshalJSON writes the entry in the shape that the wire carries.
func (e Entry) MarshalJSON() ([]byte, error) {
	w := wireEntry{Seq: e.Seq, Time: unixSeconds(e.Time), Agent: e.Agent, Type: e.Type, Ephemeral: e.Ephemeral, Data: e.Data}
	if e.Call != "" {
		w.Call = &e.Call
	}
	if w.Data == nil {
		w.Data = json.RawMessage("{}")
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads the shape that MarshalJSON writes, and skips fields that
// it does not know.
func (e *Entry) UnmarshalJSON(b []byte) error {
	var w wireEntry
	if err := json.Unmarshal(b, &w); err != nil {
		return fmt.Errorf("read entry: %w", err)
	}
	seconds, err := w.Time.Float64()
	if err != nil {
		return fmt.Errorf("read entry time: %w", err)
	}
	*e = Entry{Seq: w.Seq, Time: fromUnixSeconds(seconds), Agent: w.Agent, Type: w.Type, Ephemeral: w.Ephemeral, Data: w.Data}
	if w.Call != nil {
		e.Call = *w.Call
	}
	return nil
}

// unixSeconds keeps microseconds, as many as a float64 holds exactly today.
func unixSeconds(t time.Time) json.Number {
	micros := t.UnixMicro()
	return json.Number(fmt.Sprintf("%d.%06d", micros/1e6, micros%1e6))
}

func fromUnixSeconds(s float64) time.Time {
	return time.UnixMicro(int64(math.Round(s * 1e6)))
}

// NewEntry makes the entry of an event; its place and its owner are the log's to give.
func NewEntry(event Event) (Entry, error) {
	data, err := json.Marshal(event)
	if err != nil {
		return Entry{}, fmt.Errorf("write %s: %w", event.EventType(), err)
	}
	return Entry{Type: event.EventType(), Ephemeral: ephemeral[event.EventType()], Data: data}, nil
}
