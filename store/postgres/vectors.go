package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"

	"headstart/retrieval"
	"headstart/retrieval/chunk"
	"headstart/retrieval/knowledge"
)

const (
	selectVectors = `SELECT digest, vector FROM vectors WHERE org = $1 AND model = $2 AND dim = $3 AND digest = ANY($4)`
	// In one order, so that two writers never wait for each other.
	insertVectors = `INSERT INTO vectors (org, model, dim, digest, kept, vector)
		SELECT $1, $2, $3, n.digest, now(), n.vector FROM unnest($4::bytea[], $5::halfvec[]) AS n (digest, vector) ORDER BY n.digest
		ON CONFLICT DO NOTHING`
	without       = ` FROM pieces p WHERE p.org = $1 AND p.base = $2 AND p.digest > $5 AND ` + vectorOf + ` IS NULL`
	selectMissing = `SELECT DISTINCT ON (p.digest) p.digest, p.heading, p.body` + without + ` ORDER BY p.digest LIMIT $6`
	anyMissing    = `SELECT EXISTS (SELECT` + without + `)`
	sweepVectors  = `DELETE FROM vectors AS v WHERE v.org = $1 AND v.kept < $2 AND NOT EXISTS (
		SELECT FROM bases b JOIN pieces p ON p.org = b.org AND p.base = b.name AND p.digest = v.digest
		WHERE b.org = v.org AND b.model = v.model AND b.dim = v.dim)`
)

// Vectors implements knowledge.Vectors.
func (db *DB) Vectors(ctx context.Context, s knowledge.Space, texts []knowledge.Digest) ([][]float32, error) {
	ctx, cancel := db.within(ctx)
	defer cancel()
	kept := make(map[knowledge.Digest][]float32, len(texts))
	args := []any{clean(s.Org), clean(s.Model), s.Dim, keys(texts)}
	_, err := gather(ctx, db.pool, selectVectors, args, func(row pgx.CollectableRow) (struct{}, error) {
		var digest []byte
		var vector pgvector.HalfVector
		err := row.Scan(&digest, &vector)
		if err == nil {
			kept[knowledge.Digest(digest)] = vector.Slice()
		}
		return struct{}{}, err
	})
	if err != nil {
		return nil, fmt.Errorf("find vectors of %s: %w", s.Model, cause(ctx, err))
	}
	vectors := make([][]float32, len(texts))
	for i, digest := range texts {
		vectors[i] = slices.Clone(kept[digest])
	}
	return vectors, nil
}

func keys(texts []knowledge.Digest) [][]byte {
	list := make([][]byte, len(texts))
	for i := range texts {
		list[i] = texts[i][:]
	}
	return list
}

// Keep implements knowledge.Vectors.
func (db *DB) Keep(ctx context.Context, s knowledge.Space, texts []knowledge.Digest, vectors [][]float32) error {
	err := db.write(ctx, func(ctx context.Context, tx pgx.Tx) error { return keep(ctx, tx, s, texts, vectors) })
	if err != nil {
		return fmt.Errorf("keep vectors of %s: %w", s.Model, err)
	}
	return nil
}

func keep(ctx context.Context, tx pgx.Tx, s knowledge.Space, texts []knowledge.Digest, vectors [][]float32) error {
	if len(texts) != len(vectors) {
		return fmt.Errorf("%d vectors for %d texts", len(vectors), len(texts))
	}
	half := make([]pgvector.HalfVector, len(vectors))
	for i, v := range vectors {
		if len(v) != s.Dim {
			return retrieval.ErrMismatch{Holds: s.Model, HoldsDim: s.Dim, Got: s.Model, GotDim: len(v)}
		}
		half[i] = pgvector.NewHalfVector(v)
	}
	if _, err := tx.Exec(ctx, insertVectors, clean(s.Org), clean(s.Model), s.Dim, keys(texts), half); err != nil {
		return fmt.Errorf("keep vectors: %w", err)
	}
	return nil
}

