package postgres_test

import (
	"testing"

	"go.uber.org/goleak"

	"headstart/store/postgres"
	"headstart/store/postgres/postgrestest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(postgrestest.Main(m)) }

// migrated is the URL of a database of the test's own, with its tables.
func migrated(t testing.TB) string {
	t.Helper()
	url := postgrestest.Database(t)
	if _, err := postgres.Migrate(t.Context(), url); err != nil {
		t.Fatalf("migrate: %v", err)
	}
	return url
}

func open(t testing.TB, url string) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), postgres.Config{URL: url})
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
