package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

//go:embed migrations/*.sql
var migrations embed.FS

// ErrNewer means that a newer program has changed the database's tables.
var ErrNewer = errors.New("database is newer than this program")

type migration struct {
	version int
	name    string
	text    string
}

// listMigrations returns the embedded migrations in order: 0001_…, 0002_…
func listMigrations(files fs.FS) ([]migration, error) {
	names, err := fs.Glob(files, "migrations/*.sql")
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", err)
	}
	var list []migration
	for i, name := range names {
		number, _, _ := strings.Cut(strings.TrimPrefix(name, "migrations/"), "_")
		version, err := strconv.Atoi(number)
		if err != nil || version != i+1 {
			return nil, fmt.Errorf("list migrations: %s is not number %d", name, i+1)
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("read migration: %w", err)
		}
		list = append(list, migration{version, name, string(text)})
	}
	return list, nil
}

// migrate applies what is missing, all in one transaction that holds the write
// lock, so that processes that start together apply it once.
func migrate(ctx context.Context, writer *sql.DB) error {
	list, err := listMigrations(migrations)
	if err != nil {
		return err
	}
	return transact(ctx, writer, nil, func(tx *sql.Tx) error {
		version, err := schemaVersion(ctx, tx)
		if err != nil {
			return err
		}
		if version > len(list) {
			return fmt.Errorf("migrate database: version %d, known %d: %w", version, len(list), ErrNewer)
		}
		for _, m := range list[version:] {
			if err := apply(ctx, tx, m); err != nil {
				return err
			}
		}
		return nil
	})
}

func schemaVersion(ctx context.Context, tx *sql.Tx) (int, error) {
	const table = `CREATE TABLE IF NOT EXISTS schema_version (
		version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied INTEGER NOT NULL)`
	if _, err := tx.ExecContext(ctx, table); err != nil {
		return 0, fmt.Errorf("make version table: %w", err)
	}
	var version int
	row := tx.QueryRowContext(ctx, `SELECT coalesce(max(version), 0) FROM schema_version`)
	if err := row.Scan(&version); err != nil {
		return 0, fmt.Errorf("read schema version: %w", err)
	}
	return version, nil
}

func apply(ctx context.Context, tx *sql.Tx, m migration) error {
	if _, err := tx.ExecContext(ctx, m.text); err != nil {
		return fmt.Errorf("apply %s: %w", m.name, err)
	}
	const note = `INSERT INTO schema_version (version, name, applied) VALUES (?, ?, unixepoch())`
	if _, err := tx.ExecContext(ctx, note, m.version, m.name); err != nil {
		return fmt.Errorf("note %s: %w", m.name, err)
	}
	return nil
}
