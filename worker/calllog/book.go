package calllog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"go.uber.org/zap"

	"headstart/memory"
	"headstart/turn"
)

// probeSize is a block of most file systems.
const probeSize = 4096

// Book holds the logs that this process writes. Its methods may be called from
// any goroutine. A process has one.
type Book struct {
	cfg    Config
	store  Store
	logger *zap.Logger

	refused    atomic.Int64 // entries after a seal
	unspooled  atomic.Int64 // entries that a disk did not take yet, or never did
	failures   atomic.Int64 // store operations that failed
	diskBroken atomic.Bool  // told, and not yet told to be over

	// turnOf rotates who comes first in a batch; the shipper's alone.
	turnOf int

	// shipping is held by the batch that is on its way, and by an erasure.
	shipping sync.Mutex

	// mu guards the logs. A log's own mu may be taken while it is held, never
	// the other way round.
	mu   sync.Mutex
	logs []*Log // in the order of their beginning
	left []*Log // those that Left has yet to hand out

	leftNews chan struct{} // holds one when left grew
	unsent   chan struct{} // holds one when there is something to ship
	refusals chan struct{} // holds one when a disk begins to refuse
}

// Stats is what operators measure of a book.
type Stats struct {
	Logs          int   // logs whose entries are not all in the store, and those still open
	Unshipped     int64 // seqs between the store's last entry and the log's, over all logs
	Unspooled     int64 // entries that wait in memory for the disk
	Refused       int64 // entries that came after a seal, ever
	StoreFailures int64 // store operations that failed, ever
}

// Open makes the spool folder and looks whether it can be written. It starts
// nothing: call Recover, then Run.
func Open(cfg Config, store Store, logger *zap.Logger) (*Book, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("configure call log: %w", err)
	}
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make spool folder: %w", err)
	}
	if err := probe(cfg.Dir); err != nil {
		return nil, err
	}
	return &Book{cfg: cfg.withDefaults(), store: store, logger: logger.Named("calllog"),
		leftNews: make(chan struct{}, 1), unsent: make(chan struct{}, 1), refusals: make(chan struct{}, 1)}, nil
}

// Probe tells whether the spool folder can be written now, by writing in it.
func (b *Book) Probe() error { return probe(b.cfg.Dir) }

// probe writes, for a full disk still makes an empty file.
func probe(dir string) error {
	file, err := os.CreateTemp(dir, "probe-*")
	if err != nil {
		return fmt.Errorf("write spool folder: %w", err)
	}
	_, err = file.Write(make([]byte, probeSize))
	if err := errors.Join(err, file.Close(), os.Remove(file.Name())); err != nil {
		return fmt.Errorf("write spool folder: %w", err)
	}
	return nil
}

// Begin opens the log of a call. The id must be new: a call is never taken up
// again. It asks no store. A disk that refuses is no error: the log lives in
// memory until the disk or the store takes it. Errors: ErrOpen, ErrOwned, an id
// that is empty, too long or begins with "@".
func (b *Book) Begin(call, agent string) (*Log, error) {
	if call == "" || strings.HasPrefix(call, "@") {
		return nil, fmt.Errorf("begin log: %q is no call's id", call)
	}
	l, err := b.newLog(call, agent)
	if err != nil {
		return nil, fmt.Errorf("begin log: %w", err)
	}
	l.resolved = true
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.find(l.org, l.name) != nil {
		return nil, fmt.Errorf("begin log of call %s: %w", call, ErrOpen)
	}
	if err := b.create(l); err != nil {
		return nil, fmt.Errorf("begin log of call %s: %w", call, err)
	}
	b.logs = append(b.logs, l)
	return l, nil
}

// openSpool makes the log's spool.
func (b *Book) openSpool(l *Log) error {
	head, err := headerEntry(header{Org: l.org, Call: l.call, Agent: l.agent}, l.started)
	if err != nil {
		return err
	}
	return l.spool.create(head)
}

// create makes the log's spool, or leaves that to later when the disk refuses.
func (b *Book) create(l *Log) error {
	err := b.openSpool(l)
	if errors.Is(err, ErrOwned) || errors.Is(err, ErrOpen) {
		return err
	}
	if err != nil {
		b.diskFailed(err)
	}
	return nil
}

