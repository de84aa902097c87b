package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"headstart/retrieval"
	"headstart/retrieval/chunk"
	"headstart/retrieval/knowledge"
)

const (
	selectVector = `SELECT vector FROM vectors WHERE org = ? AND model = ? AND dim = ? AND digest = ?`
	insertVector = `INSERT INTO vectors (org, model, dim, digest, kept, vector) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`
	without      = ` FROM pieces p WHERE p.org = ? AND p.base = ? AND p.digest > ? AND NOT EXISTS (
		SELECT 1 FROM vectors v WHERE v.org = p.org AND v.model = ? AND v.dim = ? AND v.digest = p.digest)`
	selectMissing = `SELECT p.digest, p.heading, p.body` + without + ` GROUP BY p.digest ORDER BY p.digest LIMIT ?`
	anyMissing    = `SELECT EXISTS (SELECT 1` + without + `)`
	sweepVectors  = `DELETE FROM vectors AS v WHERE v.org = ? AND v.kept < ? AND NOT EXISTS (
		SELECT 1 FROM bases b JOIN pieces p ON p.org = b.org AND p.base = b.name AND p.digest = v.digest
		WHERE b.org = v.org AND b.model = v.model AND b.dim = v.dim)`
)

// Vectors implements knowledge.Vectors.
func (db *DB) Vectors(ctx context.Context, s knowledge.Space, texts []knowledge.Digest) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	err := db.read(ctx, func(tx *sql.Tx) error {
		query, err := tx.PrepareContext(ctx, selectVector)
		if err != nil {
			return err
		}
		defer query.Close() // read only: closing it loses nothing
		for i, digest := range texts {
			var kept []byte
			err := query.QueryRowContext(ctx, s.Org, s.Model, s.Dim, digest[:]).Scan(&kept)
			if errors.Is(err, sql.ErrNoRows) {
				continue
			}
			if err == nil {
				vectors[i], err = decode(kept, s.Dim)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("find vectors of %s: %w", s.Model, err)
	}
	return vectors, nil
}

// Keep implements knowledge.Vectors.
func (db *DB) Keep(ctx context.Context, s knowledge.Space, texts []knowledge.Digest, vectors [][]float32) error {
	err := db.write(ctx, func(tx *sql.Tx) error { return keep(ctx, tx, s, texts, vectors) })
	if err != nil {
		return fmt.Errorf("keep vectors of %s: %w", s.Model, err)
	}
	return nil
}

func keep(ctx context.Context, tx *sql.Tx, s knowledge.Space, texts []knowledge.Digest, vectors [][]float32) error {
	if len(texts) != len(vectors) {
		return fmt.Errorf("%d vectors for %d texts", len(vectors), len(texts))
	}
	insert, err := tx.PrepareContext(ctx, insertVector)
	if err != nil {
		return fmt.Errorf("prepare vector: %w", err)
	}
	defer insert.Close() // its error would be the transaction's, which is looked at
	now := time.Now().UnixMicro()
	for i, v := range vectors {
		if len(v) != s.Dim {
			return retrieval.ErrMismatch{Holds: s.Model, HoldsDim: s.Dim, Got: s.Model, GotDim: len(v)}
		}
		if _, err := insert.ExecContext(ctx, s.Org, s.Model, s.Dim, texts[i][:], now, encode(v)); err != nil {
			return fmt.Errorf("keep vector: %w", err)
		}
	}
	return nil
}

// Sweep implements knowledge.Vectors.
func (db *DB) Sweep(ctx context.Context, org string, before time.Time) (int, error) {
	var rows int64
	err := db.write(ctx, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, sweepVectors, org, before.UnixMicro())
		if err != nil {
			return err
		}
		rows, err = result.RowsAffected()
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("sweep vectors of org %s: %w", org, err)
	}
	return int(rows), nil
}

// Missing implements knowledge.Reembedding.
func (db *DB) Missing(ctx context.Context, base string, s knowledge.Space, after knowledge.Digest, limit int) ([]knowledge.Text, error) {
	texts, err := collect(ctx, db.reader, selectMissing, []any{s.Org, base, after[:], s.Model, s.Dim, limit}, scanText)
	if err != nil {
		return nil, fmt.Errorf("list texts of base %s without vector: %w", base, err)
	}
	return texts, nil
}

func scanText(scan scanner) (knowledge.Text, error) {
	var t knowledge.Text
	var c chunk.Chunk
	var digest []byte
	if err := scan(&digest, &c.Heading, &c.Text); err != nil {
		return knowledge.Text{}, err
	}
	copy(t.Digest[:], digest)
	t.Text = c.Indexed()
	return t, nil
}

// Adopt implements knowledge.Reembedding.
func (db *DB) Adopt(ctx context.Context, base string, s knowledge.Space) (knowledge.Base, error) {
	var after knowledge.Base
	err := db.writeKnowledge(ctx, func(tx *sql.Tx) (err error) {
		if after, err = baseOf(ctx, tx, s.Org, base); err != nil {
			return err
		}
		if after.Model == s.Model && after.Dim == s.Dim {
			return nil
		}
		if err := staged(ctx, tx, base, s); err != nil {
			return err
		}
		after.Model, after.Dim, after.Calibration = s.Model, s.Dim, nil
		return putBase(ctx, tx, &after)
	})
	if err != nil {
		return knowledge.Base{}, fmt.Errorf("adopt vectors of %s: %w", s.Model, err)
	}
	return after, nil
}

// staged refuses a space that does not hold all that the base needs.
func staged(ctx context.Context, tx *sql.Tx, base string, s knowledge.Space) error {
	if s.Model == "" {
		return nil
	}
	var missing bool
	if err := tx.QueryRowContext(ctx, anyMissing, s.Org, base, []byte{}, s.Model, s.Dim).Scan(&missing); err != nil {
		return err
	}
	if missing {
		return knowledge.ErrUnstaged
	}
	return nil
}

func encode(v []float32) []byte {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

func decode(b []byte, dim int) ([]float32, error) {
	if len(b) != 4*dim {
		return nil, fmt.Errorf("vector of %d bytes, want %d dimensions", len(b), dim)
	}
	v := make([]float32, dim)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return v, nil
}
