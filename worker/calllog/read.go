package calllog

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"headstart/turn"
)

// readAhead is how many entries a follower fetches at once.
const readAhead = 256

// Read returns at most limit entries of a log with a seq above after: from
// this process when it writes the log, else from the store. It finds ephemeral
// entries only while they are in memory.
func (b *Book) Read(ctx context.Context, log string, after int64, limit int) (Page, error) {
	var whole Page
	for {
		page, _, err := b.read(ctx, log, after, limit-len(whole.Entries))
		if err != nil {
			return Page{}, err
		}
		whole.Entries = append(whole.Entries, page.Entries...)
		whole.Highest, whole.Sealed = page.Highest, page.Sealed
		if len(page.Entries) == 0 || len(whole.Entries) >= limit {
			return whole, nil
		}
		after = page.Entries[len(page.Entries)-1].Seq
	}
}

// Follow yields a log's entries with a seq above after, in order, and then
// each new one, until the log is sealed: no gap, no repeat. A reader that is
// slow misses ephemeral entries only, and never slows the writer. A log that is
// not there yet is waited for. It ends with an error when ctx ends (its cause)
// or the log cannot be read.
func (b *Book) Follow(ctx context.Context, log string, after int64) iter.Seq2[turn.Entry, error] {
	return func(yield func(turn.Entry, error) bool) {
		for {
			page, news, err := b.read(ctx, log, after, readAhead)
			if err != nil {
				yield(turn.Entry{}, err)
				return
			}
			for _, entry := range page.Entries {
				if !yield(entry, nil) {
					return
				}
				after = entry.Seq
			}
			if page.ended(after) {
				return
			}
			if len(page.Entries) > 0 {
				continue
			}
			if err := b.await(ctx, news); err != nil {
				yield(turn.Entry{}, err)
				return
			}
		}
	}
}

// await waits for news, or for the next look when another process writes the log.
func (b *Book) await(ctx context.Context, news <-chan struct{}) error {
	poll := time.NewTimer(b.cfg.PollEvery)
	defer poll.Stop()
	look := poll.C
	if news != nil {
		look = nil
	}
	select {
	case <-ctx.Done():
		return fmt.Errorf("follow log: %w", context.Cause(ctx))
	case <-news:
	case <-look:
	}
	return nil
}

// read is Read, with a channel that closes when there is more: nil when only
// another look can tell.
func (b *Book) read(ctx context.Context, log string, after int64, limit int) (Page, <-chan struct{}, error) {
	if l := b.live(log); l != nil {
		page, news, err := l.read(ctx, after, limit)
		if err == nil || ctx.Err() != nil {
			return page, news, err
		}
		// Its spool may have gone to the store while we read it.
		if b.live(log) != nil {
			return page, news, err
		}
	}
	page, err := b.entries(ctx, b.cfg.Org, log, after, limit)
	return page, nil, err
}

// entries asks the store, with a deadline.
func (b *Book) entries(ctx context.Context, org, log string, after int64, limit int) (Page, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, b.cfg.StoreTimeout,
		fmt.Errorf("store did not answer within %s", b.cfg.StoreTimeout))
	defer cancel()
	page, err := b.store.Entries(ctx, org, log, after, limit)
	if err != nil {
		return Page{}, fmt.Errorf("read log %s: %w", log, err)
	}
	return page, nil
}

// read takes the page from memory when it can. Looking and asking for news
// happen under one lock, so nothing falls between them.
func (l *Log) read(ctx context.Context, after int64, limit int) (Page, <-chan struct{}, error) {
	for {
		l.mu.Lock()
		page := Page{Highest: l.seq, Sealed: l.sealed}
		if after+1 >= l.floor() {
			page.Entries = l.window(after, limit)
			var news chan struct{}
			if len(page.Entries) == 0 && !l.done {
				news = l.await()
			}
			l.mu.Unlock()
			return page, news, nil
		}
		older := l.older()
		l.mu.Unlock()
		entries, err := older.read(ctx, after, limit)
		if err != nil || len(entries) > 0 {
			page.Entries = entries
			return page, nil, err
		}
		after = older.before - 1 // nothing but ephemeral entries stood there
	}
}

// await returns the channel that closes with the next entry. The caller holds mu.
func (l *Log) await() chan struct{} {
	if l.news == nil {
		l.news = make(chan struct{})
	}
	return l.news
}

// window copies at most limit entries above after out of memory. The caller
// holds mu and has seen that memory reaches so far back.
func (l *Log) window(after int64, limit int) []turn.Entry {
	from := max(0, after+1-l.floor())
	if from >= int64(len(l.recent)) {
		return nil
	}
	entries := l.recent[from:]
	return slices.Clone(entries[:min(limit, len(entries))])
}

// past is what a log holds from before its window, at one moment.
type past struct {
	log       *Log
	spool     spoolReader
	unspooled []turn.Entry
	before    int64 // the window's floor
	store     bool  // the store has what the spool has not
}

// older captures the past. The caller holds mu.
func (l *Log) older() past {
	return past{log: l, spool: l.spool.reader(), unspooled: l.unspooled, before: l.floor(), store: l.holes}
}

// read merges what the spool, memory and, where needed, the store hold between
// after and before, in order, each entry once. The first limit entries of the
// whole are among the first limit of each part.
func (p past) read(ctx context.Context, after int64, limit int) ([]turn.Entry, error) {
	entries, err := p.local(after, limit)
	if err != nil {
		return nil, fmt.Errorf("read log %s: %w", p.log.name, err)
	}
	if !p.store {
		return entries, nil
	}
	page, err := p.log.book.entries(ctx, p.log.org, p.log.name, after, limit)
	if err != nil {
		return nil, err
	}
	return merge(limit, p.before, entries, page.Entries), nil
}

// local reads without a store.
func (p past) local(after int64, limit int) ([]turn.Entry, error) {
	spooled, err := p.spool.read(after, p.before, limit)
	if err != nil {
		return nil, err
	}
	for i := range spooled {
		spooled[i].Call, spooled[i].Agent = p.log.call, p.log.agent
	}
	var waiting []turn.Entry
	for _, entry := range p.unspooled {
		if entry.Seq > after && !entry.Ephemeral && len(waiting) < limit {
			waiting = append(waiting, entry)
		}
	}
	return merge(limit, p.before, spooled, waiting), nil
}

// merge joins two ordered pieces of one log, below before.
func merge(limit int, before int64, a, b []turn.Entry) []turn.Entry {
	all := slices.Concat(a, b)
	slices.SortStableFunc(all, func(x, y turn.Entry) int { return cmp.Compare(x.Seq, y.Seq) })
	all = slices.CompactFunc(all, func(x, y turn.Entry) bool { return x.Seq == y.Seq })
	end, _ := slices.BinarySearchFunc(all, before, func(e turn.Entry, seq int64) int { return cmp.Compare(e.Seq, seq) })
	return all[:min(end, limit)]
}
