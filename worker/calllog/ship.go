package calllog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"headstart/memory"
	"headstart/turn"
)

// Run brings entries to the store until ctx ends, then makes one last attempt
// of bounded length and returns nil; what is left stays in the spools for the
// next start. It never returns early: a store that refuses is tried again.
func (b *Book) Run(ctx context.Context) error {
	var spools sync.WaitGroup
	spools.Go(func() { b.tendSpools(ctx) })
	b.ship(ctx)
	spools.Wait()
	// The process is ending, but a short while more may save the next start its work.
	last, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), b.cfg.LastAttempt,
		fmt.Errorf("last attempt took %s", b.cfg.LastAttempt))
	defer cancel()
	b.finish(last)
	return nil
}

// ship sends batches. It waits between them, longer while the store refuses,
// and not at all while a full batch shows that there is more. While the store
// has everything it rests: a process that sleeps is not woken for nothing.
func (b *Book) ship(ctx context.Context) {
	var backoff time.Duration
	failed := 0
	for b.awaitEntries(ctx) && b.pause(ctx, max(b.cfg.FlushEvery, backoff)) {
		more, err := true, error(nil)
		for more && err == nil && ctx.Err() == nil {
			more, err = b.round(ctx)
		}
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			failed++
			backoff = min(max(2*backoff, b.cfg.FlushEvery), b.cfg.MaxBackoff)
			b.storeFailed(failed, err)
		case failed > 0:
			b.logger.Info("log store is back", zap.Int("failures", failed))
			failed, backoff = 0, 0
		}
	}
}

// awaitEntries waits until there is something that the store has not.
func (b *Book) awaitEntries(ctx context.Context) bool {
	for !slices.ContainsFunc(b.snapshot(), (*Log).owes) {
		select {
		case <-ctx.Done():
			return false
		case <-b.unsent:
		}
	}
	return ctx.Err() == nil
}

