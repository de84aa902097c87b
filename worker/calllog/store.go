package calllog

import (
	"context"
	"errors"
	"time"

	"headstart/memory"
	"headstart/turn"
)

// DefaultOrg is the tenant of a worker that was told no other.
const DefaultOrg = "default"

var (
	// ErrConflict means that the store holds another entry under the same seq:
	// two processes wrote one log. The spool is kept.
	ErrConflict = errors.New("seq is taken by another entry")
	// ErrSealed means that a new entry came for a log that the store holds sealed.
	ErrSealed = errors.New("log is sealed")
	// ErrUnknownCall means that no such call is known in this org.
	ErrUnknownCall = errors.New("call is unknown")
	// ErrOwned means that another process writes this log.
	ErrOwned = errors.New("log is owned by another process")
	// ErrOpen means that this process writes this log already, or that a dead
	// one left its spool and Recover has not run.
	ErrOpen = errors.New("log is already open")
)

// Store keeps logs. store/storetest holds its contract.
type Store interface {
	// Append writes a batch whole or not at all. It is idempotent by (org, log,
	// seq): an entry that is there already is left as it is, even when an
	// erasure changed its words since. It returns ErrConflict when the entry
	// there has another type or time, and ErrSealed when an entry is new to a
	// log that was sealed before. Ephemeral entries leave no row.
	Append(ctx context.Context, batch Batch) error
	// Entries returns at most limit entries of a log with a seq above after, in
	// order. A log that is not there is an empty page, not an error.
	Entries(ctx context.Context, org, log string, after int64, limit int) (Page, error)
}

// Calls lists calls for operators.
type Calls interface {
	// Call returns one call, or ErrUnknownCall.
	Call(ctx context.Context, org, id string) (Call, error)
	// Calls returns at most limit calls, the newest first, ties by id.
	Calls(ctx context.Context, org string, limit int) ([]Call, error)
}

// Batch is what one transaction brings to the store. Its entries may belong to
// several logs of the org; those of one log are in order.
type Batch struct {
	Org     string
	Entries []turn.Entry
	// Calls are the facts of calls that changed. A call is marked sealed only
	// in the batch that brings its last entry, or after it. Facts never go
	// back: what is sealed stays so, an end that is known is not forgotten.
	Calls []Call
	// Memories are what calls of these entries taught. They are written in the same
	// transaction, each once for its org and call, as memory.Notebook has it.
	Memories []memory.Writing
}

// Page is a piece of a log.
type Page struct {
	Entries []turn.Entry
	Highest int64 // the highest seq known, 0 in a log that is empty
	Sealed  bool  // nothing will be written after Highest
}

// ended tells that a reader which has read up to after has read all there will be.
func (p Page) ended(after int64) bool { return p.Sealed && after >= p.Highest }

// Call is what an operator sees of a call at a glance.
type Call struct {
	Org     string
	ID      string
	Agent   string
	Started time.Time
	Ended   time.Time // when call.ended was written; zero while the call lasts
	Reason  string    // why it ended; empty while it lasts
	Sealed  bool      // the log is whole
	// Contact is who was on the line, by the platform's own id; empty for nobody,
	// and once an erasure took it away.
	Contact string
}

// LogName is the key of an entry's log: the call's id, or "@" and the agent's
// slug for an entry that belongs to no call.
func LogName(call, agent string) string {
	if call == "" {
		return "@" + agent
	}
	return call
}
