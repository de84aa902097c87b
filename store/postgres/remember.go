package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pgvector/pgvector-go"

	"headstart/memory"
)

const (
	insertRemembered = `INSERT INTO remembered (org, call) VALUES ($1, $2) ON CONFLICT DO NOTHING`
	selectRemembered = `SELECT EXISTS (SELECT FROM remembered WHERE org = $1 AND call = $2)`
	// An erasure of the call waits until it is remembered, or was before.
	lockErased = `SELECT erased FROM calls WHERE org = $1 AND id = $2 FOR SHARE`
	insertFact = `INSERT INTO facts (org, contact, id, text, category, confidence, source, since, quote, turn, model, vector)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT DO NOTHING`
	closeFact = `UPDATE facts SET until = $1, closed_by = $2
		WHERE org = $3 AND contact = $4 AND id = $5 AND until IS NULL`
	deleteFact  = `DELETE FROM facts WHERE org = $1 AND contact = $2 AND id = $3`
	deleteFacts = `DELETE FROM facts WHERE org = $1 AND contact = $2 AND ($3::timestamptz IS NULL OR since <= $3)`
)

// Write implements memory.Notebook.
func (db *DB) Write(ctx context.Context, w memory.Writing) (applied bool, err error) {
	err = db.write(ctx, func(ctx context.Context, tx pgx.Tx) error {
		applied, err = writeMemory(ctx, tx, w)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("write what call %s taught: %w", w.Call, err)
	}
	return applied, nil
}

// Written implements memory.Notebook.
func (db *DB) Written(ctx context.Context, org, call string) (written bool, err error) {
	ctx, cancel := db.within(ctx)
	defer cancel()
	if err := db.pool.QueryRow(ctx, selectRemembered, clean(org), clean(call)).Scan(&written); err != nil {
		return false, fmt.Errorf("look whether call %s was written: %w", call, cause(ctx, err))
	}
	return written, nil
}

// writeMemory applies a writing, once for its call. One of a call that was
// erased changes nothing.
func writeMemory(ctx context.Context, tx pgx.Tx, w memory.Writing) (bool, error) {
	var erased bool
	err := tx.QueryRow(ctx, lockErased, clean(w.Org), clean(w.Call)).Scan(&erased)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return false, err
	}
	if erased {
		return false, nil
	}
	if rows, err := affected(tx.Exec(ctx, insertRemembered, clean(w.Org), clean(w.Call))); err != nil || rows == 0 {
		return false, err
	}
	for _, c := range w.Changes {
		if err := applyChange(ctx, tx, w, c); err != nil {
			return false, fmt.Errorf("%s fact %s%s: %w", c.Op, c.Fact.ID, c.Closes, err)
		}
	}
	return true, nil
}

func applyChange(ctx context.Context, tx pgx.Tx, w memory.Writing, c memory.Change) error {
	if c.Closes != "" {
		if _, err := tx.Exec(ctx, closeFact, w.At, clean(w.Call), clean(w.Org), clean(w.Contact), clean(c.Closes)); err != nil {
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

func putFact(ctx context.Context, tx pgx.Tx, org, contact string, f memory.Held) error {
	var vector *pgvector.Vector
	if len(f.Vector) > 0 {
		vector = new(pgvector.NewVector(f.Vector))
	}
	_, err := tx.Exec(ctx, insertFact, clean(org), clean(contact), clean(f.ID), clean(f.Text), clean(f.Category), f.Confidence, clean(f.Source),
		f.Since, clean(f.Quote), clean(f.Turn), clean(f.Model), vector)
	return err
}

// Correct implements memory.Editor.
func (db *DB) Correct(ctx context.Context, org, contact, id string, by memory.Held, at time.Time) error {
	err := db.write(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if err := one(affected(tx.Exec(ctx, closeFact, at, "", clean(org), clean(contact), clean(id)))); err != nil {
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
	err := db.write(ctx, func(ctx context.Context, tx pgx.Tx) error {
		return one(affected(tx.Exec(ctx, deleteFact, clean(org), clean(contact), clean(id))))
	})
	if err != nil {
		return fmt.Errorf("delete fact %s: %w", id, err)
	}
	return nil
}

// Forget implements memory.Editor.
func (db *DB) Forget(ctx context.Context, org, contact string) (facts int, err error) {
	err = db.write(ctx, func(ctx context.Context, tx pgx.Tx) error {
		facts, err = affected(tx.Exec(ctx, deleteFacts, clean(org), clean(contact), nil))
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("forget facts of a contact: %w", err)
	}
	return facts, nil
}

func affected(tag pgconn.CommandTag, err error) (int, error) {
	return int(tag.RowsAffected()), err
}

// one is for statements that change a fact of a contact, or find none.
func one(rows int, err error) error {
	if err == nil && rows == 0 {
		return memory.ErrNoFact
	}
	return err
}
