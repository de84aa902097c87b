package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"headstart/turn"
	"headstart/worker/calllog"
)

const (
	insertEntry = `INSERT INTO entries (org, log, seq, ts, agent, type, data) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO NOTHING`
	selectEntry   = `SELECT ts, type FROM entries WHERE org = ? AND log = ? AND seq = ?`
	selectSealed  = `SELECT sealed FROM calls WHERE org = ? AND id = ?`
	selectState   = `SELECT sealed, erased FROM calls WHERE org = ? AND id = ?`
	selectHighest = `SELECT coalesce(max(seq), 0) FROM entries WHERE org = ? AND log = ?`
	selectEntries = `SELECT seq, ts, agent, type, data FROM entries
		WHERE org = ? AND log = ? AND seq > ? ORDER BY seq LIMIT ?`
	// A call's facts only become more: an older batch may be played again.
	upsertCall = `INSERT INTO calls (org, id, agent, started, ended, reason, sealed, contact) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (org, id) DO UPDATE SET
			contact = CASE WHEN calls.contact = '' AND calls.erased = 0 THEN excluded.contact ELSE calls.contact END,
			ended  = coalesce(calls.ended, excluded.ended),
			reason = CASE WHEN calls.ended IS NULL THEN excluded.reason ELSE calls.reason END,
			sealed = max(calls.sealed, excluded.sealed)`
)

// Append implements calllog.Store.
func (db *DB) Append(ctx context.Context, batch calllog.Batch) error {
	err := db.write(ctx, func(tx *sql.Tx) error {
		if err := appendEntries(ctx, tx, batch); err != nil {
			return err
		}
		if err := putCalls(ctx, tx, batch); err != nil {
			return err
		}
		for _, w := range batch.Memories {
			if _, err := writeMemory(ctx, tx, w); err != nil {
				return fmt.Errorf("write what call %s taught: %w", w.Call, err)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("append to logs: %w", err)
	}
	return nil
}

func appendEntries(ctx context.Context, tx *sql.Tx, batch calllog.Batch) error {
	insert, err := tx.PrepareContext(ctx, insertEntry)
	if err != nil {
		return fmt.Errorf("prepare entry: %w", err)
	}
	defer insert.Close() // its error would be the transaction's, which is looked at
	states := map[string]logState{}
	for _, entry := range batch.Entries {
		if entry.Ephemeral {
			continue
		}
		log := calllog.LogName(entry.Call, entry.Agent)
		if _, asked := states[log]; !asked {
			if states[log], err = stateOf(ctx, tx, batch.Org, log); err != nil {
				return err
			}
		}
		if states[log].erased {
			entry = calllog.WithoutWords(entry)
		}
		if err := appendEntry(ctx, tx, insert, batch.Org, log, states[log].sealed, entry); err != nil {
			return fmt.Errorf("append entry %d to %s: %w", entry.Seq, log, err)
		}
	}
	return nil
}

func appendEntry(ctx context.Context, tx *sql.Tx, insert *sql.Stmt, org, log string, sealed bool, entry turn.Entry) error {
	result, err := insert.ExecContext(ctx, org, log, entry.Seq, entry.Time.UnixMicro(), entry.Agent, entry.Type, string(entry.Data))
	if err != nil {
		return err
	}
	rows, err := result.RowsAffected()
	if err != nil {
		return err
	}
	switch {
	case rows == 0:
		return sameEntry(ctx, tx, org, log, entry)
	case sealed:
		return calllog.ErrSealed
	}
	return nil
}

// sameEntry looks at the entry that is there already. Its words may be others:
// an erasure keeps seq, type and time.
func sameEntry(ctx context.Context, tx *sql.Tx, org, log string, entry turn.Entry) error {
	var micros int64
	var kind string
	if err := tx.QueryRowContext(ctx, selectEntry, org, log, entry.Seq).Scan(&micros, &kind); err != nil {
		return err
	}
	if kind != entry.Type || micros != entry.Time.UnixMicro() {
		return calllog.ErrConflict
	}
	return nil
}

// logState is what became of a log.
type logState struct{ sealed, erased bool }

func stateOf(ctx context.Context, tx *sql.Tx, org, log string) (logState, error) {
	var s logState
	err := tx.QueryRowContext(ctx, selectState, org, log).Scan(&s.sealed, &s.erased)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return s, fmt.Errorf("look what became of %s: %w", log, err)
	}
	return s, nil
}

func isSealed(ctx context.Context, tx *sql.Tx, org, log string) (bool, error) {
	var sealed bool
	err := tx.QueryRowContext(ctx, selectSealed, org, log).Scan(&sealed)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return false, fmt.Errorf("look whether %s is sealed: %w", log, err)
	}
	return sealed, nil
}

func putCalls(ctx context.Context, tx *sql.Tx, batch calllog.Batch) error {
	for _, call := range batch.Calls {
		ended := sql.NullInt64{Int64: call.Ended.UnixMicro(), Valid: !call.Ended.IsZero()}
		_, err := tx.ExecContext(ctx, upsertCall, batch.Org, call.ID, call.Agent, call.Started.UnixMicro(), ended, call.Reason, call.Sealed, call.Contact)
		if err != nil {
			return fmt.Errorf("put call %s: %w", call.ID, err)
		}
	}
	return nil
}

// Entries implements calllog.Store.
func (db *DB) Entries(ctx context.Context, org, log string, after int64, limit int) (calllog.Page, error) {
	var page calllog.Page
	err := db.read(ctx, func(tx *sql.Tx) (err error) {
		if page.Sealed, err = isSealed(ctx, tx, org, log); err != nil {
			return err
		}
		if err := tx.QueryRowContext(ctx, selectHighest, org, log).Scan(&page.Highest); err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, selectEntries, org, log, after, limit)
		if err != nil {
			return err
		}
		page.Entries, err = scanEntries(rows, log)
		return err
	})
	if err != nil {
		return calllog.Page{}, fmt.Errorf("read entries of %s: %w", log, err)
	}
	return page, nil
}

func scanEntries(rows *sql.Rows, log string) (entries []turn.Entry, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	call := log
	if strings.HasPrefix(log, "@") {
		call = ""
	}
	for rows.Next() {
		entry := turn.Entry{Call: call}
		var micros int64
		var data []byte
		if err := rows.Scan(&entry.Seq, &micros, &entry.Agent, &entry.Type, &data); err != nil {
			return nil, err
		}
		entry.Time, entry.Data = time.UnixMicro(micros), data
		entries = append(entries, entry)
	}
	return entries, rows.Err()
}
