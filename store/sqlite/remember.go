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
	insertRemembered = `INSERT INTO remembered (org, call) VALUES (?, ?) ON CONFLICT DO NOTHING`
	selectRemembered = `SELECT count(*) FROM remembered WHERE org = ? AND call = ?`
	selectErased     = `SELECT erased FROM calls WHERE org = ? AND id = ?`
	insertFact       = `INSERT INTO facts (org, contact, ` + factColumns + `, vector)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL, '', ?, ?, ?, ?) ON CONFLICT DO NOTHING`
	closeFact = `UPDATE facts SET until = ?, closed_by = ?
		WHERE org = ? AND contact = ? AND id = ? AND until IS NULL`
	deleteFact  = `DELETE FROM facts WHERE org = ? AND contact = ? AND id = ?`
	deleteFacts = `DELETE FROM facts WHERE org = ? AND contact = ? AND since <= ?`
)

// Write implements memory.Notebook.
func (db *DB) Write(ctx context.Context, w memory.Writing) (applied bool, err error) {
	err = db.write(ctx, func(tx *sql.Tx) error {
		applied, err = writeMemory(ctx, tx, w)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("write what call %s taught: %w", w.Call, err)
	}
	return applied, nil
}

// Written implements memory.Notebook.
func (db *DB) Written(ctx context.Context, org, call string) (bool, error) {
	var n int
	if err := db.reader.QueryRowContext(ctx, selectRemembered, org, call).Scan(&n); err != nil {
		return false, fmt.Errorf("look whether call %s was written: %w", call, err)
	}
	return n > 0, nil
}

// writeMemory applies a writing, once for its call. One of a call that was
// erased changes nothing.
func writeMemory(ctx context.Context, tx *sql.Tx, w memory.Writing) (bool, error) {
	var erased bool
	err := tx.QueryRowContext(ctx, selectErased, w.Org, w.Call).Scan(&erased)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return false, err
	}
	if erased {
		return false, nil
	}
	if rows, err := affected(tx.ExecContext(ctx, insertRemembered, w.Org, w.Call)); err != nil || rows == 0 {
		return false, err
	}
	for _, c := range w.Changes {
		if err := applyChange(ctx, tx, w, c); err != nil {
			return false, fmt.Errorf("%s fact %s%s: %w", c.Op, c.Fact.ID, c.Closes, err)
		}
	}
	return true, nil
}

func applyChange(ctx context.Context, tx *sql.Tx, w memory.Writing, c memory.Change) error {
	if c.Closes != "" {
		if _, err := tx.ExecContext(ctx, closeFact, w.At.UnixMicro(), w.Call, w.Org, w.Contact, c.Closes); err != nil {
			return err
		}
	}
	if c.Op == memory.Invalidate {
		return nil
	}
	fact := c.Fact
	if fact.Since.IsZero() {
		fact.Since = w.At
	}
	return putFact(ctx, tx, w.Org, w.Contact, fact)
}

func putFact(ctx context.Context, tx *sql.Tx, org, contact string, f memory.Held) error {
	_, err := tx.ExecContext(ctx, insertFact, org, contact, f.ID, f.Text, f.Category, f.Confidence, f.Source,
		f.Since.UnixMicro(), f.Quote, f.Turn, f.Model, vectorBytes(f.Vector))
	return err
}

// Correct implements memory.Editor.
func (db *DB) Correct(ctx context.Context, org, contact, id string, by memory.Held, at time.Time) error {
	err := db.write(ctx, func(tx *sql.Tx) error {
		if err := one(affected(tx.ExecContext(ctx, closeFact, at.UnixMicro(), "", org, contact, id))); err != nil {
			return err
		}
		if by.Since.IsZero() {
			by.Since = at
		}
		return putFact(ctx, tx, org, contact, by)
	})
	if err != nil {
		return fmt.Errorf("correct fact %s: %w", id, err)
	}
	return nil
}

// Delete implements memory.Editor.
func (db *DB) Delete(ctx context.Context, org, contact, id string) error {
	err := db.write(ctx, func(tx *sql.Tx) error {
		return one(affected(tx.ExecContext(ctx, deleteFact, org, contact, id)))
	})
	if err != nil {
		return fmt.Errorf("delete fact %s: %w", id, err)
	}
	return nil
}

// Forget implements memory.Editor.
func (db *DB) Forget(ctx context.Context, org, contact string) (facts int, err error) {
	err = db.write(ctx, func(tx *sql.Tx) error {
		facts, err = affected(tx.ExecContext(ctx, deleteFacts, org, contact, int64(1)<<62))
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("forget facts of a contact: %w", err)
	}
	return facts, nil
}

func affected(result sql.Result, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	rows, err := result.RowsAffected()
	return int(rows), err
}

// one is for statements that change a fact of a contact, or find none.
func one(rows int, err error) error {
	if err == nil && rows == 0 {
		return memory.ErrNoFact
	}
	return err
}
