package calllog

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"headstart/memory"
	"headstart/turn"
)

// codeUnwritten is the code of the error entry that stands for an event that
// could not be marshalled.
const codeUnwritten = "entry_unwritten"

// Log is the log of one call, or of one agent. It implements turn.Log. Its
// methods may be called from any goroutine.
type Log struct {
	org, call, agent string
	name             string // LogName
	started          time.Time
	book             *Book
	// shipping is the book's shipper's alone: the log waits for its place there.
	parked bool

	// mu guards all below. Append holds it for one write(2); nobody holds it
	// for a store.
	mu      sync.Mutex
	seq     int64 // the last one given
	durable int64 // the last one of an entry that is not ephemeral
	shipped int64 // the last one that the store has
	facts   facts
	sent    Call // the facts that the store has
	// writings are those of entries that the store has not, by seq.
	writings map[int64]memory.Writing
	// erased: the contact was forgotten, and with it the words to come.
	erased  bool
	sealed  bool
	refused int // entries that came after the seal
	// unspooled are the newest entries, which the disk did not take yet.
	unspooled []turn.Entry
	spool     spool
	// holes: the spool does not hold all that the store does.
	holes bool
	// left: a dead process left it; nobody writes it but the recovery.
	left bool
	// resolved: the store was asked what it holds beyond the spool.
	resolved bool
	done     bool // the store has all and the spool is gone
	// recent are the newest entries without a gap, for readers.
	recent []turn.Entry
	// news is closed when there is something new to read; nil while nobody waits.
	news chan struct{}
}

// Name is the key of the log: the call's id, or "@" and the agent's slug.
func (l *Log) Name() string { return l.name }

// Agent is the slug of the agent that it is of.
func (l *Log) Agent() string { return l.agent }

// Append gives the event its seq and keeps it before it returns. It waits for
// the local disk alone, never for a store or a reader. call.summary seals the
// log of a call; after that Append refuses.
func (l *Log) Append(event turn.Event) {
	entry := entryOf(event)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sealed || l.done {
		l.refuse(entry.Type)
		return
	}
	l.add(entry)
}

// Remember appends the entry that tells of a writing, with what the entry itself
// does not hold: the vectors. The store applies the writing in the transaction
// that brings the entry. After a crash it is made again of the entry, without
// vectors.
func (l *Log) Remember(ops turn.MemoryOps, w memory.Writing) {
	entry := entryOf(ops)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sealed || l.done {
		l.refuse(entry.Type)
		return
	}
	if !l.erased {
		w.Org, w.Call = l.org, l.call
		if w.At.IsZero() {
			w.At = now()
		}
		l.writings[l.seq+1] = w
	}
	l.add(entry)

}

// Seal closes the log of a call: it writes call.ended with reason "error" and
// call.summary unless they are there, and nothing is written after them. It is
// idempotent, and does nothing to an agent's log, which has no end.
func (l *Log) Seal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.call == "" || l.sealed || l.done {
		return
	}
	duration := l.facts.duration()
	if l.facts.ended.IsZero() {
		l.add(entryOf(l.facts.end()))
	}
	l.add(entryOf(l.facts.summary(duration)))
}

// Sealed tells whether the log is closed.
func (l *Log) Sealed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sealed
}

// add gives the entry its place. The caller holds mu.
func (l *Log) add(entry turn.Entry) {
	l.seq++
	entry.Seq, entry.Call, entry.Agent = l.seq, l.call, l.agent
	entry.Time = now()
	if l.erased {
		entry = WithoutWords(entry)
	}
	l.keep(entry)
	l.remember(entry)
	if entry.Ephemeral {
		return
	}
	l.take(entry)
	ring(l.book.unsent)
}

// take counts a durable entry in. The caller holds mu.
func (l *Log) take(entry turn.Entry) {
	l.durable = entry.Seq
	l.facts.note(entry)
	if entry.Type == summaryType && l.call != "" {
		l.sealed = true
	}
}

// keep writes the entry to the spool, behind those that still wait for the
// disk. The caller holds mu.
func (l *Log) keep(entry turn.Entry) {
	if len(l.unspooled) == 0 {
		err := l.spool.write(entry)
		if err == nil {
			return
		}
		l.book.diskFailed(err)
	}
	l.unspooled = append(l.unspooled, entry)
	l.book.unspooled.Add(1)
}

// remember keeps the entry for readers and wakes them. The caller holds mu.
func (l *Log) remember(entry turn.Entry) {
	window := l.book.cfg.Window
	if len(l.recent) >= 2*window {
		kept := copy(l.recent, l.recent[len(l.recent)-window:])
		clear(l.recent[kept:])
		l.recent = l.recent[:kept]
	}
	l.recent = append(l.recent, entry)
	l.wake()
}

// wake tells the readers that there is something new. The caller holds mu.
func (l *Log) wake() {
	if l.news != nil {
		close(l.news)
		l.news = nil
	}
}

// floor is the lowest seq from which recent has every entry. The caller holds mu.
func (l *Log) floor() int64 { return l.seq - int64(len(l.recent)) + 1 }

// refuse counts an entry that came after the seal. The caller holds mu.
func (l *Log) refuse(kind string) {
	l.refused++
	l.book.refused.Add(1)
	if l.refused == 1 {
		l.book.logger.Error("entry came after the seal", zap.String("log", l.name), zap.String("type", kind))
	}
}

// entryOf makes the event's entry. What cannot be marshalled becomes an error
// entry: it took a seq in the caller's mind, so it takes one here.
func entryOf(event turn.Event) (entry turn.Entry) {
	kind := "an event without a type"
	defer func() {
		if r := recover(); r != nil {
			entry = unwritten(kind, fmt.Errorf("marshal: panic: %v", r))
		}
	}()
	kind = event.EventType()
	if kind == "" || strings.ContainsAny(kind, " \r\n\x00") {
		return unwritten(fmt.Sprintf("%q", kind), fmt.Errorf("marshal: the type is not a word"))
	}
	entry, err := turn.NewEntry(event)
	if err != nil {
		return unwritten(kind, err)
	}
	return entry
}

func unwritten(kind string, cause error) turn.Entry {
	entry, err := turn.NewEntry(turn.Failure{
		Code: codeUnwritten, Message: fmt.Sprintf("%s was not written: %v", kind, cause), Recoverable: true,
	})
	if err != nil { // strings and a bool always marshal
		panic(fmt.Sprintf("marshal failure: %v", err))
	}
	return entry
}

// now is the time as precise as spools, stores and readers keep it.
func now() time.Time { return time.UnixMicro(time.Now().UnixMicro()) }
