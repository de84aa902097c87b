package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"headstart/turn"
	"headstart/worker/calllog"
)

const (
	selectCallsOf = `SELECT id FROM calls WHERE org = ? AND contact = ? AND started <= ? ORDER BY id`
	eraseCall     = `UPDATE calls SET contact = '', erased = 1 WHERE org = ? AND id = ?`
	eraseEntry    = `UPDATE entries SET data = ? WHERE org = ? AND log = ? AND seq = ?`
	// Both sides are read from an index; a contact has many rows in each.
	selectContacts = `SELECT DISTINCT contact FROM calls WHERE org = ? AND contact <> ''
		UNION SELECT DISTINCT contact FROM facts WHERE org = ? ORDER BY 1`
)

// erasePage is how many entries of a log are held at once while it is erased.
const erasePage = 500

// Erase implements calllog.Eraser.
func (db *DB) Erase(ctx context.Context, e calllog.Erasure) (calllog.Erased, error) {
	var gone calllog.Erased
	if e.Contact == "" {
		return gone, errors.New("erase contact: nobody is named")
	}
	err := db.write(ctx, func(tx *sql.Tx) (err error) {
		if gone.Facts, err = affected(tx.ExecContext(ctx, deleteFacts, e.Org, e.Contact, e.Until.UnixMicro())); err != nil {
			return err
		}
		if gone.Calls, err = texts(tx.QueryContext(ctx, selectCallsOf, e.Org, e.Contact, e.Until.UnixMicro())); err != nil {
			return err
		}
		for _, call := range gone.Calls {
			changed, err := eraseLog(ctx, tx, e.Org, call)
			if err != nil {
				return fmt.Errorf("log %s: %w", call, err)
			}
			gone.Entries += changed
		}
		return nil
	})
	if err != nil {
		return calllog.Erased{}, fmt.Errorf("erase contact: %w", err)
	}
	return gone, nil
}

// eraseLog takes the words out of a call's log, and counts the entries that had some.
func eraseLog(ctx context.Context, tx *sql.Tx, org, call string) (changed int, err error) {
	for after := int64(0); ; {
		rows, err := tx.QueryContext(ctx, selectEntries, org, call, after, erasePage)
		if err != nil {
			return changed, err
		}
		entries, err := scanEntries(rows, call)
		if err != nil {
			return changed, err
		}
		for _, entry := range entries {
			did, err := eraseWords(ctx, tx, org, call, entry)
			if err != nil {
				return changed, err
			}
			changed += did
		}
		if len(entries) < erasePage {
			_, err := tx.ExecContext(ctx, eraseCall, org, call)
			return changed, err
		}
		after = entries[len(entries)-1].Seq
	}
}

func eraseWords(ctx context.Context, tx *sql.Tx, org, call string, entry turn.Entry) (int, error) {
	erased := calllog.WithoutWords(entry)
	if bytes.Equal(erased.Data, entry.Data) {
		return 0, nil
	}
	return affected(tx.ExecContext(ctx, eraseEntry, string(erased.Data), org, call, entry.Seq))
}

// Contacts implements calllog.Eraser.
func (db *DB) Contacts(ctx context.Context, org string) ([]string, error) {
	ids, err := texts(db.reader.QueryContext(ctx, selectContacts, org, org))
	if err != nil {
		return nil, fmt.Errorf("list contacts: %w", err)
	}
	return ids, nil
}

// texts reads rows of one text each.
func texts(rows *sql.Rows, err error) (list []string, _ error) {
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		list = append(list, text)
	}
	return list, errors.Join(err, rows.Err())
}

var _ calllog.Eraser = (*DB)(nil)
