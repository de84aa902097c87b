package postgres_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"headstart/store/postgres"
	"headstart/store/postgres/postgrestest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(postgrestest.Main(m)) }

// migrated is the URL of a database of the test's own, with its tables.
func migrated(t testing.TB) string {
	t.Helper()
	return postgrestest.Filled(t, "tables", func(ctx context.Context, url string) error {
		_, err := postgres.Migrate(ctx, url)
		return err
	})
}

func open(t testing.TB, url string) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), postgres.Config{URL: url, Patience: 5 * time.Minute})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return db
}
