package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"

	"headstart/retrieval/chunk"
	"headstart/retrieval/knowledge"
)

const (
	selectPieces = `SELECT p.path, p.seq, p.id, p.heading, p.body, p.section, p.glue, p.repeats, p.oversize, v.vector
		FROM pieces p LEFT JOIN vectors v ON v.org = p.org AND v.model = ? AND v.dim = ? AND v.digest = p.digest
		WHERE p.org = ? AND p.base = ? ORDER BY p.path, p.seq`
	deleteFile = `DELETE FROM files WHERE org = ? AND base = ? AND path = ? RETURNING chunks`
	insertFile = `INSERT INTO files (org, base, path, sha256, format, bytes, chunks, updated) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
	insertPart = `INSERT INTO pieces (org, base, path, seq, id, heading, body, section, glue, repeats, oversize, digest)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	selectHeld = `SELECT coalesce(sum(chunks), 0) FROM bases WHERE org = ?`
)

// Read implements knowledge.Reader.
func (db *DB) Read(ctx context.Context, org, base string, do func(knowledge.Base, iter.Seq2[knowledge.Piece, error]) error) error {
	err := db.read(ctx, func(tx *sql.Tx) error {
		b, err := baseOf(ctx, tx, org, base)
		if err != nil {
			return err
		}
		return do(b, pieces(ctx, tx, b))
	})
	if err != nil {
		return fmt.Errorf("read base %s: %w", base, err)
	}
	return nil
}

// pieces streams those of a base, a row at a time.
func pieces(ctx context.Context, tx *sql.Tx, b knowledge.Base) iter.Seq2[knowledge.Piece, error] {
	return func(yield func(knowledge.Piece, error) bool) {
		rows, err := tx.QueryContext(ctx, selectPieces, b.Model, b.Dim, b.Org, b.Name)
		if err != nil {
			yield(knowledge.Piece{}, err)
			return
		}
		defer rows.Close() // what it would say is asked of rows.Err
		for rows.Next() {
			p, err := scanPiece(rows.Scan, b)
			if !yield(p, err) || err != nil {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(knowledge.Piece{}, err)
		}
	}
}

func scanPiece(scan scanner, b knowledge.Base) (knowledge.Piece, error) {
	var p knowledge.Piece
	var vector []byte
	err := scan(&p.Path, &p.Seq, &p.ID, &p.Heading, &p.Text, &p.Section, &p.Glue, &p.Repeats, &p.Oversize, &vector)
	if err != nil {
		return knowledge.Piece{}, err
	}
	if b.Model == "" {
		return p, nil
	}
	if p.Vector, err = decode(vector, b.Dim); err != nil {
		return knowledge.Piece{}, fmt.Errorf("piece %s: %w", p.ID, err)
	}
	return p, nil
}

// Replace implements knowledge.Writer.
func (db *DB) Replace(ctx context.Context, org, base string, c knowledge.Change) (knowledge.Base, error) {
	var after knowledge.Base
	err := db.writeKnowledge(ctx, func(tx *sql.Tx) (err error) {
		if after, err = baseOf(ctx, tx, org, base); err != nil {
			return err
		}
		if len(c.Put) > 0 && (c.Model != after.Model || c.Dim != after.Dim) {
			return mismatch(after, c.Model, c.Dim)
		}
		before := after
		if err := dropFiles(ctx, tx, &after, c); err != nil {
			return err
		}
		if len(c.Put) == 0 && after.Files == before.Files {
			return nil
		}
		for _, cut := range c.Put {
			after.Files, after.Chunks = after.Files+1, after.Chunks+len(cut.Pieces)
		}
		if err := checkQuota(ctx, tx, org, after.Chunks-before.Chunks); err != nil {
			return err
		}
		if err := putBase(ctx, tx, &after); err != nil {
			return err
		}
		return putFiles(ctx, tx, after, c.Put)
	})
	if err != nil {
		return knowledge.Base{}, fmt.Errorf("change base %s: %w", base, err)
	}
	return after, nil
}

// dropFiles takes away what is removed and what is replaced.
func dropFiles(ctx context.Context, tx *sql.Tx, b *knowledge.Base, c knowledge.Change) error {
	paths := c.Remove
	for _, cut := range c.Put {
		paths = append(paths[:len(paths):len(paths)], cut.Path)
	}
	for _, path := range paths {
		var chunks int
		err := tx.QueryRowContext(ctx, deleteFile, b.Org, b.Name, path).Scan(&chunks)
		switch {
		case errors.Is(err, sql.ErrNoRows):
		case err != nil:
			return fmt.Errorf("remove file %s: %w", path, err)
		default:
			b.Files, b.Chunks = b.Files-1, b.Chunks-chunks
		}
	}
	return nil
}

// checkQuota lets an org shrink whatever it may hold.
func checkQuota(ctx context.Context, tx *sql.Tx, org string, growth int) error {
	q, err := quotaOf(ctx, tx, org)
	if err != nil || q.KnowledgeChunks == nil || growth <= 0 {
		return err
	}
	var holds int
	if err := tx.QueryRowContext(ctx, selectHeld, org).Scan(&holds); err != nil {
		return fmt.Errorf("count chunks of org %s: %w", org, err)
	}
	if limit := *q.KnowledgeChunks; holds+growth > limit {
		return knowledge.QuotaError{Org: org, Limit: limit, Holds: holds, Needs: holds + growth}
	}
	return nil
}

func putFiles(ctx context.Context, tx *sql.Tx, b knowledge.Base, cuts []knowledge.Cut) error {
	insert, err := tx.PrepareContext(ctx, insertPart)
	if err != nil {
		return fmt.Errorf("prepare piece: %w", err)
	}
	defer insert.Close() // its error would be the transaction's, which is looked at
	for _, cut := range cuts {
		if err := putFile(ctx, tx, insert, b, cut); err != nil {
			return fmt.Errorf("put file %s: %w", cut.Path, err)
		}
	}
	return nil
}

func putFile(ctx context.Context, tx *sql.Tx, insert *sql.Stmt, b knowledge.Base, cut knowledge.Cut) error {
	if err := knowledge.CheckPath(cut.Path); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, insertFile, b.Org, b.Name, cut.Path, cut.SHA256[:], cut.Format, cut.Bytes, len(cut.Pieces), b.Updated.UnixMicro())
	if err != nil {
		return err
	}
	digests := make([]knowledge.Digest, len(cut.Pieces))
	vectors := make([][]float32, len(cut.Pieces))
	for i, p := range cut.Pieces {
		digests[i], vectors[i] = knowledge.DigestOf(p.Indexed()), p.Vector
		if err := putPiece(ctx, insert, b, cut.Path, i, p.Chunk, digests[i]); err != nil {
			return fmt.Errorf("put piece %d: %w", i, err)
		}
	}
	if b.Model == "" {
		return nil
	}
	return keep(ctx, tx, knowledge.Space{Org: b.Org, Model: b.Model, Dim: b.Dim}, digests, vectors)
}

// putPiece numbers the pieces of a file by their order: their own numbers may
// come from elsewhere.
func putPiece(ctx context.Context, insert *sql.Stmt, b knowledge.Base, path string, seq int, c chunk.Chunk, digest knowledge.Digest) error {
	_, err := insert.ExecContext(ctx, b.Org, b.Name, path, seq, c.ID, c.Heading, c.Text, c.Section, c.Glue, c.Repeats, c.Oversize, digest[:])
	return err
}
