package calllog

import (
	"context"
	"errors"
	"os"
	"time"

	"go.uber.org/zap"
)

// spoolChunk is how many waiting entries one write(2) takes to a spool, so that
// an Append never waits behind a long one.
const spoolChunk = 64

// tendSpools syncs the spools now and then, and gives what a disk refused to
// it again, until ctx ends. It runs beside the shipper, which a store may hold up.
func (b *Book) tendSpools(ctx context.Context) {
	synced := time.Now()
	for b.pauseSpools(ctx, synced.Add(b.cfg.SyncEvery)) {
		b.retrySpools()
		if time.Since(synced) >= b.cfg.SyncEvery {
			b.syncSpools()
			synced = time.Now()
		}
	}
}

// pauseSpools waits until the next sync is due, or the next try of a disk that refuses.
func (b *Book) pauseSpools(ctx context.Context, due time.Time) bool {
	if !b.diskBroken.Load() {
		timer := time.NewTimer(time.Until(due))
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
			return true
		case <-b.refusals:
		}
	}
	return b.pause(ctx, b.cfg.FlushEvery)
}

// retrySpools gives waiting entries to the disk.
func (b *Book) retrySpools() {
	whole := true
	for _, l := range b.snapshot() {
		if err := b.respool(l); err != nil {
			b.diskFailed(err)
			whole = false
		}
	}
	if whole && b.diskBroken.CompareAndSwap(true, false) {
		b.logger.Info("spool is written again", zap.Int64("waiting", b.unspooled.Load()))
	}
}

func (b *Book) respool(l *Log) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done {
		return nil
	}
	if l.spool.file == nil {
		if err := b.openSpool(l); err != nil {
			return err
		}
	}
	for len(l.unspooled) > 0 {
		n := min(spoolChunk, len(l.unspooled))
		if err := l.spool.write(l.unspooled[:n]...); err != nil {
			return err
		}
		l.unspooled = l.unspooled[n:]
		b.unspooled.Add(-int64(n))
	}
	return nil
}

// syncSpools makes the spools outlive a power cut.
func (b *Book) syncSpools() {
	for _, l := range b.snapshot() {
		l.mu.Lock()
		file, dirty := l.spool.file, l.spool.dirty
		l.spool.dirty = false
		l.mu.Unlock()
		if file == nil || !dirty {
			continue
		}
		// A spool that was removed meanwhile needs no sync: the store has it all.
		if err := file.Sync(); err != nil && !errors.Is(err, os.ErrClosed) {
			b.diskFailed(err)
		}
	}
}
