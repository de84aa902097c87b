package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pgvector/pgvector-go"

	"headstart/retrieval"
	"headstart/retrieval/chunk"
	"headstart/retrieval/knowledge"
)

var _ retrieval.Large = (*DB)(nil)

// tables remembers which base has which table, for the way there and back that
// asking costs. What it says is checked by trying: a statement that fails is tried
// once more with what the database says now.
type tables struct {
	mu    sync.Mutex // guards all below
	known map[change]base
}

func (t *tables) get(org, name string) (base, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	b, ok := t.known[change{org, name}]
	return b, ok
}

func (t *tables) put(org, name string, b base) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil {
		t.known = make(map[change]base)
	}
	t.known[change{org, name}] = b
}

// SearchLarge implements retrieval.Large. A base that is not there is
// knowledge.ErrUnknownBase, one that has no index yet retrieval.ErrNotReady, and a
// vector of another model or length than the base's a retrieval.ErrMismatch. Without
// pg_textsearch BM25 is ts_rank_cd's number, and 0 for what only the vectors found.
func (db *DB) SearchLarge(ctx context.Context, q retrieval.LargeQuery) ([]retrieval.LargeHit, error) {
	hits, err := db.searchLarge(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("search base %s: %w", q.Base, cause(ctx, err))
	}
	return hits, nil
}

func (db *DB) searchLarge(ctx context.Context, q retrieval.LargeQuery) ([]retrieval.LargeHit, error) {
	if b, ok := db.tables.get(q.Org, q.Base); ok {
		hits, err := db.ask(ctx, b, q)
		if !outdated(err) {
			return hits, err
		}
	}
	b, err := baseOf(ctx, db.pool, selectBase, clean(q.Org), clean(q.Base))
	if err != nil {
		return nil, err
	}
	if b.indexed == "" {
		return nil, retrieval.ErrNotReady{Base: q.Base}
	}
	db.tables.put(q.Org, q.Base, b)
	return db.ask(ctx, b, q)
}

// outdated tells whether what is remembered of a base may be why it was not searched.
func outdated(err error) bool {
	_, refused := errors.AsType[*pgconn.PgError](err)
	_, mismatch := errors.AsType[retrieval.ErrMismatch](err)
	return refused || mismatch
}

func (db *DB) ask(ctx context.Context, b base, q retrieval.LargeQuery) ([]retrieval.LargeHit, error) {
	s, err := statementOf(b, q)
	if err != nil || s == nil {
		return nil, err
	}
	rows, err := db.pool.Query(ctx, s.text, s.args...)
	if err != nil {
		return nil, err
	}
	return scanHits(rows)
}

// scanHits reads the rows of a statement: for each hit, the chunks around it.
func scanHits(rows pgx.Rows) ([]retrieval.LargeHit, error) {
	defer rows.Close()
	var hits []retrieval.LargeHit
	last := 0
	for rows.Next() {
		var place int
		var itself bool
		var h retrieval.LargeHit
		var c chunk.Chunk
		into := append([]any{&place, &h.Score, &h.BM25, &h.Cosine, &h.WordRank, &h.VectorRank, &itself}, chunkInto(&c)...)
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		if place != last {
			hits, last = append(hits, h), place
		}
		hit := &hits[len(hits)-1]
		hit.Around = append(hit.Around, c)
		if itself {
			hit.Chunk = c
		}
	}
	return hits, rows.Err()
}

// statement is one search.
type statement struct {
	text string
	args []any
}

// arg adds an argument and returns its place.
func (s *statement) arg(v any) string {
	s.args = append(s.args, v)
	return fmt.Sprintf("$%d", len(s.args))
}

// statementOf writes the search of one base; nil when no branch is asked. Numbers
// that the planner should know stand in it, the rest are arguments, so that the
// statement is planned once a connection.
func statementOf(b base, q retrieval.LargeQuery) (*statement, error) {
	words := spell(q.Terms)
	asksWords := words != "" && q.WordsWeight > 0
	asksVectors := len(q.Vector) > 0 && q.VectorsWeight > 0 && b.Model != ""
	if q.K <= 0 || !asksWords && !asksVectors {
		return nil, nil
	}
	if asksVectors && (len(q.Vector) != b.Dim || q.Model != "" && q.Model != b.Model) {
		return nil, retrieval.ErrMismatch{Base: q.Base, Holds: b.Model, HoldsDim: b.Dim, Got: cmp.Or(q.Model, b.Model), GotDim: len(q.Vector)}
	}
	s := &statement{}
	w := writer{statement: s, table: b.table(), vector: b.column(), ranking: b.indexed, pool: cmp.Or(q.Pool, max(q.K, retrieval.Pool))}
	var parts []string
	if asksWords {
		parts = append(parts, w.words(words))
	} else {
		parts = append(parts, nothing("words", "bm25"))
	}
	if asksVectors {
		parts = append(parts, w.vectors(q.Vector, q.Weak))
	} else {
		parts = append(parts, nothing("vectors", "cosine"))
	}
	parts = append(parts, w.fused(q))
	s.text = "WITH " + strings.Join(parts, ",\n") + "\n" + w.told(b.Base)
	return s, nil
}

// writer writes the parts of one statement.
type writer struct {
	*statement
	table   string
	vector  string // the column
	ranking ranking
	pool    int
	bm25    string // of a row l of the table; "0" where the words are not asked
	cosine  string // likewise
}

// nothing is a branch that is not asked.
func nothing(name, score string) string {
	return fmt.Sprintf(`%s AS (SELECT NULL::bigint AS row, NULL::text COLLATE "C" AS id, NULL::float8 AS %s, NULL::bigint AS rank WHERE false)`, name, score)
}

