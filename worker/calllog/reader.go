package calllog

import (
	"context"
	"iter"

	"go.uber.org/zap"

	"headstart/turn"
)

// Reader reads logs that other processes write, from their store alone: it has no
// spool folder, and makes none. Methods may be called from any goroutine.
type Reader struct{ book Book }

// NewReader makes a reader of the logs of DefaultOrg.
func NewReader(store Store) *Reader {
	return &Reader{Book{cfg: Config{}.withDefaults(), store: store, logger: zap.NewNop()}}
}

// Read is Book.Read.
func (r *Reader) Read(ctx context.Context, log string, after int64, limit int) (Page, error) {
	return r.book.Read(ctx, log, after, limit)
}

// Follow is Book.Follow.
func (r *Reader) Follow(ctx context.Context, log string, after int64) iter.Seq2[turn.Entry, error] {
	return r.book.Follow(ctx, log, after)
}
