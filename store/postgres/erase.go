package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"headstart/turn"
	"headstart/worker/calllog"
)

const (
	// Locked, so that what is written for them meanwhile comes after, without words.
	lockCallsOf = `SELECT id FROM calls WHERE org = $1 AND contact = $2 AND started <= $3 ORDER BY id FOR UPDATE`
	eraseCall   = `UPDATE calls SET contact = '', erased = true WHERE org = $1 AND id = $2`
	eraseEntry  = `UPDATE entries SET data = $4 WHERE org = $1 AND log = $2 AND seq = $3`
	// Both sides are read from an index; a contact has many rows in each.
	selectContacts = `SELECT contact FROM calls WHERE org = $1 AND contact <> ''
		UNION SELECT contact FROM facts WHERE org = $1 ORDER BY 1`
)

// erasePage is how many entries of a log are held at once while it is erased.
const erasePage = 500

// Erase implements calllog.Eraser. Its clock is the caller's alone.
func (db *DB) Erase(ctx context.Context, e calllog.Erasure) (calllog.Erased, error) {
	var gone calllog.Erased
	if e.Contact == "" {
		return gone, errors.New("erase contact: nobody is named")
	}
	err := db.writeMuch(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
		gone, err = erase(ctx, tx, e)
		return err
	})
	if err != nil {
		return calllog.Erased{}, fmt.Errorf("erase contact: %w", err)
	}
	return gone, nil
}

func erase(ctx context.Context, tx pgx.Tx, e calllog.Erasure) (gone calllog.Erased, err error) {
	org, contact := clean(e.Org), clean(e.Contact)
	if gone.Calls, err = gather(ctx, tx, lockCallsOf, []any{org, contact, e.Until}, pgx.RowTo[string]); err != nil {
		return gone, err
	}
	if gone.Facts, err = affected(tx.Exec(ctx, deleteFacts, org, contact, e.Until)); err != nil {
		return gone, err
	}
	for _, call := range gone.Calls {
		changed, err := eraseLog(ctx, tx, org, call)
		if err != nil {
			return gone, fmt.Errorf("log %s: %w", call, err)
		}
		gone.Entries += changed
	}
	return gone, nil
}

// eraseLog takes the words out of a call's log, and counts the entries that had some.
func eraseLog(ctx context.Context, tx pgx.Tx, org, call string) (changed int, err error) {
	for after := int64(0); ; {
		rows, err := tx.Query(ctx, selectEntries, org, call, after, erasePage)
		if err != nil {
			return changed, err
		}
		entries, err := scanEntries(rows, call)
		if err != nil {
			return changed, err
		}
		did, err := eraseWords(ctx, tx, org, call, entries)
		if err != nil {
			return changed, err
		}
		changed += did
		if len(entries) < erasePage {
			_, err := tx.Exec(ctx, eraseCall, org, call)
			return changed, err
		}
		after = entries[len(entries)-1].Seq
	}
}

func eraseWords(ctx context.Context, tx pgx.Tx, org, call string, entries []turn.Entry) (changed int, err error) {
	updates := &pgx.Batch{}
	for _, entry := range entries {
		erased := calllog.WithoutWords(entry)
		if !bytes.Equal(erased.Data, entry.Data) {
			updates.Queue(eraseEntry, org, call, entry.Seq, clean(string(erased.Data)))
		}
	}
	return updates.Len(), tx.SendBatch(ctx, updates).Close()
}

// Contacts implements calllog.Eraser.
func (db *DB) Contacts(ctx context.Context, org string) ([]string, error) {
	ctx, cancel := db.within(ctx)
	defer cancel()
	ids, err := gather(ctx, db.pool, selectContacts, []any{clean(org)}, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("list contacts: %w", cause(ctx, err))
	}
	return ids, nil
}

var _ calllog.Eraser = (*DB)(nil)
