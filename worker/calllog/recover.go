package calllog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"headstart/memory"
	"headstart/turn"
)

// recoverWait bounds what a start waits for a store that does not answer.
const recoverWait = 2 * time.Second

// freshAge is how old a spool without a name must be to be nobody's.
const freshAge = time.Minute

// Recovered is a log that a dead process left in the spool folder.
type Recovered struct {
	Org     string
	Call    string // empty for an agent's own log
	Agent   string
	Entries int  // that the spool held, ephemeral ones not counted
	Whole   bool // its process had sealed it; only the store lacked something
	// Sealed: the log is closed now. False when the store, which may hold more
	// of it than the spool, did not answer: Run closes the log when it does. And
	// false when the call is still to be remembered: see Left.
	// An agent's log has no seal.
	Sealed bool
}

// Recover finds the spools that dead processes left, takes them over and closes
// the logs of calls that had no end: call.ended with reason "error", by the
// platform, then call.summary. Run brings them to the store. The spool is
// written before the store, so a recovery that is killed is taken up by the
// next one and closes nothing twice. Spools of living processes are not
// touched. It waits at most two seconds for the store. An error names spools
// that could not be read and stay as they are; the others are recovered.
func (b *Book) Recover(ctx context.Context) ([]Recovered, error) {
	logs, entries, err := b.adoptAll()
	wait, cancel := context.WithTimeoutCause(ctx, recoverWait,
		fmt.Errorf("store did not answer within %s", recoverWait))
	defer cancel()
	recovered := make([]Recovered, len(logs))
	for i, l := range logs {
		r := Recovered{Org: l.org, Call: l.call, Agent: l.agent, Entries: entries[i], Whole: l.Sealed()}
		// Run tries again, and tells of a store that stays away.
		if wait.Err() == nil && b.resolve(wait, l) != nil {
			cancel()
		}
		r.Sealed = l.Sealed()
		recovered[i] = r
	}
	return recovered, err
}