// factor is what pg_textsearch multiplies BM25 with, and package retrieval does
// not: k1 + 1.
const factor = 2.2

// words ranks by BM25. The index gives the best of the whole table, which is of
// one base: there is nothing to filter after it. Their scores, for ties and for the
// marks, are most of what a search takes: pg_textsearch reads each text again for one.
func (w *writer) words(text string) string {
	if w.ranking == byTSRank {
		query := fmt.Sprintf(`to_tsquery('simple', %s)`, w.arg(strings.ReplaceAll(text, " ", " | ")))
		w.bm25 = fmt.Sprintf(`ts_rank_cd(l.lexemes, %s)::float8`, query)
		return fmt.Sprintf(`words AS MATERIALIZED (SELECT row, id, bm25, row_number() OVER (ORDER BY bm25 DESC, id) AS rank
	FROM (SELECT l.row, l.id, %[1]s AS bm25 FROM %[2]s l WHERE l.lexemes @@ %[3]s ORDER BY bm25 DESC, l.id LIMIT %[4]d) t)`,
			w.bm25, w.table, query, w.pool)
	}
	query := fmt.Sprintf(`to_bm25query(%s, '%s_words')`, w.arg(text), w.table)
	w.bm25 = fmt.Sprintf(`0 - (l.terms <@> %s) / %g`, query, factor)
	return fmt.Sprintf(`words AS MATERIALIZED (SELECT row, id, bm25, row_number() OVER (ORDER BY bm25 DESC, id) AS rank
	FROM (SELECT l.row, l.id, %[1]s AS bm25 FROM %[2]s l ORDER BY l.terms <@> %[3]s LIMIT %[4]d) t WHERE bm25 > 0)`,
		w.bm25, w.table, query, w.pool)
}

// vectors ranks by cosine, with the cut-offs of package retrieval. The graph may
// give fewer than there are, after many changes: then every vector is compared.
// A cosine with a vector of zeros is no number, which PostgreSQL sorts above all.
func (w *writer) vectors(vector []float32, weak float64) string {
	question := w.arg(pgvector.NewHalfVector(vector))
	floor := w.arg(weak) + `::float8`
	if weak > -1 {
		floor = fmt.Sprintf(`greatest(%s, %g * (SELECT max(cosine) FROM found))`, floor, retrieval.VectorMargin)
	}
	w.cosine = fmt.Sprintf(`1 - (l.%s <=> %s)`, w.vector, question)
	return fmt.Sprintf(`near AS MATERIALIZED (SELECT l.row, l.id, %[1]s AS cosine FROM %[2]s l ORDER BY l.%[6]s <=> %[3]s LIMIT %[4]d),
exact AS MATERIALIZED (SELECT l.row, l.id, %[1]s AS cosine FROM %[2]s l
	WHERE (SELECT count(*) FROM near) < %[4]d ORDER BY (l.%[6]s <=> %[3]s) + 0, l.id LIMIT %[4]d),
found AS (SELECT * FROM (SELECT * FROM near UNION SELECT * FROM exact) t WHERE cosine <= 1.01),
vectors AS (SELECT row, id, cosine, row_number() OVER (ORDER BY cosine DESC, id) AS rank FROM found
	WHERE cosine >= %[5]s ORDER BY cosine DESC, id LIMIT %[4]d)`,
		w.cosine, w.table, question, w.pool, floor, w.vector)
}

// fused is reciprocal rank fusion, k 60.
func (w *writer) fused(q retrieval.LargeQuery) string {
	return fmt.Sprintf(`fused AS MATERIALIZED (SELECT coalesce(w.row, v.row) AS row, coalesce(w.id, v.id) AS id, w.bm25, v.cosine,
		coalesce(w.rank, 0) AS word_rank, coalesce(v.rank, 0) AS vector_rank,
		coalesce(%s::float8 / (60 + w.rank), 0) + coalesce(%s::float8 / (60 + v.rank), 0) AS score
	FROM words w FULL JOIN vectors v ON v.row = w.row ORDER BY score DESC, id LIMIT %d)`,
		w.arg(q.WordsWeight), w.arg(q.VectorsWeight), q.K)
}

// told adds to each hit what the other branch makes of it, and the chunks around it.
func (w *writer) told(b knowledge.Base) string {
	org, name := w.arg(b.Org), w.arg(b.Name)
	bm25, cosine := "0::float8", "0::float8"
	if w.cosine != "" {
		cosine = w.cosine
	}
	if w.bm25 != "" {
		bm25 = w.bm25
	}
	// OFFSET 0 keeps the planner to this order, each row looked up by its key: of tables
	// that were just filled it knows too little to choose a better one.
	return fmt.Sprintf(`SELECT dense_rank() OVER (ORDER BY f.score DESC, f.id), f.score, coalesce(f.bm25, l.bm25, 0), coalesce(f.cosine, nullif(l.cosine, 'NaN'), 0),
	f.word_rank, f.vector_rank, n.seq = l.seq, %[3]s
FROM fused f
CROSS JOIN LATERAL (SELECT l.path, l.seq, l.section, CASE WHEN f.bm25 IS NULL THEN %[1]s END AS bm25, CASE WHEN f.cosine IS NULL THEN %[2]s END AS cosine
	FROM %[4]s l WHERE l.row = f.row OFFSET 0) l
CROSS JOIN LATERAL (SELECT * FROM pieces WHERE org = %[5]s AND base = %[6]s AND path = l.path AND section = l.section
	AND seq BETWEEN l.seq - 2 AND l.seq + 2 OFFSET 0) n
ORDER BY f.score DESC, f.id, n.seq`, bm25, cosine, strings.ReplaceAll(pieceColumns, "p.", "n."), w.table, org, name)
}