// Sweep implements knowledge.Vectors.
func (db *DB) Sweep(ctx context.Context, org string, before time.Time) (int, error) {
	swept, err := db.pool.Exec(ctx, sweepVectors, clean(org), before)
	if err != nil {
		return 0, fmt.Errorf("sweep vectors of org %s: %w", org, cause(ctx, err))
	}
	return int(swept.RowsAffected()), nil
}

// Missing implements knowledge.Reembedding.
func (db *DB) Missing(ctx context.Context, name string, s knowledge.Space, after knowledge.Digest, limit int) ([]knowledge.Text, error) {
	ctx, cancel := db.within(ctx)
	defer cancel()
	args := []any{clean(s.Org), clean(name), clean(s.Model), s.Dim, after[:], limit}
	texts, err := gather(ctx, db.pool, selectMissing, args, scanText)
	if err != nil {
		return nil, fmt.Errorf("list texts of base %s without vector: %w", name, cause(ctx, err))
	}
	return texts, nil
}

func scanText(row pgx.CollectableRow) (knowledge.Text, error) {
	var digest []byte
	var c chunk.Chunk
	if err := row.Scan(&digest, &c.Heading, &c.Text); err != nil {
		return knowledge.Text{}, err
	}
	return knowledge.Text{Digest: knowledge.Digest(digest), Text: c.Indexed()}, nil
}

// Adopt implements knowledge.Reembedding. A base with an index of its own is
// searched by it until another stands beside it with the new vectors: both change
// in one step. That takes its time, and its clock is the caller's alone.
func (db *DB) Adopt(ctx context.Context, name string, s knowledge.Space) (knowledge.Base, error) {
	after, err := baseOf(ctx, db.pool, selectBase, clean(s.Org), clean(name))
	switch {
	case err != nil || after.Model == s.Model && after.Dim == s.Dim:
	case after.indexed != "":
		err = db.indexing(ctx, after, func(conn *pgx.Conn) (err error) {
			after, err = adoptIndexed(ctx, conn, after, s)
			return err
		})
	default:
		after, err = db.adoptVectors(ctx, name, s)
	}
	if err != nil {
		return knowledge.Base{}, fmt.Errorf("adopt vectors of %s: %w", s.Model, cause(ctx, err))
	}
	return after.Base, nil
}

// adoptIndexed looks again at a base that nobody else indexes any more.
func adoptIndexed(ctx context.Context, conn *pgx.Conn, b base, s knowledge.Space) (base, error) {
	b, err := baseOf(ctx, conn, selectBase, b.Org, b.Name)
	if err != nil || b.Model == s.Model && b.Dim == s.Dim {
		return b, err
	}
	next := b
	next.Model, next.Dim = s.Model, s.Dim
	if next.indexed, err = bestRanking(ctx, conn); err != nil {
		return base{}, err
	}
	return build(ctx, conn, b, next)
}

// adoptVectors changes a base without an index of its own. One that came meanwhile
// is of the old vectors, and goes.
func (db *DB) adoptVectors(ctx context.Context, name string, s knowledge.Space) (after base, err error) {
	err = db.writeMuch(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
		if after, err = baseOf(ctx, tx, lockBase, clean(s.Org), clean(name)); err != nil {
			return err
		}
		if after.Model == s.Model && after.Dim == s.Dim {
			return nil
		}
		if err := staged(ctx, tx, name, s); err != nil {
			return err
		}
		after.Model, after.Dim, after.Calibration, after.indexed = s.Model, s.Dim, nil, ""
		return putBase(ctx, tx, &after)
	})
	return after, err
}

// staged refuses a space that does not hold all that the base needs.
func staged(ctx context.Context, tx pgx.Tx, name string, s knowledge.Space) error {
	if s.Model == "" {
		return nil
	}
	var missing bool
	if err := tx.QueryRow(ctx, anyMissing, clean(s.Org), clean(name), clean(s.Model), s.Dim, []byte{}).Scan(&missing); err != nil {
		return err
	}
	if missing {
		return knowledge.ErrUnstaged
	}
	return nil
}
