package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"headstart/store/schema"
)

//go:embed migrations/*.sql
var migrations embed.FS

var (
	// ErrNewer means that a newer program has changed the database's tables.
	ErrNewer = errors.New("database is newer than this program: run the version that migrated it, or a later one")
	// ErrOlder means that the tables are not there yet, or those of an older program.
	ErrOlder = errors.New("database is not up to date: run headstart migrate")
)

// migrateLock is the advisory lock of whoever changes tables: any number that
// others are unlikely to take.
const migrateLock = 0x4ead57a7

// undefinedTable is the SQLSTATE of a table that is not there.
const undefinedTable = "42P01"

const selectVersion = `SELECT coalesce(max(version), 0) FROM headstart_schema`

// latest is the version that this program knows.
var latest = sync.OnceValues(func() (int, error) {
	list, err := schema.List(migrations)
	return len(list), err
})

// Migrated is what Migrate did.
type Migrated struct {
	From, To int      // versions of the tables
	Applied  []string // names of the migrations
}

// Migrate brings the tables of a database up to date, all of them or none, and
// adds pg_textsearch where the server has it. Programs that migrate at the same
// time wait for each other. It fails with ErrNewer, and changes nothing.
func Migrate(ctx context.Context, url string) (m Migrated, err error) {
	cfg, err := parse(url)
	if err != nil {
		return m, err
	}
	list, err := schema.List(migrations)
	if err != nil {
		return m, err
	}
	conn, err := pgx.ConnectConfig(ctx, cfg.ConnConfig)
	if err != nil {
		return m, fmt.Errorf("connect to database: %w", err)
	}
	defer hangUp(ctx, conn)
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		m, err = migrate(ctx, tx, list)
		return err
	})
	if err != nil {
		return Migrated{}, fmt.Errorf("migrate database: %w", err)
	}
	return m, addTextSearch(ctx, conn)
}

func migrate(ctx context.Context, tx pgx.Tx, list []schema.Migration) (Migrated, error) {
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, migrateLock); err != nil {
		return Migrated{}, fmt.Errorf("wait for other migrations: %w", err)
	}
	const table = `CREATE TABLE IF NOT EXISTS headstart_schema (
		version integer PRIMARY KEY, name text NOT NULL, applied timestamptz NOT NULL DEFAULT now())`
	if _, err := tx.Exec(ctx, table); err != nil {
		return Migrated{}, fmt.Errorf("make version table: %w", err)
	}
	m := Migrated{To: len(list)}
	if err := tx.QueryRow(ctx, selectVersion).Scan(&m.From); err != nil {
		return Migrated{}, fmt.Errorf("read version: %w", err)
	}
	if m.From > len(list) {
		return Migrated{}, compare(m.From)
	}
	for _, step := range list[m.From:] {
		if err := apply(ctx, tx, step); err != nil {
			return Migrated{}, err
		}
		m.Applied = append(m.Applied, step.Name)
	}
	return m, nil
}

func apply(ctx context.Context, tx pgx.Tx, m schema.Migration) error {
	if _, err := tx.Exec(ctx, m.Text); err != nil {
		return fmt.Errorf("apply %s: %w", m.Name, err)
	}
	if _, err := tx.Exec(ctx, `INSERT INTO headstart_schema (version, name) VALUES ($1, $2)`, m.Version, m.Name); err != nil {
		return fmt.Errorf("note %s: %w", m.Name, err)
	}
	return nil
}

// addTextSearch adds the extension where it can be used: it has to be installed
// and preloaded, and without it there is another way.
func addTextSearch(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, `CREATE EXTENSION IF NOT EXISTS pg_textsearch`)
	if _, refused := errors.AsType[*pgconn.PgError](err); refused {
		return nil // Status tells which way it is
	}
	if err != nil {
		return fmt.Errorf("add pg_textsearch: %w", err)
	}
	return nil
}

// checkVersion tells whether the tables are those that this program knows.
func checkVersion(ctx context.Context, db interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}) error {
	var version int
	err := db.QueryRow(ctx, selectVersion).Scan(&version)
	if missing, ok := errors.AsType[*pgconn.PgError](err); ok && missing.Code == undefinedTable {
		err = nil // nobody has migrated it
	}
	if err != nil {
		return fmt.Errorf("read version of database: %w", err)
	}
	return compare(version)
}

func compare(version int) error {
	known, err := latest()
	switch {
	case err != nil:
		return err
	case version > known:
		return fmt.Errorf("version %d, known %d: %w", version, known, ErrNewer)
	case version < known:
		return fmt.Errorf("version %d, known %d: %w", version, known, ErrOlder)
	}
	return nil
}
