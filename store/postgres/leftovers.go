package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// selectFresh lists the tables that wait to be put in the place of an index.
const selectFresh = `SELECT relname::text FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace
	AND relname ~ '^large_[0-9]{1,18}_new$' ORDER BY relname`

// fresh is the name of the table that will be the index of a base.
func (b base) fresh() string { return b.table() + "_new" }

// lockOf is the second half of the advisory lock of who indexes a base.
func lockOf(number int64) int32 { return int32(number) }

// dropFresh takes away the table of an indexing that failed, though ctx may be why; its
// connection then died with it. What stays nonetheless, a sweep drops.
func (db *DB) dropFresh(ctx context.Context, b base) {
	brief, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	_ = pgx.BeginFunc(brief, db.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(brief, `SELECT pg_advisory_xact_lock($1, $2)`, indexLock, lockOf(b.number)); err != nil {
			return err
		}
		_, err := tx.Exec(brief, `DROP TABLE IF EXISTS `+b.fresh())
		return err
	})
}

// sweep drops the tables of those who could not end what they indexed: a process that
// was killed, a database that went away. Who still indexes a base holds its lock.
func sweep(ctx context.Context, db starter) error {
	names, err := gather(ctx, db, selectFresh, nil, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("list what was left of indexing: %w", err)
	}
	for _, name := range names {
		if err := dropLeft(ctx, db, name); err != nil {
			return fmt.Errorf("drop %s: %w", name, err)
		}
	}
	return nil
}

// starter reads, and begins transactions: a pool, or a connection.
type starter interface {
	querier
	Begin(ctx context.Context) (pgx.Tx, error)
}

func dropLeft(ctx context.Context, db starter, name string) error {
	var number int64
	if _, err := fmt.Sscanf(name, "large_%d_new", &number); err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		var free bool
		if err := tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock($1, $2)`, indexLock, lockOf(number)).Scan(&free); err != nil || !free {
			return err
		}
		_, err := tx.Exec(ctx, `DROP TABLE IF EXISTS `+name)
		return err
	})
}
