package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"headstart/retrieval"
)

// ExplainLarge runs a search of a base and returns its plan as it was executed.
func (db *DB) ExplainLarge(ctx context.Context, q retrieval.LargeQuery) ([]string, error) {
	b, err := baseOf(ctx, db.pool, selectBase, q.Org, q.Base)
	if err != nil {
		return nil, err
	}
	s, err := statementOf(b, q)
	if err != nil {
		return nil, err
	}
	return gather(ctx, db.pool, "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) "+s.text, s.args, pgx.RowTo[string])
}

// DropTextSearch takes pg_textsearch out of a database.
func (db *DB) DropTextSearch(ctx context.Context) error {
	_, err := db.pool.Exec(ctx, `DROP EXTENSION pg_textsearch`)
	return err
}

// Spell is spell.
func Spell(terms []string) string { return spell(terms) }

// Lexemes is what the parser makes of a text.
func (db *DB) Lexemes(ctx context.Context, text string) ([]string, error) {
	return gather(ctx, db.pool, `SELECT unnest(tsvector_to_array(to_tsvector('simple', $1)))`, []any{text}, pgx.RowTo[string])
}

// Sleep asks the server to wait for a minute.
func (db *DB) Sleep(ctx context.Context) error {
	_, err := db.pool.Exec(ctx, `SELECT pg_sleep(60)`)
	return err
}

// Backend is the process that a connection of the pool talks to.
func (db *DB) Backend(ctx context.Context) (pid int, err error) {
	err = db.pool.QueryRow(ctx, `SELECT pg_backend_pid()`).Scan(&pid)
	return pid, err
}

// ForgetNamesOfVectors makes the index of a base as version 3 of the tables had it.
func (db *DB) ForgetNamesOfVectors(ctx context.Context, org, name string) error {
	b, err := baseOf(ctx, db.pool, selectBase, org, name)
	if err != nil {
		return err
	}
	_, err = db.pool.Exec(ctx, fmt.Sprintf(`ALTER TABLE %s RENAME COLUMN %s TO vector`, b.table(), b.column()))
	return err
}

// Apply runs a migration once more.
func (db *DB) Apply(ctx context.Context, name string) error {
	text, err := migrations.ReadFile("migrations/" + name + ".sql")
	if err != nil {
		return err
	}
	_, err = db.pool.Exec(ctx, string(text))
	return err
}
