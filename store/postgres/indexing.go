package postgres

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"headstart/retrieval/knowledge"
)

const selectUnindexed = `SELECT ` + baseColumns + ` FROM bases b WHERE b.chunks > $1 AND b.indexed <> 'bm25'
	AND (b.indexed = '' OR EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_textsearch')) ORDER BY b.org, b.name`

// What failed is tried again after againFirst, then less and less often.
const (
	againFirst = 5 * time.Second
	againLast  = 5 * time.Minute
)

// KeepIndexed gives every base of more than so many chunks an index of its own,
// those that are there now and those that come, until ctx ends; then it returns
// nil. Several processes may do so at once: each base is indexed by one of them.
// told hears of each base that was indexed, or could not be.
func (db *DB) KeepIndexed(ctx context.Context, above int, told func(b knowledge.Base, took time.Duration, err error)) error {
	changes := make(chan struct{}, 1) // what comes while one waits is one change
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() {
		_ = db.Watch(ctx, func(string, string) { // it never fails
			select {
			case changes <- struct{}{}:
			default:
			}
		})
	})
	again := againFirst
	retry := time.NewTimer(again)
	defer retry.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-changes:
		case <-retry.C:
		}
		retry.Stop()
		if db.indexAll(ctx, above, told) {
			again = againFirst
			continue
		}
		retry.Reset(again)
		again = min(2*again, againLast)
	}
}

// indexAll is false when something is left to do.
func (db *DB) indexAll(ctx context.Context, above int, told func(knowledge.Base, time.Duration, error)) bool {
	waiting, err := db.unindexed(ctx, above)
	if err != nil {
		return false // who asks the database for more will say so
	}
	swept := db.sweep(ctx) == nil
	done := true
	for _, b := range waiting {
		began := time.Now()
		err := db.Index(ctx, b.Org, b.Name)
		if ctx.Err() != nil {
			return false
		}
		done = done && err == nil
		told(b, time.Since(began), err)
	}
	return done && swept
}

// sweep drops what killed processes left of their indexing.
func (db *DB) sweep(ctx context.Context) error {
	ctx, cancel := db.within(ctx)
	defer cancel()
	return sweep(ctx, db.pool)
}

func (db *DB) unindexed(ctx context.Context, above int) ([]knowledge.Base, error) {
	ctx, cancel := db.within(ctx)
	defer cancel()
	list, err := gather(ctx, db.pool, selectUnindexed, []any{above}, func(row pgx.CollectableRow) (knowledge.Base, error) {
		b, err := scanBase(row)
		return b.Base, err
	})
	if err != nil {
		return nil, fmt.Errorf("list bases to index: %w", cause(ctx, err))
	}
	return list, nil
}
