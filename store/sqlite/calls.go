package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"headstart/worker/calllog"
)

const (
	selectCall  = `SELECT id, agent, started, ended, reason, sealed, contact FROM calls WHERE org = ? AND id = ?`
	selectCalls = `SELECT id, agent, started, ended, reason, sealed, contact FROM calls
		WHERE org = ? ORDER BY started DESC, id LIMIT ?`
)

// Call implements calllog.Calls.
func (db *DB) Call(ctx context.Context, org, id string) (calllog.Call, error) {
	call, err := scanCall(org, db.reader.QueryRowContext(ctx, selectCall, org, id).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		err = calllog.ErrUnknownCall
	}
	if err != nil {
		return calllog.Call{}, fmt.Errorf("read call %s: %w", id, err)
	}
	return call, nil
}

// Calls implements calllog.Calls.
func (db *DB) Calls(ctx context.Context, org string, limit int) ([]calllog.Call, error) {
	rows, err := db.reader.QueryContext(ctx, selectCalls, org, limit)
	if err != nil {
		return nil, fmt.Errorf("list calls: %w", err)
	}
	calls, err := scanCalls(org, rows)
	if err != nil {
		return nil, fmt.Errorf("list calls: %w", err)
	}
	return calls, nil
}

func scanCalls(org string, rows *sql.Rows) (calls []calllog.Call, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		call, err := scanCall(org, rows.Scan)
		if err != nil {
			return nil, err
		}
		calls = append(calls, call)
	}
	return calls, rows.Err()
}

func scanCall(org string, scan func(...any) error) (calllog.Call, error) {
	call := calllog.Call{Org: org}
	var started int64
	var ended sql.NullInt64
	if err := scan(&call.ID, &call.Agent, &started, &ended, &call.Reason, &call.Sealed, &call.Contact); err != nil {
		return calllog.Call{}, err
	}
	call.Started = time.UnixMicro(started)
	if ended.Valid {
		call.Ended = time.UnixMicro(ended.Int64)
	}
	return call, nil
}

var (
	_ calllog.Store = (*DB)(nil)
	_ calllog.Calls = (*DB)(nil)
)
