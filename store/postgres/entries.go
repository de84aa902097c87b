package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"headstart/turn"
	"headstart/worker/calllog"
)

const (
	// Whoever seals one of these calls at the same time waits until the batch is in.
	lockCalls     = `SELECT id, sealed, erased FROM calls WHERE org = $1 AND id = ANY($2) ORDER BY id FOR NO KEY UPDATE`
	insertEntries = `INSERT INTO entries (org, log, seq, ts, agent, type, data)
		SELECT $1, * FROM unnest($2::text[], $3::bigint[], $4::timestamptz[], $5::text[], $6::text[], $7::text[])
		ON CONFLICT DO NOTHING RETURNING log, seq`
	selectConflict = `SELECT n.log, n.seq FROM unnest($2::text[], $3::bigint[], $4::timestamptz[], $5::text[]) AS n (log, seq, ts, type)
		JOIN entries e ON e.org = $1 AND e.log = n.log AND e.seq = n.seq
		WHERE e.type <> n.type OR e.ts <> n.ts ORDER BY 1, 2 LIMIT 1`
	selectSealed  = `SELECT coalesce((SELECT sealed FROM calls WHERE org = $1 AND id = $2), false)`
	selectHighest = `SELECT coalesce(max(seq), 0) FROM entries WHERE org = $1 AND log = $2`
	selectEntries = `SELECT seq, ts, agent, type, data FROM entries
		WHERE org = $1 AND log = $2 AND seq > $3 ORDER BY seq LIMIT $4`
)

// Append implements calllog.Store. The entries go in one statement, whatever
// their number.
func (db *DB) Append(ctx context.Context, batch calllog.Batch) error {
	err := db.write(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if err := appendEntries(ctx, tx, batch.Org, batch.Entries); err != nil {
			return err
		}
		if err := putCalls(ctx, tx, batch.Org, batch.Calls); err != nil {
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

// columns are entries as arrays, one a column.
type columns struct {
	logs, agents, types, data []string
	seqs                      []int64
	times                     []time.Time
}

// columnsOf leaves the words out of the logs that were erased.
func columnsOf(entries []turn.Entry, states []state) (c columns) {
	for _, e := range entries {
		if e.Ephemeral {
			continue
		}
		log := clean(calllog.LogName(e.Call, e.Agent))
		if slices.ContainsFunc(states, func(s state) bool { return s.Log == log && s.Erased }) {
			e = calllog.WithoutWords(e)
		}
		c.logs = append(c.logs, log)
		c.seqs = append(c.seqs, e.Seq)
		c.times = append(c.times, e.Time)
		c.agents = append(c.agents, clean(e.Agent))
		c.types = append(c.types, clean(e.Type))
		c.data = append(c.data, clean(string(e.Data)))
	}
	return c
}

func appendEntries(ctx context.Context, tx pgx.Tx, org string, entries []turn.Entry) error {
	org = clean(org)
	states, err := gather(ctx, tx, lockCalls, []any{org, logsOf(entries)}, pgx.RowToStructByPos[state])
	if err != nil {
		return fmt.Errorf("look what became of logs: %w", err)
	}
	c := columnsOf(entries, states)
	if len(c.logs) == 0 {
		return nil
	}
	ask := &pgx.Batch{}
	ask.Queue(insertEntries, org, c.logs, c.seqs, c.times, c.agents, c.types, c.data)
	ask.Queue(selectConflict, org, c.logs, c.seqs, c.times, c.types)
	results := tx.SendBatch(ctx, ask)
	err = checkAppended(results, states)
	if closed := results.Close(); err == nil {
		err = closed
	}
	return err
}

func logsOf(entries []turn.Entry) []string {
	var logs []string
	for _, e := range entries {
		if log := clean(calllog.LogName(e.Call, e.Agent)); !e.Ephemeral && !slices.Contains(logs, log) {
			logs = append(logs, log)
		}
	}
	return logs
}

// state is what became of a log.
type state struct {
	Log            string
	Sealed, Erased bool
}

// checkAppended reads what both statements say.
func checkAppended(results pgx.BatchResults, states []state) error {
	inserted, err := collect(results, pgx.RowToStructByPos[place])
	if err != nil {
		return fmt.Errorf("insert entries: %w", err)
	}
	for _, p := range inserted {
		if slices.ContainsFunc(states, func(s state) bool { return s.Log == p.Log && s.Sealed }) {
			return fmt.Errorf("append entry %d to %s: %w", p.Seq, p.Log, calllog.ErrSealed)
		}
	}
	conflicts, err := collect(results, pgx.RowToStructByPos[place])
	if err != nil {
		return fmt.Errorf("compare entries: %w", err)
	}
	for _, p := range conflicts {
		return fmt.Errorf("append entry %d to %s: %w", p.Seq, p.Log, calllog.ErrConflict)
	}
	return nil
}

// place is where an entry stands.
type place struct {
	Log string
	Seq int64
}

func collect[T any](results pgx.BatchResults, read pgx.RowToFunc[T]) ([]T, error) {
	rows, err := results.Query()
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, read)
}

// Entries implements calllog.Store.
func (db *DB) Entries(ctx context.Context, org, log string, after int64, limit int) (calllog.Page, error) {
	var page calllog.Page
	err := db.read(ctx, func(ctx context.Context, tx pgx.Tx) error {
		ask := &pgx.Batch{}
		name, tenant := clean(log), clean(org)
		ask.Queue(selectSealed, tenant, name).QueryRow(func(row pgx.Row) error { return row.Scan(&page.Sealed) })
		ask.Queue(selectHighest, tenant, name).QueryRow(func(row pgx.Row) error { return row.Scan(&page.Highest) })
		ask.Queue(selectEntries, tenant, name, after, limit).Query(func(rows pgx.Rows) (err error) {
			page.Entries, err = scanEntries(rows, log)
			return err
		})
		return tx.SendBatch(ctx, ask).Close()
	})
	if err != nil {
		return calllog.Page{}, fmt.Errorf("read entries of %s: %w", log, err)
	}
	return page, nil
}

func scanEntries(rows pgx.Rows, log string) (entries []turn.Entry, err error) {
	call := log
	if strings.HasPrefix(log, "@") {
		call = ""
	}
	for rows.Next() {
		entry := turn.Entry{Call: call}
		var data string
		if err := rows.Scan(&entry.Seq, &entry.Time, &entry.Agent, &entry.Type, &data); err != nil {
			return nil, err
		}
		entry.Data = json.RawMessage(data)
		entries = append(entries, entry)
	}
	return entries, rows.Err()
}
