package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"headstart/memory"
)

const (
	factColumns = `id, text, category, confidence, source, since, until, closed_by, quote, turn, model`

	selectCurrent = `SELECT ` + factColumns + `, vector FROM facts
		WHERE org = ? AND contact = ? AND until IS NULL ORDER BY since, id`
	selectHistory = `SELECT ` + factColumns + `, NULL FROM facts
		WHERE org = ? AND contact = ? ORDER BY since, id`
	countFacts = `SELECT count(*) FROM facts WHERE org = ? AND until IS NULL`
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
	var n int
	if err := db.reader.QueryRowContext(ctx, countFacts, org).Scan(&n); err != nil {
		return 0, fmt.Errorf("count facts: %w", err)
	}
	return n, nil
}

func (db *DB) facts(ctx context.Context, query, org, contact string) ([]memory.Held, error) {
	rows, err := db.reader.QueryContext(ctx, query, org, contact)
	if err != nil {
		return nil, fmt.Errorf("read facts: %w", err)
	}
	facts, err := scanFacts(rows, org, contact)
	if err != nil {
		return nil, fmt.Errorf("read facts: %w", err)
	}
	return facts, nil
}

func scanFacts(rows *sql.Rows, org, contact string) (facts []memory.Held, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		f := memory.Held{Org: org, Contact: contact}
		var since int64
		var until sql.NullInt64
		var vector []byte
		err := rows.Scan(&f.ID, &f.Text, &f.Category, &f.Confidence, &f.Source, &since, &until, &f.ClosedBy,
			&f.Quote, &f.Turn, &f.Model, &vector)
		if err != nil {
			return nil, err
		}
		f.Since = time.UnixMicro(since)
		if until.Valid {
			f.Until = time.UnixMicro(until.Int64)
		}
		if f.Vector, err = readVector(vector); err != nil {
			return nil, fmt.Errorf("vector of fact %s: %w", f.ID, err)
		}
		facts = append(facts, f)
	}
	return facts, rows.Err()
}

// vectorBytes is how a vector of a fact is kept; NULL without one.
func vectorBytes(v []float32) []byte {
	if len(v) == 0 {
		return nil
	}
	return encode(v)
}

func readVector(b []byte) ([]float32, error) {
	if len(b)%4 != 0 {
		return nil, fmt.Errorf("%d bytes are no float32 values", len(b))
	}
	if len(b) == 0 {
		return nil, nil
	}
	return decode(b, len(b)/4)
}

var (
	_ memory.Facts    = (*DB)(nil)
	_ memory.Notebook = (*DB)(nil)
	_ memory.Editor   = (*DB)(nil)
)
