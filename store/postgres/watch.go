package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
)

const (
	channel   = "headstart_changes"
	listen    = `LISTEN ` + channel
	notify    = `SELECT pg_notify('` + channel + `', $1)`
	pingEvery = 10 * time.Second // a silent connection may be a dead one
	firstWait = 100 * time.Millisecond
	longWait  = 5 * time.Second
	goodbye   = 2 * time.Second
)

// change is what watchers are told: a base, or an org's quota when Base is empty.
type change struct {
	Org  string `json:"org"`
	Base string `json:"base,omitempty"`
}

// tell is heard by those who watch when the transaction is committed, and never
// when it is not.
func tell(ctx context.Context, tx pgx.Tx, org, name string) error {
	text, err := json.Marshal(change{org, name})
	if err != nil {
		return fmt.Errorf("tell watchers: %w", err)
	}
	if _, err := tx.Exec(ctx, notify, string(text)); err != nil {
		return fmt.Errorf("tell watchers: %w", err)
	}
	return nil
}

// Watch implements knowledge.Watcher. It has a connection of its own, and makes
// another when that is lost: after 0.1 s, then less and less often, every 5 s at
// last. It never fails.
func (db *DB) Watch(ctx context.Context, changed func(org, base string)) error {
	wait := firstWait
	for ctx.Err() == nil {
		if heard := db.listen(ctx, changed); heard {
			wait = firstWait
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
		wait = min(2*wait, longWait)
	}
	return nil
}

// listen tells of changes until its connection is lost, and whether it had one.
func (db *DB) listen(ctx context.Context, changed func(org, base string)) (heard bool) {
	cfg := db.pool.Config().ConnConfig // a copy
	cfg.RuntimeParams["application_name"] += " watch"
	cfg.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler { // there is no statement to end
		return &pgconn.DeadlineContextWatcherHandler{Conn: c.Conn()}
	}
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return false
	}
	defer hangUp(ctx, conn)
	if err := checkVersion(ctx, conn); err != nil {
		return false
	}
	if _, err := conn.Exec(ctx, listen); err != nil {
		return false
	}
	changed("", "")
	for {
		note, err := next(ctx, conn)
		if err != nil {
			return true
		}
		if note == nil {
			continue
		}
		var c change
		if err := json.Unmarshal([]byte(note.Payload), &c); err != nil {
			c = change{} // of another version: anything
		}
		changed(c.Org, c.Base)
	}
}

// hangUp says goodbye, though ctx may be why; a server that does not answer is
// left without.
func hangUp(ctx context.Context, conn *pgx.Conn) {
	brief, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	_ = conn.Close(brief)
}

// next waits for a notification, or for a time after which the connection is
// seen to live: then it is nil.
func next(ctx context.Context, conn *pgx.Conn) (*pgconn.Notification, error) {
	patient, cancel := context.WithTimeout(ctx, pingEvery)
	defer cancel()
	note, err := conn.WaitForNotification(patient)
	if err == nil || ctx.Err() != nil || !pgconn.Timeout(err) {
		return note, err
	}
	brief, done := context.WithTimeout(ctx, connectWithin)
	defer done()
	return nil, conn.Ping(brief)
}
