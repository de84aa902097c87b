package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"headstart/retrieval"
	"headstart/retrieval/knowledge"
)

const (
	baseColumns = `b.org, b.name, b.language, b.model, b.dim, b.revision, b.files, b.chunks, b.updated, b.calibration`
	selectBase  = `SELECT ` + baseColumns + ` FROM bases b WHERE b.org = ? AND b.name = ?`
	selectBases = `SELECT ` + baseColumns + ` FROM bases b WHERE b.org = ? ORDER BY b.name`
	selectAll   = `SELECT ` + baseColumns + ` FROM bases b ORDER BY b.org, b.name`
	selectFiles = `SELECT ` + baseColumns + `, f.path, f.sha256, f.format, f.bytes, f.chunks, f.updated
		FROM bases b LEFT JOIN files f ON f.org = b.org AND f.base = b.name
		WHERE b.org = ? AND b.name = ? ORDER BY f.path`

	insertBase = `INSERT INTO bases (org, name, language, model, dim, revision, updated) VALUES (?, ?, ?, ?, ?, ?, ?)`
	updateBase = `UPDATE bases SET language = ?, model = ?, dim = ?, revision = ?, files = ?, chunks = ?, updated = ?, calibration = ?
		WHERE org = ? AND name = ?`
	deleteBase = `DELETE FROM bases WHERE org = ? AND name = ?`
	tick       = `UPDATE knowledge_clock SET revision = revision + 1 RETURNING revision`
)

var _ knowledge.Store = (*DB)(nil)

// Bases implements knowledge.Catalogue.
func (db *DB) Bases(ctx context.Context, org string) ([]knowledge.Base, error) {
	return db.bases(ctx, selectBases, org)
}

// AllBases implements knowledge.Catalogue.
func (db *DB) AllBases(ctx context.Context) ([]knowledge.Base, error) {
	return db.bases(ctx, selectAll)
}

func (db *DB) bases(ctx context.Context, query string, args ...any) ([]knowledge.Base, error) {
	list, err := collect(ctx, db.reader, query, args, func(scan scanner) (knowledge.Base, error) { return scanBase(scan) })
	if err != nil {
		return nil, fmt.Errorf("list bases: %w", err)
	}
	return list, nil
}

// Files implements knowledge.Catalogue.
func (db *DB) Files(ctx context.Context, org, base string) (knowledge.Base, []knowledge.File, error) {
	var found knowledge.Base
	files, err := collect(ctx, db.reader, selectFiles, []any{org, base}, func(scan scanner) (f knowledge.File, err error) {
		found, f, err = scanFile(scan)
		return f, err
	})
	switch {
	case err != nil:
		return knowledge.Base{}, nil, fmt.Errorf("list files of base %s: %w", base, err)
	case len(files) == 0:
		return knowledge.Base{}, nil, fmt.Errorf("list files of base %s: %w", base, knowledge.ErrUnknownBase)
	case files[0].Path == "": // the base without a file
		return found, nil, nil
	}
	return found, files, nil
}

// Make implements knowledge.Writer.
func (db *DB) Make(ctx context.Context, b knowledge.Base) (knowledge.Base, error) {
	var made knowledge.Base
	err := db.writeKnowledge(ctx, func(tx *sql.Tx) (err error) {
		made, err = baseOf(ctx, tx, b.Org, b.Name)
		switch {
		case errors.Is(err, knowledge.ErrUnknownBase):
			made, err = makeBase(ctx, tx, b)
			return err
		case err != nil:
			return err
		}
		same := made.Model == b.Model && made.Dim == b.Dim
		if !same && made.Chunks > 0 {
			return mismatch(made, b.Model, b.Dim)
		}
		if same && made.Language == b.Language {
			return nil
		}
		if !same {
			made.Calibration = nil
		}
		made.Language, made.Model, made.Dim = b.Language, b.Model, b.Dim
		return putBase(ctx, tx, &made)
	})
	if err != nil {
		return knowledge.Base{}, fmt.Errorf("make base %s: %w", b.Name, err)
	}
	return made, nil
}

func makeBase(ctx context.Context, tx *sql.Tx, b knowledge.Base) (knowledge.Base, error) {
	if err := errors.Join(knowledge.CheckName(b.Org), knowledge.CheckName(b.Name)); err != nil {
		return knowledge.Base{}, err
	}
	made := knowledge.Base{Org: b.Org, Name: b.Name, Language: b.Language, Model: b.Model, Dim: b.Dim}
	if err := stamp(ctx, tx, &made); err != nil {
		return knowledge.Base{}, err
	}
	_, err := tx.ExecContext(ctx, insertBase, made.Org, made.Name, made.Language, made.Model, made.Dim, made.Revision, made.Updated.UnixMicro())
	return made, err
}

