package postgres

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"

	"headstart/retrieval"
	"headstart/retrieval/chunk"
	"headstart/retrieval/knowledge"
)

const (
	pieceColumns = `p.path, p.seq, p.id, p.heading, p.body, p.section, p.glue, p.repeats, p.oversize`
	// vectorOf is a lookup by the whole key for each piece, and not a join: a planner
	// that knows little of tables that were just filled joins them row by row.
	vectorOf     = `(SELECT v.vector FROM vectors v WHERE v.org = p.org AND v.model = $3 AND v.dim = $4 AND v.digest = p.digest)`
	selectPieces = `SELECT ` + pieceColumns + `, ` + vectorOf + ` FROM pieces p
		WHERE p.org = $1 AND p.base = $2 ORDER BY p.path, p.seq`
	deleteFiles = `DELETE FROM files WHERE org = $1 AND base = $2 AND path = ANY($3) RETURNING chunks`
)

// Read implements knowledge.Reader. Its clock is the caller's alone: a base may
// be large.
func (db *DB) Read(ctx context.Context, org, name string, do func(knowledge.Base, iter.Seq2[knowledge.Piece, error]) error) error {
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err := pgx.BeginTxFunc(ctx, db.pool, options, func(tx pgx.Tx) error {
		b, err := baseOf(ctx, tx, selectBase, clean(org), clean(name))
		if err != nil {
			return err
		}
		return do(b.Base, pieces(ctx, tx, b.Base))
	})
	if err != nil {
		return fmt.Errorf("read base %s: %w", name, cause(ctx, err))
	}
	return nil
}

// pieces streams those of a base, a row at a time.
func pieces(ctx context.Context, tx pgx.Tx, b knowledge.Base) iter.Seq2[knowledge.Piece, error] {
	return func(yield func(knowledge.Piece, error) bool) {
		rows, err := tx.Query(ctx, selectPieces, b.Org, b.Name, b.Model, b.Dim)
		if err != nil {
			yield(knowledge.Piece{}, err)
			return
		}
		defer rows.Close()
		for rows.Next() {
			p, err := scanPiece(rows, b)
			if !yield(p, err) || err != nil {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(knowledge.Piece{}, err)
		}
	}
}

func scanPiece(row pgx.Row, b knowledge.Base) (knowledge.Piece, error) {
	var p knowledge.Piece
	var vector *pgvector.HalfVector
	err := row.Scan(append(chunkInto(&p.Chunk), &vector)...)
	if err != nil || b.Model == "" {
		return p, err
	}
	if vector == nil || len(vector.Slice()) != b.Dim {
		return knowledge.Piece{}, fmt.Errorf("piece %s has no vector of %s in %d dimensions", p.ID, b.Model, b.Dim)
	}
	p.Vector = vector.Slice()
	return p, nil
}

// chunkInto is where pieceColumns are scanned to.
func chunkInto(c *chunk.Chunk) []any {
	return []any{&c.Path, &c.Seq, &c.ID, &c.Heading, &c.Text, &c.Section, &c.Glue, &c.Repeats, &c.Oversize}
}

// Replace implements knowledge.Writer.
func (db *DB) Replace(ctx context.Context, org, name string, c knowledge.Change) (knowledge.Base, error) {
	var after base
	if err := checkChange(c); err != nil {
		return knowledge.Base{}, fmt.Errorf("change base %s: %w", name, err)
	}
	err := db.writeMuch(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
		if after, err = baseOf(ctx, tx, lockBase, clean(org), clean(name)); err != nil {
			return err
		}
		if len(c.Put) > 0 && (c.Model != after.Model || c.Dim != after.Dim) {
			return mismatch(after.Base, c.Model, c.Dim)
		}
		return replace(ctx, tx, &after, c)
	})
	if err != nil {
		return knowledge.Base{}, fmt.Errorf("change base %s: %w", name, err)
	}
	return after.Base, nil
}

