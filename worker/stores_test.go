package worker_test

import (
	"context"
	"path/filepath"
	"testing"

	"headstart/memory"
	"headstart/store/postgres"
	"headstart/store/postgres/postgrestest"
	"headstart/store/sqlite"
	"headstart/worker/calllog"
)

// records are what a bench keeps its calls and facts in.
type records interface {
	calllog.Store
	calllog.Calls
	memory.Facts
	Close() error
}

// stores are those that a worker may have, for what must hold on each.
var stores = []struct {
	name string
	open func(t *testing.T) records
}{
	{"SQLite", openSQLite},
	{"PostgreSQL", openPostgres},
}

func openSQLite(t *testing.T) records {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "headstart.db"))
	if err != nil {
		t.Fatalf("open store: %v", err)
	}
	return db
}

// openPostgres opens a database of the test's own, on the server of the package.
func openPostgres(t *testing.T) records {
	t.Helper()
	url := postgrestest.Filled(t, "tables", func(ctx context.Context, url string) error {
		_, err := postgres.Migrate(ctx, url)
		return err
	})
	db, err := postgres.Open(t.Context(), postgres.Config{URL: url})
	if err != nil {
		t.Fatalf("open store: %v", err)
	}
	return db
}
