package postgrestest_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"headstart/store/postgres/postgrestest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(postgrestest.Main(m)) }

// The server has what the store asks for, and each test a database of its own.
func TestDatabase(t *testing.T) {
	t.Parallel()
	one, other := postgrestest.Database(t), postgrestest.Database(t)
	if one == other {
		t.Fatalf("two tests share %s", one)
	}
	conn, err := pgx.Connect(t.Context(), one)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { _ = conn.Close(t.Context()) }) // the database goes in any case
	for _, statement := range []string{`CREATE EXTENSION vector`, `CREATE EXTENSION pg_textsearch`, `CREATE TABLE t (v halfvec(3))`} {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	var version int
	if err := conn.QueryRow(t.Context(), `SELECT current_setting('server_version_num')::int / 10000`).Scan(&version); err != nil {
		t.Fatalf("ask version: %v", err)
	}
	if version < 17 {
		t.Fatalf("PostgreSQL %d, want 17 or newer", version)
	}
}