// checkChange looks at what a change brings before anything is asked.
func checkChange(c knowledge.Change) error {
	seen := make(map[string]bool, len(c.Put))
	for _, cut := range c.Put {
		if err := knowledge.CheckPath(cut.Path); err != nil {
			return err
		}
		if seen[cut.Path] {
			return fmt.Errorf("put file %s: twice in one change", cut.Path)
		}
		seen[cut.Path] = true
		for i, p := range cut.Pieces {
			if c.Model != "" && len(p.Vector) != c.Dim {
				return fmt.Errorf("put file %s: piece %d: %w", cut.Path, i,
					retrieval.ErrMismatch{Holds: c.Model, HoldsDim: c.Dim, Got: c.Model, GotDim: len(p.Vector)})
			}
		}
	}
	return nil
}

func replace(ctx context.Context, tx pgx.Tx, b *base, c knowledge.Change) error {
	before := b.Base
	paths := slices.Clone(c.Remove)
	for _, cut := range c.Put {
		paths = append(paths, cut.Path)
		b.Files, b.Chunks = b.Files+1, b.Chunks+len(cut.Pieces)
	}
	for i := range paths {
		paths[i] = clean(paths[i])
	}
	gone, err := gather(ctx, tx, deleteFiles, []any{b.Org, b.Name, paths}, pgx.RowTo[int])
	if err != nil {
		return fmt.Errorf("remove files: %w", err)
	}
	for _, chunks := range gone {
		b.Files, b.Chunks = b.Files-1, b.Chunks-chunks
	}
	if len(c.Put) == 0 && len(gone) == 0 {
		return nil
	}
	if err := checkQuota(ctx, tx, b.Org, b.Chunks-before.Chunks); err != nil {
		return err
	}
	if err := putBase(ctx, tx, b); err != nil {
		return err
	}
	if err := putFiles(ctx, tx, b.Base, c.Put); err != nil {
		return err
	}
	if b.indexed == "" {
		return nil
	}
	return reindex(ctx, tx, *b, b.table(), paths)
}

func putFiles(ctx context.Context, tx pgx.Tx, b knowledge.Base, cuts []knowledge.Cut) error {
	var files, rows [][]any
	var digests []knowledge.Digest
	var vectors [][]float32
	for _, cut := range cuts {
		files = append(files, []any{b.Org, b.Name, cut.Path, cut.SHA256[:], cut.Format, cut.Bytes, len(cut.Pieces), b.Updated})
		for i, p := range cut.Pieces {
			c := cleanChunk(p.Chunk)
			digest := knowledge.DigestOf(c.Indexed())
			digests, vectors = append(digests, digest), append(vectors, p.Vector)
			rows = append(rows, []any{b.Org, b.Name, cut.Path, i, c.ID, c.Heading, c.Text, c.Section, c.Glue, c.Repeats, c.Oversize, digest[:]})
		}
	}
	_, filesErr := tx.CopyFrom(ctx, pgx.Identifier{"files"},
		[]string{"org", "base", "path", "sha256", "format", "bytes", "chunks", "updated"}, pgx.CopyFromRows(files))
	if filesErr != nil {
		return fmt.Errorf("put files: %w", filesErr)
	}
	_, err := tx.CopyFrom(ctx, pgx.Identifier{"pieces"},
		[]string{"org", "base", "path", "seq", "id", "heading", "body", "section", "glue", "repeats", "oversize", "digest"}, pgx.CopyFromRows(rows))
	if err != nil {
		return fmt.Errorf("put pieces: %w", err)
	}
	if b.Model == "" {
		return nil
	}
	return keep(ctx, tx, knowledge.Space{Org: b.Org, Model: b.Model, Dim: b.Dim}, digests, vectors)
}

// cleanChunk is a chunk as PostgreSQL can hold it.
func cleanChunk(c chunk.Chunk) chunk.Chunk {
	c.ID, c.Heading, c.Text, c.Glue = clean(c.ID), clean(c.Heading), clean(c.Text), clean(c.Glue)
	return c
}
