package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"headstart/worker/calllog"
)

const (
	selectCall  = `SELECT id, agent, started, ended, reason, sealed, contact FROM calls WHERE org = $1 AND id = $2`
	selectCalls = `SELECT id, agent, started, ended, reason, sealed, contact FROM calls
		WHERE org = $1 ORDER BY started DESC, id LIMIT $2`
)

// Call implements calllog.Calls.
func (db *DB) Call(ctx context.Context, org, id string) (calllog.Call, error) {
	calls, err := db.calls(ctx, org, selectCall, clean(org), clean(id))
	if err == nil && len(calls) == 0 {
		err = calllog.ErrUnknownCall
	}
	if err != nil {
		return calllog.Call{}, fmt.Errorf("read call %s: %w", id, err)
	}
	return calls[0], nil
}

// Calls implements calllog.Calls.
func (db *DB) Calls(ctx context.Context, org string, limit int) ([]calllog.Call, error) {
	calls, err := db.calls(ctx, org, selectCalls, clean(org), limit)
	if err != nil {
		return nil, fmt.Errorf("list calls: %w", err)
	}
	return calls, nil
}

func (db *DB) calls(ctx context.Context, org, query string, args ...any) ([]calllog.Call, error) {
	ctx, cancel := db.within(ctx)
	defer cancel()
	calls, err := gather(ctx, db.pool, query, args, func(row pgx.CollectableRow) (calllog.Call, error) {
		call := calllog.Call{Org: org}
		var ended *time.Time
		err := row.Scan(&call.ID, &call.Agent, &call.Started, &ended, &call.Reason, &call.Sealed, &call.Contact)
		if ended != nil {
			call.Ended = *ended
		}
		return call, err
	})
	if err != nil {
		return nil, cause(ctx, err)
	}
	return calls, nil
}

// upsertCalls: a call's facts only become more, for an older batch may be played
// again.
const upsertCalls = `INSERT INTO calls AS c (org, id, agent, started, ended, reason, sealed, contact)
	SELECT DISTINCT ON (id) $1, * FROM unnest($2::text[], $3::text[], $4::timestamptz[], $5::timestamptz[], $6::text[], $7::boolean[], $8::text[])
		AS n (id, agent, started, ended, reason, sealed, contact) ORDER BY id, sealed DESC, ended
	ON CONFLICT (org, id) DO UPDATE SET
		contact = CASE WHEN c.contact = '' AND NOT c.erased THEN excluded.contact ELSE c.contact END,
		ended  = coalesce(c.ended, excluded.ended),
		reason = CASE WHEN c.ended IS NULL THEN excluded.reason ELSE c.reason END,
		sealed = c.sealed OR excluded.sealed`

func putCalls(ctx context.Context, tx pgx.Tx, org string, calls []calllog.Call) error {
	if len(calls) == 0 {
		return nil
	}
	var ids, agents, reasons, contacts []string
	var started []time.Time
	var ended []*time.Time
	var sealed []bool
	for _, c := range calls {
		ids, agents, reasons = append(ids, clean(c.ID)), append(agents, clean(c.Agent)), append(reasons, clean(c.Reason))
		started, sealed, contacts = append(started, c.Started), append(sealed, c.Sealed), append(contacts, clean(c.Contact))
		var end *time.Time
		if !c.Ended.IsZero() {
			end = &c.Ended
		}
		ended = append(ended, end)
	}
	if _, err := tx.Exec(ctx, upsertCalls, clean(org), ids, agents, started, ended, reasons, sealed, contacts); err != nil {
		return fmt.Errorf("put calls: %w", err)
	}
	return nil
}

var (
	_ calllog.Store = (*DB)(nil)
	_ calllog.Calls = (*DB)(nil)
)
