package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"headstart/store/postgres"
	"headstart/store/postgres/postgrestest"
)

// keepings are where a process keeps its records, for what must hold in each.
var keepings = []struct {
	name string
	open func(t *testing.T) *rememberings
}{
	{"SQLite", keptInSQLite},
	{"PostgreSQL", keptInPostgres},
}

// keptInSQLite is backed up as a file.
func keptInSQLite(t *testing.T) *rememberings {
	t.Setenv("HEADSTART_DATABASE_URL", "")
	r := newRememberings(t)
	file := filepath.Join(r.data, "headstart.db")
	r.backUp = func() func() {
		if wal, err := os.Stat(file + "-wal"); err == nil && wal.Size() > 0 {
			t.Fatalf("the database was not closed: its log has %d bytes", wal.Size())
		}
		kept, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return func() {
			if err := os.WriteFile(file, kept, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return r
}

// keptInPostgres is backed up as another database, which takes its place.
func keptInPostgres(t *testing.T) *rememberings {
	url := migratedPostgres(t)
	t.Setenv("HEADSTART_DATABASE_URL", url)
	r := newRememberings(t)
	r.backUp = func() func() {
		if _, err := os.Stat(filepath.Join(r.data, "headstart.db")); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("there is a SQLite database: %v", err)
		}
		kept := postgrestest.Copy(t, url)
		return func() { t.Setenv("HEADSTART_DATABASE_URL", kept) }
	}
	return r
}

// migratedPostgres is the URL of a database of the test's own, with its tables.
func migratedPostgres(t *testing.T) string {
	t.Helper()
	return postgrestest.Filled(t, "tables", func(ctx context.Context, url string) error {
		_, err := postgres.Migrate(ctx, url)
		return err
	})
}