// BeginAgent opens an agent's own log, or returns it when this process has it
// open. It continues after the last entry of the store, so it needs the store
// unless the log is open. Errors: ErrOwned, the store's.
func (b *Book) BeginAgent(ctx context.Context, agent string) (*Log, error) {
	if agent == "" {
		return nil, errors.New("begin log: agent has no slug")
	}
	l, err := b.openAgent(agent)
	if err != nil {
		return nil, fmt.Errorf("begin log of agent %s: %w", agent, err)
	}
	if err := b.resolve(ctx, l); err != nil {
		return nil, fmt.Errorf("begin log of agent %s: %w", agent, err)
	}
	return l, nil
}

// openAgent finds, adopts or creates the agent's log.
func (b *Book) openAgent(agent string) (*Log, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if l := b.find(b.cfg.Org, LogName("", agent)); l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.left = false
		return l, nil
	}
	l, err := b.newLog("", agent)
	if err != nil {
		return nil, err
	}
	err = b.create(l)
	if errors.Is(err, ErrOpen) { // left by a dead process
		l, _, err = b.load(l.spool.path)
	}
	if err != nil {
		return nil, err
	}
	l.left = false
	b.logs = append(b.logs, l)
	ring(b.unsent)
	return l, nil
}

func (b *Book) newLog(call, agent string) (*Log, error) {
	l := &Log{org: b.cfg.Org, call: call, agent: agent, name: LogName(call, agent), started: now(), book: b, writings: map[int64]memory.Writing{}}
	file, err := spoolName(l.org, l.name)
	if err != nil {
		return nil, err
	}
	l.spool.path = filepath.Join(b.cfg.Dir, file)
	return l, nil
}

// find returns the log of that name, or nil. The caller holds mu.
func (b *Book) find(org, name string) *Log {
	for _, l := range b.logs {
		if l.org == org && l.name == name {
			return l
		}
	}
	return nil
}

// live returns the log that this process writes, or nil.
func (b *Book) live(name string) *Log {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.find(b.cfg.Org, name)
}

// snapshot copies the list of logs, oldest first.
func (b *Book) snapshot() []*Log {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]*Log(nil), b.logs...)
}

// Live lists the calls whose logs this process holds, in the order of their
// beginning. They may not be in the store yet.
func (b *Book) Live() []Call {
	var calls []Call
	for _, l := range b.snapshot() {
		if l.call != "" {
			calls = append(calls, l.record())
		}
	}
	return calls
}

// Stats measures the book now.
func (b *Book) Stats() Stats {
	stats := Stats{Refused: b.refused.Load(), Unspooled: b.unspooled.Load(), StoreFailures: b.failures.Load()}
	for _, l := range b.snapshot() {
		l.mu.Lock()
		stats.Logs++
		stats.Unshipped += max(0, l.durable-l.shipped)
		l.mu.Unlock()
	}
	return stats
}

// Close lets go of the spools and leaves their files for the next start. Call
// it after Run has returned; logs refuse entries from then on.
func (b *Book) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var errs []error
	for _, l := range b.logs {
		l.mu.Lock()
		l.done = true
		l.wake()
		errs = append(errs, l.spool.close())
		l.mu.Unlock()
	}
	b.logs = nil
	return errors.Join(errs...)
}

// record is the call as the store keeps it.
func (l *Log) record() Call {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.recordLocked()
}

// recordLocked is record for a caller that holds mu.
func (l *Log) recordLocked() Call {
	return Call{
		Org: l.org, ID: l.call, Agent: l.agent, Started: l.started,
		Ended: l.facts.ended, Reason: l.facts.reason, Sealed: l.sealed, Contact: l.facts.contact,
	}
}

// ring notes news for whoever waits on a channel of one place.
func ring(bell chan<- struct{}) {
	select {
	case bell <- struct{}{}:
	default: // there is news already
	}
}

// diskFailed tells once that a disk refuses.
func (b *Book) diskFailed(err error) {
	if b.diskBroken.CompareAndSwap(false, true) {
		ring(b.refusals)
		b.logger.Error("spool is not written, entries wait in memory", zap.Error(err))
	}
}

var _ turn.Log = (*Log)(nil)
