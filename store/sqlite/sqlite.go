// Package sqlite owns the embedded database: one file, its migrations, and the
// records of package store in it. It never ranks and never decides.
//
// One connection writes, so that writers of this process wait for each other in
// Go and not in SQLite; others read beside it (write-ahead log), seeing whole
// transactions only. A commit is on the disk when it returns (synchronous full):
// a spool may be removed after it.
//
// How it fails: a database that another process locks is waited for one second,
// then the error is returned; a full disk and a damaged file are errors of the
// operation that met them. A database that a newer program wrote is not opened.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver, in Go: no cgo
)

// readers is how many queries may run at once.
const readers = 4

// DB is an open database. Its methods may be called from any goroutine.
type DB struct {
	path    string
	writer  *sql.DB // one connection
	reader  *sql.DB
	changes bell // of bases and quotas
}

// Open opens the database at path, makes it when it is not there, and brings
// its tables up to date. The folder must exist and be on a local disk. Close it
// when done.
func Open(ctx context.Context, path string) (*DB, error) {
	writer, err := connect(path, 1, "_txlock=immediate",
		"_pragma=journal_mode(WAL)", "_pragma=synchronous(FULL)", "_pragma=foreign_keys(1)")
	if err != nil {
		return nil, err
	}
	if err := migrate(ctx, writer); err != nil {
		return nil, errors.Join(err, writer.Close())
	}
	reader, err := connect(path, readers, "_pragma=query_only(1)")
	if err != nil {
		return nil, errors.Join(err, writer.Close())
	}
	return &DB{path: path, writer: writer, reader: reader}, nil
}

// connect makes a pool. busy_timeout comes first: the pragmas after it may meet
// a lock. It is short, because writes that are refused are tried again by those
// who ask, and a last attempt has only two seconds.
func connect(path string, connections int, options ...string) (*sql.DB, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("find database: %w", err)
	}
	name := url.URL{Scheme: "file", Path: filepath.ToSlash(absolute), RawQuery: "_pragma=busy_timeout(1000)"}
	for _, option := range options {
		name.RawQuery += "&" + option
	}
	pool, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	pool.SetMaxOpenConns(connections)
	pool.SetMaxIdleConns(connections)
	return pool, nil
}

// Close waits for what runs and closes the database.
func (db *DB) Close() error {
	if err := errors.Join(db.reader.Close(), db.writer.Close()); err != nil {
		return fmt.Errorf("close database: %w", err)
	}
	return nil
}

// Ping tells whether the database can be read now, by reading from its file.
func (db *DB) Ping(ctx context.Context) error {
	var tables int
	if err := db.reader.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
		return fmt.Errorf("read database: %w", err)
	}
	return nil
}

// write runs do in a transaction, which is kept only when do returns nil.
func (db *DB) write(ctx context.Context, do func(*sql.Tx) error) error {
	return transact(ctx, db.writer, nil, do)
}

// read runs do on one state of the database.
func (db *DB) read(ctx context.Context, do func(*sql.Tx) error) error {
	return transact(ctx, db.reader, &sql.TxOptions{ReadOnly: true}, do)
}

func transact(ctx context.Context, pool *sql.DB, options *sql.TxOptions, do func(*sql.Tx) error) error {
	tx, err := pool.BeginTx(ctx, options)
	if err != nil {
		return fmt.Errorf("begin transaction: %w", err)
	}
	if err := do(tx); err != nil {
		if undo := tx.Rollback(); undo != nil && !errors.Is(undo, sql.ErrTxDone) {
			err = errors.Join(err, fmt.Errorf("roll transaction back: %w", undo))
		}
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit transaction: %w", err)
	}
	return nil
}
