package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"

	"headstart/store/schema"
)

//go:embed migrations/*.sql
var migrations embed.FS

// ErrNewer means that a newer program has changed the database's tables.
var ErrNewer = errors.New("database is newer than this program")

// migrate applies what is missing, all in one transaction that holds the write
// lock, so that processes that start together apply it once.
func migrate(ctx context.Context, writer *sql.DB) error {
	list, err := schema.List(migrations)
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

func apply(ctx context.Context, tx *sql.Tx, m schema.Migration) error {
	if _, err := tx.ExecContext(ctx, m.Text); err != nil {
		return fmt.Errorf("apply %s: %w", m.File, err)
	}
	const note = `INSERT INTO schema_version (version, name, applied) VALUES (?, ?, unixepoch())`
	if _, err := tx.ExecContext(ctx, note, m.Version, m.File); err != nil {
		return fmt.Errorf("note %s: %w", m.File, err)
	}
	return nil
}
