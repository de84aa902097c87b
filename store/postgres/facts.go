package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"

	"headstart/memory"
)

const (
	factColumns = `id, text, category, confidence, source, since, until, closed_by, quote, turn, model`

	selectCurrent = `SELECT ` + factColumns + `, vector FROM facts
		WHERE org = $1 AND contact = $2 AND until IS NULL ORDER BY since, id`
	selectHistory = `SELECT ` + factColumns + `, NULL::vector FROM facts
		WHERE org = $1 AND contact = $2 ORDER BY since, id`
	countFacts = `SELECT count(*) FROM facts WHERE org = $1 AND until IS NULL`
)

// Current implements memory.Facts.
func (db *DB) Current(ctx context.Context, org, contact string) ([]memory.Held, error) {
	return db.facts(ctx, selectCurrent, org, contact)
}

// History implements memory.Facts.
func (db *DB) History(ctx context.Context, org, contact string) ([]memory.Held, error) {
	return db.facts(ctx, selectHistory, org, contact)
}

// Count implements memory.Facts.
func (db *DB) Count(ctx context.Context, org string) (int, error) {
	ctx, cancel := db.within(ctx)
	defer cancel()
	var n int
	if err := db.pool.QueryRow(ctx, countFacts, clean(org)).Scan(&n); err != nil {
		return 0, fmt.Errorf("count facts: %w", cause(ctx, err))
	}
	return n, nil
}

func (db *DB) facts(ctx context.Context, query, org, contact string) ([]memory.Held, error) {
	ctx, cancel := db.within(ctx)
	defer cancel()
	facts, err := gather(ctx, db.pool, query, []any{clean(org), clean(contact)}, func(row pgx.CollectableRow) (memory.Held, error) {
		f := memory.Held{Org: org, Contact: contact}
		var until *time.Time
		var vector *pgvector.Vector
		err := row.Scan(&f.ID, &f.Text, &f.Category, &f.Confidence, &f.Source, &f.Since, &until, &f.ClosedBy, &f.Quote, &f.Turn, &f.Model, &vector)
		if until != nil {
			f.Until = *until
		}
		if vector != nil {
			f.Vector = vector.Slice()
		}
		return f, err
	})
	if err != nil {
		return nil, fmt.Errorf("read facts: %w", cause(ctx, err))
	}
	return facts, nil
}

var (
	_ memory.Facts    = (*DB)(nil)
	_ memory.Notebook = (*DB)(nil)
	_ memory.Editor   = (*DB)(nil)
)
