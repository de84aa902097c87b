package calllog

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"headstart/turn"
)

// Gone stands where an erasure took words away.
const Gone = "[erased]"

// Erasure says whose words go: those of a contact, in the calls that began, and
// the facts that were first held, no later than Until.
type Erasure struct {
	Org, Contact string
	Until        time.Time
}

// Erased is what a store took away for good.
type Erased struct {
	Calls   []string // whose words are gone, in the order of their ids
	Entries int      // of these calls' logs that were changed
	Facts   int      // held and closed ones, with their vectors
}

// Eraser is a store that forgets contacts.
type Eraser interface {
	// Erase takes everything of a contact out in one transaction: the facts with
	// their vectors, the words in the logs of the contact's calls, and the contact in
	// the facts of these calls. What comes for such a log later is kept without
	// words, and such a call is not remembered any more. Seqs, types, times, reasons
	// and figures stay. To erase nobody is no error.
	Erase(ctx context.Context, e Erasure) (Erased, error)
	// Contacts are the ids of all that an org has calls or facts of, in order.
	Contacts(ctx context.Context, org string) ([]string, error)
}

// structural are the fields of entries that hold no words of anybody: ids that
// the platform made, names of models and bases, and the words of the contract.
// Every other text is taken for somebody's.
var structural = map[string]bool{
	"speech_id": true, "supersedes": true, "call_id": true, "job": true, "source": true,
	"channel": true, "medium": true, "direction": true, "language": true, "state": true, "kind": true,
	"ended_by": true, "outcome": true, "evidence": true, "branches": true, "code": true, "op": true,
	"stt": true, "llm": true, "voice": true, "vad": true, "embedder": true, "model": true,
	"base": true, "preemptive": true, "preemptive_reason": true, "quota": true, "mode": true,
}

// opaque are fields that hold what somebody else made, in a shape that is not
// ours: numbers and names of fields in them may be words too.
var opaque = map[string]bool{"arguments": true, "output": true, "contact": true}

// WithoutWords is the entry as an erasure leaves it: what anybody said or wrote,
// and who it was, replaced by Gone; its seq, type and time, reasons of ends and
// figures as they are. To do it twice changes nothing.
func WithoutWords(entry turn.Entry) turn.Entry {
	if len(entry.Data) == 0 {
		return entry
	}
	decoder := json.NewDecoder(bytes.NewReader(entry.Data))
	decoder.UseNumber()
	var data any
	if decoder.Decode(&data) != nil {
		data = Gone // what is no JSON may be anything
	}
	before, _ := json.Marshal(data)   // what was decoded always marshals
	reason := entry.Type == endedType // of a fixed list there, and a sentence elsewhere
	after, _ := json.Marshal(wipe(data, reason))
	if !bytes.Equal(before, after) || !json.Valid(entry.Data) {
		entry.Data = after
	}
	return entry
}

// wipe replaces what may be words in a decoded value.
func wipe(value any, reason bool) any {
	switch v := value.(type) {
	case string:
		return Gone
	case []any:
		for i := range v {
			v[i] = wipe(v[i], reason)
		}
	case map[string]any:
		for name, inner := range v {
			v[name] = wipeField(name, inner, reason)
		}
	}
	return value
}

func wipeField(name string, value any, reason bool) any {
	_, nested := value.(map[string]any)
	switch {
	case value == nil, structural[name] && !nested, reason && name == "reason" && !nested:
		return value
	case opaque[name]:
		return Gone
	case name == "changes" || name == "facts": // what is gone cannot be made again
		return []any{}
	}
	return wipe(value, reason)
}