// adoptAll loads every spool that nobody holds.
func (b *Book) adoptAll() (logs []*Log, entries []int, err error) {
	files, err := os.ReadDir(b.cfg.Dir)
	if err != nil {
		return nil, nil, fmt.Errorf("list spools: %w", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var errs []error
	for _, file := range files {
		path := filepath.Join(b.cfg.Dir, file.Name())
		switch {
		case strings.HasSuffix(path, freshSuffix):
			errs = append(errs, sweep(path))
		case strings.HasSuffix(path, spoolSuffix):
			if b.holds(path) {
				continue
			}
			l, count, err := b.load(path)
			if errors.Is(err, ErrOwned) || errors.Is(err, fs.ErrNotExist) {
				continue // its process lives, or has just finished with it
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("recover %s: %w", file.Name(), err))
				continue
			}
			b.logs = append(b.logs, l)
			ring(b.unsent)
			logs, entries = append(logs, l), append(entries, count)
		}
	}
	return logs, entries, errors.Join(errs...)
}

// holds tells whether this process writes the spool. The caller holds mu.
func (b *Book) holds(path string) bool {
	return slices.ContainsFunc(b.logs, func(l *Log) bool { return l.spool.path == path })
}

// sweep removes a spool whose process died before it had a name. A young one
// may not be locked yet.
func sweep(path string) error {
	if at, err := os.Stat(path); err != nil || time.Since(at.ModTime()) < freshAge {
		return nil
	}
	s, err := adopt(path, func(turn.Entry) {})
	if errors.Is(err, ErrOwned) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.remove()
}

// load makes a log of a spool that a dead process left, and counts its entries.
func (b *Book) load(path string) (*Log, int, error) {
	l := &Log{book: b, left: true, writings: map[int64]memory.Writing{}}
	entries, headed := 0, false
	var headErr error
	s, err := adopt(path, func(entry turn.Entry) {
		if entry.Seq == 0 {
			headErr = l.identify(entry)
			headed = true
			return
		}
		l.reread(entry)
		if !entry.Ephemeral {
			entries++
		}
	})
	if err != nil {
		return nil, 0, err
	}
	if !headed {
		headErr = errors.New("read spool header: there is none")
	}
	if headErr != nil {
		return nil, 0, errors.Join(headErr, s.close())
	}
	l.spool = s
	return l, entries, nil
}

// identify takes the log's name from its spool.
func (l *Log) identify(entry turn.Entry) error {
	h, err := readHeader(entry)
	if err != nil {
		return err
	}
	l.org, l.call, l.agent, l.name, l.started = h.Org, h.Call, h.Agent, LogName(h.Call, h.Agent), entry.Time
	return nil
}

// reread takes in an entry that the spool holds.
func (l *Log) reread(entry turn.Entry) {
	if entry.Seq != l.seq+1 {
		l.holes = true
	}
	l.seq = entry.Seq
	if !entry.Ephemeral {
		l.take(entry)
	}
}

// resolve asks the store, once a log, what it holds beyond the spool, so that
// no seq is used twice; and it closes the log of a call that a dead process
// left open.
func (b *Book) resolve(ctx context.Context, l *Log) error {
	l.mu.Lock()
	seq, holes, known := l.seq, l.holes, l.resolved || l.sealed
	l.resolved = known
	l.mu.Unlock()
	if known {
		return nil
	}
	page, err := b.entries(ctx, l.org, l.name, seq, 1)
	if err != nil {
		return err
	}
	if ahead := page.Highest > seq; l.call != "" && (ahead || holes) && !page.Sealed {
		if err := b.recount(ctx, l); err != nil {
			return err
		}
	}
	l.continueAfter(page)
	if l.call != "" {
		b.close(l)
	}
	return nil
}

// close seals the log of a call that a dead process left, or only ends it when
// there is something to remember of it first.
func (b *Book) close(l *Log) {
	if b.cfg.Remembers == nil || !b.cfg.Remembers(l.agent) || !l.endUnremembered() {
		l.Seal()
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left = append(b.left, l)
	ring(b.leftNews)
}

// endUnremembered writes call.ended unless it is there, and tells whether the
// call taught something about somebody that is not kept yet.
func (l *Log) endUnremembered() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sealed || l.done || l.facts.contact == "" || l.facts.tally.Turns == 0 || l.facts.remembered {
		return false
	}
	if l.facts.ended.IsZero() {
		l.add(entryOf(l.facts.end()))
	}
	return true
}

// Left yields the logs of calls that dead processes left before what they
// taught was kept, each once, until ctx ends. They are ended and wait for their
// seal: whoever takes one calls Seal, whatever comes of it. One reader at a time.
func (b *Book) Left(ctx context.Context) iter.Seq[*Log] {
	return func(yield func(*Log) bool) {
		for {
			for l := b.nextLeft(); l != nil; l = b.nextLeft() {
				if !yield(l) {
					return
				}
			}
			select {
			case <-ctx.Done():
				return
			case <-b.leftNews:
			}
		}
	}
}

func (b *Book) nextLeft() *Log {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.left) == 0 {
		return nil
	}
	l := b.left[0]
	b.left = b.left[1:]
	return l
}

// continueAfter takes over what the store knows of the log.
func (l *Log) continueAfter(page Page) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.resolved {
		return
	}
	l.resolved = true
	if page.Highest > l.seq {
		// A log comes to the store in order: it has all below its highest.
		l.seq, l.durable, l.shipped = page.Highest, page.Highest, page.Highest
		l.holes = true
	}
	l.sealed = l.sealed || page.Sealed
}

// recount rebuilds the facts of a log from its spool and the store together.
func (b *Book) recount(ctx context.Context, l *Log) error {
	l.mu.Lock()
	past := l.older()
	l.mu.Unlock()
	past.before, past.store = math.MaxInt64, true
	var whole facts
	for after := int64(0); ; {
		entries, err := past.read(ctx, after, readAhead)
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			break
		}
		for _, entry := range entries {
			whole.note(entry)
		}
		after = entries[len(entries)-1].Seq
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.resolved {
		l.facts = whole
	}
	return nil
}