// Remove implements knowledge.Writer.
func (db *DB) Remove(ctx context.Context, org, base string) error {
	err := db.writeKnowledge(ctx, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, deleteBase, org, base)
		if err != nil {
			return err
		}
		if rows, err := result.RowsAffected(); err != nil || rows > 0 {
			return err
		}
		return knowledge.ErrUnknownBase
	})
	if err != nil {
		return fmt.Errorf("remove base %s: %w", base, err)
	}
	return nil
}

// Calibrate implements knowledge.Calibrations.
func (db *DB) Calibrate(ctx context.Context, org, base string, c *retrieval.Calibration) (knowledge.Base, error) {
	var after knowledge.Base
	err := db.writeKnowledge(ctx, func(tx *sql.Tx) (err error) {
		if after, err = baseOf(ctx, tx, org, base); err != nil {
			return err
		}
		if c != nil && (c.Embedder != after.Model || c.Dim != after.Dim) {
			return mismatch(after, c.Embedder, c.Dim)
		}
		after.Calibration = c
		return putBase(ctx, tx, &after)
	})
	if err != nil {
		return knowledge.Base{}, fmt.Errorf("calibrate base %s: %w", base, err)
	}
	return after, nil
}

func mismatch(b knowledge.Base, model string, dim int) error {
	return retrieval.ErrMismatch{Base: b.Name, Holds: b.Model, HoldsDim: b.Dim, Got: model, GotDim: dim}
}

// querier is a pool or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func baseOf(ctx context.Context, q querier, org, base string) (knowledge.Base, error) {
	found, err := collect(ctx, q, selectBase, []any{org, base}, func(scan scanner) (knowledge.Base, error) { return scanBase(scan) })
	switch {
	case err != nil:
		return knowledge.Base{}, err
	case len(found) == 0:
		return knowledge.Base{}, knowledge.ErrUnknownBase
	}
	return found[0], nil
}

// stamp gives a base that changes its next revision and the time.
func stamp(ctx context.Context, tx *sql.Tx, b *knowledge.Base) error {
	b.Updated = time.UnixMicro(time.Now().UnixMicro())
	if err := tx.QueryRowContext(ctx, tick).Scan(&b.Revision); err != nil {
		return fmt.Errorf("take a revision: %w", err)
	}
	return nil
}

// putBase writes a base that has changed.
func putBase(ctx context.Context, tx *sql.Tx, b *knowledge.Base) error {
	if err := stamp(ctx, tx, b); err != nil {
		return err
	}
	var calibration any
	if b.Calibration != nil {
		text, err := json.Marshal(b.Calibration)
		if err != nil {
			return fmt.Errorf("write calibration: %w", err)
		}
		calibration = string(text)
	}
	_, err := tx.ExecContext(ctx, updateBase, b.Language, b.Model, b.Dim, b.Revision, b.Files, b.Chunks, b.Updated.UnixMicro(), calibration, b.Org, b.Name)
	return err
}

func scanBase(scan scanner, more ...any) (knowledge.Base, error) {
	var b knowledge.Base
	var updated int64
	var calibration sql.Null[string]
	into := append([]any{&b.Org, &b.Name, &b.Language, &b.Model, &b.Dim, &b.Revision, &b.Files, &b.Chunks, &updated, &calibration}, more...)
	if err := scan(into...); err != nil {
		return knowledge.Base{}, err
	}
	b.Updated = time.UnixMicro(updated)
	if calibration.Valid {
		if err := json.Unmarshal([]byte(calibration.V), &b.Calibration); err != nil {
			return knowledge.Base{}, fmt.Errorf("read calibration: %w", err)
		}
	}
	return b, nil
}

func scanFile(scan scanner) (knowledge.Base, knowledge.File, error) {
	var path sql.Null[string]
	var sum []byte
	var format, bytes, chunks, updated sql.Null[int64]
	b, err := scanBase(scan, &path, &sum, &format, &bytes, &chunks, &updated)
	f := knowledge.File{Path: path.V, Format: int(format.V), Bytes: bytes.V, Chunks: int(chunks.V), Updated: time.UnixMicro(updated.V)}
	copy(f.SHA256[:], sum)
	return b, f, err
}

// scanner reads one row.
type scanner = func(...any) error

// collect reads all rows of a query.
func collect[T any](ctx context.Context, q querier, query string, args []any, read func(scanner) (T, error)) (list []T, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		row, err := read(rows.Scan)
		if err != nil {
			return nil, err
		}
		list = append(list, row)
	}
	return list, rows.Err()
}
