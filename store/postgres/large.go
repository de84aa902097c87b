package postgres

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"headstart/retrieval/knowledge"
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

// column is the name of the vectors in the table, which tells whose they are: a
// search that does not know yet that the base has those of another model fails,
// and asks anew, in place of comparing with them.
func (b base) column() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", b.Model, b.Dim))
	return fmt.Sprintf("vector_%x", sum[:6])
}

// Index gives a base an index of its own, for SearchLarge. It is kept in step
// with the base from then on: Adopt makes another beside it for another model, and
// another language drops it. A base that has
// one stays as it is, unless its words could be ranked by BM25 now. It takes its time (its clock is the caller's alone), while
// the base may be read and changed.
func (db *DB) Index(ctx context.Context, org, name string) error {
	b, err := baseOf(ctx, db.pool, selectBase, clean(org), clean(name))
	if err == nil && b.indexed != byBM25 {
		err = db.indexing(ctx, b, func(conn *pgx.Conn) error { return index(ctx, conn, b.Org, b.Name) })
	}
	if err != nil {
		return fmt.Errorf("index base %s: %w", name, cause(ctx, err))
	}
	return nil
}

// indexing gives a connection to who alone indexes the base: another process that
// does so is waited for. The connection's end would free the lock as well.
func (db *DB) indexing(ctx context.Context, b base, do func(*pgx.Conn) error) error {
	began := false
	err := db.pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1, $2)`, indexLock, lockOf(b.number)); err != nil {
			return fmt.Errorf("wait for others: %w", err)
		}
		defer unlock(ctx, conn.Conn(), b)
		_ = sweep(ctx, conn) // what it cannot drop is in nobody's way but the disk's
		began = true
		return do(conn.Conn())
	})
	if began && err != nil {
		db.dropFresh(ctx, b)
	}
	return err
}

// indexLock is the first half of the advisory locks of those who index.
const indexLock = 0x4ead57

func unlock(ctx context.Context, conn *pgx.Conn, b base) {
	brief, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	if _, err := conn.Exec(brief, `SELECT pg_advisory_unlock($1, $2)`, indexLock, lockOf(b.number)); err != nil {
		_ = conn.Close(brief)
	}
}

func index(ctx context.Context, conn *pgx.Conn, org, name string) error {
	b, err := baseOf(ctx, conn, selectBase, org, name)
	if err != nil {
		return err
	}
	best, err := bestRanking(ctx, conn)
	if err != nil || b.indexed == best || b.indexed == byBM25 {
		return err
	}
	next := b
	next.indexed = best
	_, err = build(ctx, conn, b, next)
	return err
}

// build fills a table beside the base for what it shall be, and then, with the base
// held still, takes in what has changed meanwhile and puts the table in its place. It
// fails with knowledge.ErrUnstaged while a text has no vector of what it shall be.
func build(ctx context.Context, conn *pgx.Conn, b, next base) (after base, err error) {
	fresh := b.fresh()
	if _, err := conn.Exec(ctx, `DROP TABLE IF EXISTS `+fresh); err != nil {
		return base{}, fmt.Errorf("drop what an earlier try left: %w", err)
	}
	files, err := fill(ctx, conn, next, fresh)
	if err != nil {
		return base{}, err
	}
	// A search looks pieces up by their key; of a table that was just filled the
	// planner has to be told that this is the way.
	if _, err := conn.Exec(ctx, `ANALYZE pieces, vectors`); err != nil {
		return base{}, fmt.Errorf("analyse pieces: %w", err)
	}
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		after, err = adopt(ctx, tx, b, next, fresh, files)
		return err
	})
	return after, err
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
		if err := staged(ctx, tx, b.Name, knowledge.Space{Org: b.Org, Model: b.Model, Dim: b.Dim}); err != nil {
			return err
		}
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
		columns += fmt.Sprintf(`, %s halfvec(%d) NOT NULL`, b.column(), b.Dim)
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
		statements = append(statements, fmt.Sprintf(`CREATE INDEX %[1]s_vectors ON %[1]s USING hnsw (%[2]s halfvec_cosine_ops)`, name, b.column()))
	}
	return strings.Join(append(statements, `ANALYZE `+name), ";\n")
}

var errMoved = errors.New("base changed its model or language meanwhile: index it again")

// adopt puts a table in its place, and makes of the base what the table is of.
func adopt(ctx context.Context, tx pgx.Tx, was, next base, fresh string, files map[string]time.Time) (base, error) {
	b, err := baseOf(ctx, tx, lockBase, was.Org, was.Name)
	switch {
	case err != nil:
		return base{}, err
	case b.number != was.number || b.Model != was.Model || b.Dim != was.Dim || b.Language != was.Language:
		return base{}, errMoved
	}
	if next.Model != b.Model || next.Dim != b.Dim {
		b.Calibration = nil
	}
	b.Model, b.Dim, b.indexed = next.Model, next.Dim, next.indexed
	if err := staged(ctx, tx, b.Name, knowledge.Space{Org: b.Org, Model: b.Model, Dim: b.Dim}); err != nil {
		return base{}, err // a push has landed since
	}
	if err := catchUp(ctx, tx, b, fresh, files); err != nil {
		return base{}, err
	}
	if err := swap(ctx, tx, b, fresh); err != nil {
		return base{}, err
	}
	return b, putBase(ctx, tx, &b)
}

// swap gives a table and its indexes the names by which they are searched.
func swap(ctx context.Context, tx pgx.Tx, b base, fresh string) error {
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
	return nil
}
