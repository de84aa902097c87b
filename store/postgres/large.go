package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// ranking is how the words of a base with an index of its own are ranked.
type ranking string

const (
	byBM25   ranking = "bm25"     // of pg_textsearch
	byTSRank ranking = "tsvector" // ts_rank_cd
)

// maxIndexed is the longest vector that HNSW takes as 16-bit floats; longer ones
// are compared one by one.
const maxIndexed = 4000

const selectRanking = `SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_textsearch')`

// table is the name of the index of a base: a table of its own, so that the
// statistics of its words and the graph of its vectors are of no other tenant's.
// A number is never used twice.
func (b base) table() string { return fmt.Sprintf("large_%d", b.number) }

// Index gives a base an index of its own, for SearchLarge. It is kept in step
// with the base from then on; another model or language drops it. A base that has
// one stays as it is, unless its words could be ranked by BM25 now. It takes its time (its clock is the caller's alone), while
// the base may be read and changed.
func (db *DB) Index(ctx context.Context, org, name string) error {
	err := db.pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		b, err := baseOf(ctx, conn, selectBase, clean(org), clean(name))
		if err != nil || b.indexed == byBM25 {
			return err
		}
		// Another process that indexes it is waited for. The connection's end would
		// free the lock as well.
		if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1, $2)`, indexLock, int32(b.number)); err != nil {
			return fmt.Errorf("wait for others: %w", err)
		}
		defer unlock(ctx, conn.Conn(), b)
		return db.build(ctx, conn.Conn(), b.Org, b.Name)
	})
	if err != nil {
		return fmt.Errorf("index base %s: %w", name, cause(ctx, err))
	}
	return nil
}

// indexLock is the first half of the advisory locks of those who index.
const indexLock = 0x4ead57

func unlock(ctx context.Context, conn *pgx.Conn, b base) {
	brief, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	if _, err := conn.Exec(brief, `SELECT pg_advisory_unlock($1, $2)`, indexLock, int32(b.number)); err != nil {
		_ = conn.Close(brief)
	}
}

// build fills a table beside the base, and then, with the base held still, takes
// in what has changed meanwhile and puts the table in its place.
func (db *DB) build(ctx context.Context, conn *pgx.Conn, org, name string) error {
	b, err := baseOf(ctx, conn, selectBase, org, name)
	if err != nil {
		return err
	}
	had := b.indexed
	if b.indexed, err = bestRanking(ctx, conn); err != nil || had == b.indexed || had == byBM25 {
		return err
	}
	fresh := b.table() + "_new"
	if _, err := conn.Exec(ctx, `DROP TABLE IF EXISTS `+fresh); err != nil {
		return fmt.Errorf("drop what an earlier try left: %w", err)
	}
	files, err := fill(ctx, conn, b, fresh)
	if err != nil {
		return err
	}
	// A search looks pieces up by their key; of a table that was just filled the
	// planner has to be told that this is the way.
	if _, err := conn.Exec(ctx, `ANALYZE pieces, vectors`); err != nil {
		return fmt.Errorf("analyse pieces: %w", err)
	}
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return adopt(ctx, tx, b, fresh, files) })
}

// bestRanking is how the server can rank words now.
func bestRanking(ctx context.Context, conn *pgx.Conn) (ranking, error) {
	var bm25 bool
	if err := conn.QueryRow(ctx, selectRanking).Scan(&bm25); err != nil {
		return "", fmt.Errorf("look for pg_textsearch: %w", err)
	}
	if bm25 {
		return byBM25, nil
	}
	return byTSRank, nil
}

// fill makes the table and its indexes of one state of the base, and returns
// when each file in it was written.
func fill(ctx context.Context, conn *pgx.Conn, b base, fresh string) (files map[string]time.Time, err error) {
	err = pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) error {
		if files, err = filesOf(ctx, tx, b); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, tableOf(b, fresh)); err != nil {
			return fmt.Errorf("make table: %w", err)
		}
		if err := copyPieces(ctx, tx, b, fresh, nil); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, indexesOf(b, fresh)); err != nil {
			return fmt.Errorf("make indexes: %w", err)
		}
		return nil
	})
	return files, err
}

func tableOf(b base, name string) string {
	columns := `path text COLLATE "C" NOT NULL, seq integer NOT NULL, section integer NOT NULL, id text COLLATE "C" NOT NULL, terms text NOT NULL`
	if b.indexed == byTSRank {
		columns += `, lexemes tsvector GENERATED ALWAYS AS (to_tsvector('simple', terms)) STORED`
	}
	if b.Model != "" {
		columns += fmt.Sprintf(`, vector halfvec(%d) NOT NULL`, b.Dim)
	}
	return fmt.Sprintf(`CREATE TABLE %s (row bigint GENERATED ALWAYS AS IDENTITY, %s)`, name, columns)
}

// indexesOf are made after the rows: that is faster, and the graph is better.
// The graph is built in memory where there is room for it.
func indexesOf(b base, name string) string {
	statements := []string{
		`SELECT set_config('maintenance_work_mem', '256MB', true) WHERE pg_size_bytes(current_setting('maintenance_work_mem')) < 256 * 1024 * 1024`,
		fmt.Sprintf(`ALTER TABLE %[1]s ADD CONSTRAINT %[1]s_pkey PRIMARY KEY (row)`, name),
		fmt.Sprintf(`CREATE INDEX %[1]s_places ON %[1]s (path, seq)`, name),
	}
	if b.indexed == byBM25 {
		statements = append(statements, fmt.Sprintf(`CREATE INDEX %[1]s_words ON %[1]s USING bm25 (terms) WITH (text_config = 'simple', k1 = 1.2, b = 0.75)`, name))
	} else {
		statements = append(statements, fmt.Sprintf(`CREATE INDEX %[1]s_words ON %[1]s USING gin (lexemes)`, name))
	}
	if b.Model != "" && b.Dim <= maxIndexed {
		statements = append(statements, fmt.Sprintf(`CREATE INDEX %[1]s_vectors ON %[1]s USING hnsw (vector halfvec_cosine_ops)`, name))
	}
	return strings.Join(append(statements, `ANALYZE `+name), ";\n")
}

var errMoved = errors.New("base changed its model or language meanwhile: index it again")

// adopt puts a table in its place.
func adopt(ctx context.Context, tx pgx.Tx, built base, fresh string, files map[string]time.Time) error {
	b, err := baseOf(ctx, tx, lockBase, built.Org, built.Name)
	switch {
	case err != nil:
		return err
	case b.number != built.number || b.Model != built.Model || b.Dim != built.Dim || b.Language != built.Language:
		return errMoved
	}
	b.indexed = built.indexed
	if err := catchUp(ctx, tx, b, fresh, files); err != nil {
		return err
	}
	rename := []string{fmt.Sprintf(`DROP TABLE IF EXISTS %[1]s; ALTER TABLE %[2]s RENAME TO %[1]s`, b.table(), fresh)}
	names := []string{"pkey", "places", "words"}
	if b.Model != "" && b.Dim <= maxIndexed {
		names = append(names, "vectors")
	}
	for _, n := range names {
		rename = append(rename, fmt.Sprintf(`ALTER INDEX %s_%s RENAME TO %s_%[2]s`, fresh, n, b.table()))
	}
	if _, err := tx.Exec(ctx, strings.Join(rename, ";\n")); err != nil {
		return fmt.Errorf("put index in its place: %w", err)
	}
	return putBase(ctx, tx, &b)
}
