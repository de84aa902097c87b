// Package postgres keeps the records of package store in PostgreSQL 17 or newer
// with pgvector, for workers on several machines that share them. It never
// decides; it ranks only where it is asked to search a base that no worker
// holds in memory, and there as package retrieval does.
//
// Its tables are made by Migrate, never by Open: many workers may run while an
// operator changes them. Opening needs no database, and each connection, when it
// is made, looks whether the tables are those that this program knows.
//
// How it fails: a database that is away, or full, is an error of the operation
// that met it, after a bounded time, and the next operation connects anew. One
// that Migrate has not brought up to date is ErrOlder, one that a newer program
// changed is ErrNewer. Text that PostgreSQL cannot hold (NUL, invalid UTF-8) is
// cleaned and keeps nothing else out. The table of an indexing that was killed is
// dropped by the next that indexes, or by a worker that starts. Without
// pg_textsearch words are ranked by ts_rank_cd instead of BM25, and Status says so.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"
	pgxvector "github.com/pgvector/pgvector-go/pgx"
)

// Defaults of Config.
const (
	DefaultConnections = 8
	DefaultPatience    = 10 * time.Second
)

// connectWithin bounds the making of one connection, when the URL does not.
const connectWithin = 5 * time.Second

// cancelWithin is what a server has to end a statement that nobody waits for.
const cancelWithin = 2 * time.Second

// Config says which database, and how long it is waited for.
type Config struct {
	// URL is postgres://user:password@host:port/database?sslmode=…, or the
	// keywords and values of libpq. pool_max_conns in it is the number of
	// connections at most, connect_timeout the seconds that one may take to make.
	// A pooler between must keep sessions apart: they listen, and have settings.
	URL string
	// Patience is what an operation may take that reads or writes little; 0 is
	// DefaultPatience. Bases are read, changed and indexed, and contacts erased, under
	// their caller's clock alone.
	Patience time.Duration
}

// DB is a database. Its methods may be called from any goroutine.
type DB struct {
	pool     *pgxpool.Pool
	patience time.Duration
	tables   tables
}

// Open prepares connections to a database, and makes none yet: a database that
// is away now may be there when it is needed. Ping tells. Close it when done.
func Open(ctx context.Context, cfg Config) (*DB, error) {
	pooled, err := parse(cfg.URL)
	if err != nil {
		return nil, err
	}
	pooled.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		if err := checkVersion(ctx, conn); err != nil {
			return err
		}
		return prepare(ctx, conn)
	}
	pool, err := pgxpool.NewWithConfig(ctx, pooled)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	db := &DB{pool: pool, patience: cfg.Patience}
	if db.patience <= 0 {
		db.patience = DefaultPatience
	}
	return db, nil
}

// parse reads the URL. Its error never holds the password.
func parse(url string) (*pgxpool.Config, error) {
	if url == "" {
		return nil, errors.New("open database: no URL")
	}
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("read database URL: %w", err)
	}
	if !strings.Contains(url, "pool_max_conns") {
		cfg.MaxConns = DefaultConnections
	}
	if cfg.ConnConfig.ConnectTimeout <= 0 {
		cfg.ConnConfig.ConnectTimeout = connectWithin
	}
	cfg.ConnConfig.BuildContextWatcherHandler = cancelling
	if cfg.ConnConfig.RuntimeParams["application_name"] == "" {
		cfg.ConnConfig.RuntimeParams["application_name"] = "headstart"
	}
	return cfg, nil
}

// cancelling ends a statement whose context ends by asking the server for it, and
// keeps the connection: lookups are superseded all the time. One that is not ended
// soon loses its connection.
func cancelling(conn *pgconn.PgConn) ctxwatch.Handler {
	return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: cancelWithin}
}

// settings are those of a connection: the graph of vectors goes on until it has
// as many as are asked for, in their order, and looks at more than it returns, for
// the sake of what it would miss.
const settings = `SET hnsw.iterative_scan = strict_order; SET hnsw.ef_search = 200`

// prepare gives a connection its settings.
func prepare(ctx context.Context, conn *pgx.Conn) error {
	if err := pgxvector.RegisterTypes(ctx, conn); err != nil {
		return fmt.Errorf("set up connection: %w", err)
	}
	if _, err := conn.Exec(ctx, settings); err != nil {
		return fmt.Errorf("set up connection: %w", err)
	}
	return nil
}

// Close waits for what runs and closes every connection.
func (db *DB) Close() error {
	db.pool.Close()
	return nil
}

// Ping tells whether the database can be read now, and whether its tables are
// those that this program knows: ErrOlder and ErrNewer when they are not.
func (db *DB) Ping(ctx context.Context) error {
	ctx, cancel := db.within(ctx)
	defer cancel()
	if err := checkVersion(ctx, db.pool); err != nil {
		return fmt.Errorf("ask database: %w", cause(ctx, err))
	}
	return nil
}

// within bounds an operation that reads or writes little.
func (db *DB) within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, db.patience, fmt.Errorf("database did not answer within %s", db.patience))
}

// cause adds why ctx ended, when that ended what failed.
func cause(ctx context.Context, err error) error {
	if why := context.Cause(ctx); why != nil && !errors.Is(err, why) {
		return fmt.Errorf("%w (%w)", why, err)
	}
	return err
}

// write runs do in a transaction, which is kept only when do returns nil.
func (db *DB) write(ctx context.Context, do func(context.Context, pgx.Tx) error) error {
	return db.transact(ctx, pgx.TxOptions{}, do)
}

// read runs do on one state of the database.
func (db *DB) read(ctx context.Context, do func(context.Context, pgx.Tx) error) error {
	return db.transact(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, do)
}

func (db *DB) transact(ctx context.Context, options pgx.TxOptions, do func(context.Context, pgx.Tx) error) error {
	ctx, cancel := db.within(ctx)
	defer cancel()
	err := pgx.BeginTxFunc(ctx, db.pool, options, func(tx pgx.Tx) error { return do(ctx, tx) })
	return cause(ctx, err)
}

// writeMuch is write under the caller's clock alone.
func (db *DB) writeMuch(ctx context.Context, do func(context.Context, pgx.Tx) error) error {
	err := pgx.BeginFunc(ctx, db.pool, func(tx pgx.Tx) error { return do(ctx, tx) })
	return cause(ctx, err)
}

// clean is a text as PostgreSQL can hold it: valid UTF-8 without NUL.
func clean(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}