// owes tells whether the store is still to be given something of the log.
func (l *Log) owes() bool {
	if l.parked {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.resolved || l.shipped < l.durable || l.call != "" && l.sent != l.recordLocked()
}

// storeFailed tells the first failure of a row, and each that follows at debug.
func (b *Book) storeFailed(failed int, err error) {
	b.failures.Add(1)
	if failed == 1 {
		b.logger.Error("log store refuses, entries wait in spools", zap.Error(err))
		return
	}
	b.logger.Debug("log store refuses still", zap.Int("failures", failed), zap.Error(err))
}

func (b *Book) pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// finish is the last attempt.
func (b *Book) finish(ctx context.Context) {
	b.retrySpools()
	more, err := true, error(nil)
	for more && err == nil && ctx.Err() == nil {
		more, err = b.round(ctx)
	}
	b.syncSpools()
	left := b.Stats()
	if err != nil || left.Unshipped > 0 {
		b.logger.Warn("entries stay in spools for the next start", zap.Int("logs", left.Logs), zap.Int64("seqs", left.Unshipped), zap.Error(err))
	}
}

// parcel is what one log adds to a batch.
type parcel struct {
	log      *Log
	entries  []turn.Entry
	memories []memory.Writing // that the entries tell of
	call     *Call            // nil when the store knows all of it
}

// round sends one batch of all logs that have something, and reports whether
// there may be more at once.
func (b *Book) round(ctx context.Context) (bool, error) {
	b.shipping.Lock()
	defer b.shipping.Unlock()
	parcels, full, err := b.collect(ctx)
	var orgs []string
	byOrg := map[string][]parcel{}
	for _, p := range parcels {
		if byOrg[p.log.org] == nil {
			orgs = append(orgs, p.log.org)
		}
		byOrg[p.log.org] = append(byOrg[p.log.org], p)
	}
	for _, org := range orgs {
		if sendErr := b.send(ctx, org, byOrg[org]); sendErr != nil {
			return false, errors.Join(err, sendErr)
		}
	}
	return full, err
}

// collect takes the next entries of each log until the batch is full, and
// begins each time with another log, so that none starves. A log that cannot be
// read does not keep the others waiting.
func (b *Book) collect(ctx context.Context) (parcels []parcel, full bool, err error) {
	logs := b.snapshot()
	room := b.cfg.Batch
	b.turnOf++
	for i := range logs {
		l := logs[(i+b.turnOf)%len(logs)]
		if l.parked {
			continue
		}
		if room == 0 {
			return parcels, true, err
		}
		p, logErr := b.pack(ctx, l, room)
		if logErr != nil {
			err = errors.Join(err, logErr)
			continue
		}
		if p.call != nil || len(p.entries) > 0 {
			parcels = append(parcels, p)
			room -= len(p.entries)
		}
	}
	return parcels, room == 0, err
}

// pack takes at most limit entries of the log that the store has not, and the
// call's facts when they changed.
func (b *Book) pack(ctx context.Context, l *Log, limit int) (parcel, error) {
	if err := b.resolve(ctx, l); err != nil {
		return parcel{}, err
	}
	p := parcel{log: l}
	l.mu.Lock()
	call, sent, durable, last := l.recordLocked(), l.sent, l.durable, l.shipped
	inMemory := last+1 >= l.floor()
	if inMemory {
		p.entries = l.unshipped(limit)
	}
	past := l.older()
	l.mu.Unlock()
	if !inMemory {
		past.before = math.MaxInt64
		var err error
		if p.entries, err = past.local(last, limit); err != nil {
			return parcel{}, err
		}
	}
	if n := len(p.entries); n > 0 {
		last = p.entries[n-1].Seq
	}
	p.memories = l.memories(p.entries)
	call.Sealed = call.Sealed && last >= durable
	if l.call != "" && call != sent {
		p.call = &call
	}
	return p, nil
}

// memories are the writings that entries of the log tell of.
func (l *Log) memories(entries []turn.Entry) (list []memory.Writing) {
	for _, entry := range entries {
		var ops turn.MemoryOps
		if entry.Type != opsType || l.call == "" || json.Unmarshal(entry.Data, &ops) != nil || ops.Op != turn.OpRemember {
			continue
		}
		l.mu.Lock()
		w, ok := l.writings[entry.Seq]
		l.mu.Unlock()
		if !ok {
			w = ops.Writing(l.org, l.call, entry.Time)
		}
		list = append(list, w)
	}
	return list
}

// unshipped returns the durable entries that the store has not, from memory.
// The caller holds mu and has seen that memory reaches so far back.
func (l *Log) unshipped(limit int) []turn.Entry {
	var entries []turn.Entry
	for _, entry := range l.recent[l.shipped+1-l.floor():] {
		if len(entries) == limit {
			break
		}
		if !entry.Ephemeral {
			entries = append(entries, entry)
		}
	}
	return entries
}

// send brings the parcels of one org to the store in one transaction. When the
// store refuses one log for good, each goes alone and that one is parked: its
// spool stays for somebody to look at.
func (b *Book) send(ctx context.Context, org string, parcels []parcel) error {
	err := b.append(ctx, org, parcels)
	if !errors.Is(err, ErrConflict) && !errors.Is(err, ErrSealed) {
		return err
	}
	if len(parcels) == 1 {
		l := parcels[0].log
		l.parked = true
		b.failures.Add(1)
		b.logger.Error("log does not fit the store's, its spool stays", zap.String("log", l.name), zap.Error(err))
		return nil
	}
	for _, p := range parcels {
		if err := b.send(ctx, org, []parcel{p}); err != nil {
			return err
		}
	}
	return nil
}

func (b *Book) append(ctx context.Context, org string, parcels []parcel) error {
	batch := Batch{Org: org}
	for _, p := range parcels {
		batch.Entries = append(batch.Entries, p.entries...)
		batch.Memories = append(batch.Memories, p.memories...)
		if p.call != nil {
			batch.Calls = append(batch.Calls, *p.call)
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, b.cfg.StoreTimeout,
		fmt.Errorf("store did not answer within %s", b.cfg.StoreTimeout))
	defer cancel()
	if err := b.store.Append(ctx, batch); err != nil {
		return fmt.Errorf("ship %d entries: %w", len(batch.Entries), err)
	}
	for _, p := range parcels {
		b.settle(p)
	}
	return nil
}

// settle notes what the store has taken, and lets the log go when that is all.
func (b *Book) settle(p parcel) {
	l := p.log
	b.mu.Lock()
	defer b.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(p.entries); n > 0 {
		l.shipped = p.entries[n-1].Seq
		l.forget()
	}
	if p.call != nil {
		l.sent = *p.call
	}
	if !l.over() {
		return
	}
	l.done = true
	l.wake()
	b.logs = slices.DeleteFunc(b.logs, func(other *Log) bool { return other == l })
	if err := l.spool.remove(); err != nil {
		b.logger.Error("spool is not removed", zap.String("log", l.name), zap.Error(err))
	}
}

// forget drops entries that wait for the disk and that the store has meanwhile.
// The caller holds mu.
func (l *Log) forget() {
	maps.DeleteFunc(l.writings, func(seq int64, _ memory.Writing) bool { return seq <= l.shipped })
	n := 0
	for n < len(l.unspooled) && l.unspooled[n].Seq <= l.shipped {
		l.holes = l.holes || !l.unspooled[n].Ephemeral
		n++
	}
	l.unspooled = l.unspooled[n:]
	l.book.unspooled.Add(-int64(n))
}

// over tells that the store has all and nobody will write more: a sealed call,
// or an agent's log that a dead process left. The caller holds mu.
func (l *Log) over() bool {
	if l.shipped < l.durable || !l.resolved {
		return false
	}
	return l.sent.Sealed || l.call == "" && l.left
}
