package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"headstart/retrieval"
	"headstart/retrieval/knowledge"
)

// asking is a connection of the test's own, beside those of a DB.
func asking(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) }) // the test's context is over
	return conn
}

func execute(t *testing.T, conn *pgx.Conn, statement string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// left are the tables that wait to be the index of a base.
func left(t *testing.T, conn *pgx.Conn) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), `SELECT tablename::text FROM pg_tables WHERE tablename LIKE 'large%new' ORDER BY 1`)
	if err != nil {
		t.Fatalf("list tables: %v", err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("list tables: %v", err)
	}
	return names
}

// What a killed process left of its indexing goes with the next that indexes, or keeps
// indexed, whatever base; what somebody still makes stays.
func TestLeftoversAreSwept(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		sweep func(t *testing.T, url string)
	}{
		{"by an index", func(t *testing.T, url string) { small(t, open(t, url)) }},
		{"by a worker that starts", func(t *testing.T, url string) {
			ctx, cancel := context.WithCancel(t.Context())
			db, watching := open(t, url), asking(t, url)
			ended := make(chan error, 1)
			go func() { ended <- db.KeepIndexed(ctx, 1000, func(knowledge.Base, time.Duration, error) {}) }()
			until(t, func() bool { return len(left(t, watching)) <= 1 })
			cancel()
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			url := migrated(t)
			conn, builder := asking(t, url), asking(t, url)
			for _, name := range []string{"large_900_new", "large_4294968197_new", "large_902_new"} {
				execute(t, conn, `CREATE TABLE `+name+` (terms text)`)
			}
			execute(t, conn, `CREATE VIEW large_903_new AS SELECT 1`)             // of somebody else
			execute(t, builder, `SELECT pg_advisory_lock($1, $2)`, 0x4ead57, 902) // as who indexes does
			c.sweep(t, url)
			if diff := cmp.Diff([]string{"large_902_new"}, left(t, conn)); diff != "" {
				t.Fatalf("tables (-want +got):\n%s", diff)
			}
		})
	}
}

// An indexing that is interrupted before its end takes away what it made, and the next
// one succeeds.
func TestAnInterruptedIndexLeavesNothing(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	db, conn, holder := open(t, url), asking(t, url), asking(t, url)
	if _, err := db.Make(t.Context(), knowledge.Base{Org: tenant, Name: "clinica", Language: "es", Model: model, Dim: 2}); err != nil {
		t.Fatalf("make: %v", err)
	}
	put(t, db, piecesOf("a.md", [][]float32{{1, 0}}, "Cuesta 320 euros."))
	execute(t, holder, `BEGIN`)
	execute(t, holder, `SELECT FROM bases FOR UPDATE`) // its last step waits for this
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- db.Index(ctx, tenant, "clinica") }()
	until(t, func() bool { return len(left(t, conn)) == 1 })
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Fatalf("interrupted: %v", err)
	}
	if names := left(t, conn); len(names) > 0 {
		t.Fatalf("it left %v", names)
	}
	execute(t, holder, `ROLLBACK`)
	if err := db.Index(t.Context(), tenant, "clinica"); err != nil {
		t.Fatalf("index again: %v", err)
	}
	if hits := search(t, db, retrieval.LargeQuery{Org: tenant, Base: "clinica", Terms: []string{"cuest"}, WordsWeight: 1, K: 9}); len(hits) != 1 {
		t.Fatalf("%d hits", len(hits))
	}
}

// until looks now and then whether something is so.
func until(t *testing.T, so func() bool) {
	t.Helper()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for !so() {
		select {
		case <-look.C:
		case <-t.Context().Done():
			t.Fatal("it does not happen")
		}
	}
}
