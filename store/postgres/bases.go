package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"headstart/retrieval"
	"headstart/retrieval/knowledge"
)

const (
	baseColumns = `b.org, b.name, b.language, b.model, b.dim, b.revision, b.files, b.chunks, b.updated, b.calibration, b.number, b.indexed`
	selectBase  = `SELECT ` + baseColumns + ` FROM bases b WHERE b.org = $1 AND b.name = $2`
	lockBase    = selectBase + ` FOR UPDATE`
	selectBases = `SELECT ` + baseColumns + ` FROM bases b WHERE b.org = $1 ORDER BY b.name`
	selectAll   = `SELECT ` + baseColumns + ` FROM bases b ORDER BY b.org, b.name`
	selectFiles = `SELECT ` + baseColumns + `, f.path, f.sha256, f.format, f.bytes, f.chunks, f.updated
		FROM bases b LEFT JOIN files f ON f.org = b.org AND f.base = b.name
		WHERE b.org = $1 AND b.name = $2 ORDER BY f.path`

	insertBase = `INSERT INTO bases (org, name, language, model, dim, revision, updated) VALUES ($1, $2, $3, $4, $5, 0, now())
		ON CONFLICT DO NOTHING`
	updateBase = `UPDATE bases SET language = $3, model = $4, dim = $5, files = $6, chunks = $7, calibration = $8, indexed = $9,
		revision = nextval('revisions'), updated = clock_timestamp() WHERE org = $1 AND name = $2 RETURNING revision, updated`
	deleteBase = `DELETE FROM bases WHERE org = $1 AND name = $2`
)

var _ knowledge.Store = (*DB)(nil)

// base is a row of bases.
type base struct {
	knowledge.Base
	number  int64
	indexed ranking
}

// Bases implements knowledge.Catalogue.
func (db *DB) Bases(ctx context.Context, org string) ([]knowledge.Base, error) {
	return db.bases(ctx, selectBases, clean(org))
}

// AllBases implements knowledge.Catalogue.
func (db *DB) AllBases(ctx context.Context) ([]knowledge.Base, error) {
	return db.bases(ctx, selectAll)
}

func (db *DB) bases(ctx context.Context, query string, args ...any) ([]knowledge.Base, error) {
	ctx, cancel := db.within(ctx)
	defer cancel()
	list, err := gather(ctx, db.pool, query, args, func(row pgx.CollectableRow) (knowledge.Base, error) {
		b, err := scanBase(row)
		return b.Base, err
	})
	if err != nil {
		return nil, fmt.Errorf("list bases: %w", cause(ctx, err))
	}
	return list, nil
}

// Files implements knowledge.Catalogue.
func (db *DB) Files(ctx context.Context, org, name string) (knowledge.Base, []knowledge.File, error) {
	ctx, cancel := db.within(ctx)
	defer cancel()
	var found base
	files, err := gather(ctx, db.pool, selectFiles, []any{clean(org), clean(name)}, func(row pgx.CollectableRow) (f knowledge.File, err error) {
		found, f, err = scanFile(row)
		return f, err
	})
	switch {
	case err != nil:
		return knowledge.Base{}, nil, fmt.Errorf("list files of base %s: %w", name, cause(ctx, err))
	case len(files) == 0:
		return knowledge.Base{}, nil, fmt.Errorf("list files of base %s: %w", name, knowledge.ErrUnknownBase)
	case files[0].Path == "": // the base without a file
		return found.Base, nil, nil
	}
	return found.Base, files, nil
}

// Make implements knowledge.Writer.
func (db *DB) Make(ctx context.Context, b knowledge.Base) (knowledge.Base, error) {
	if err := errors.Join(knowledge.CheckName(b.Org), knowledge.CheckName(b.Name)); err != nil {
		return knowledge.Base{}, fmt.Errorf("make base: %w", err)
	}
	var made base
	err := db.write(ctx, func(ctx context.Context, tx pgx.Tx) error {
		inserted, err := tx.Exec(ctx, insertBase, b.Org, b.Name, clean(b.Language), clean(b.Model), b.Dim)
		if err != nil {
			return err
		}
		if made, err = baseOf(ctx, tx, lockBase, b.Org, b.Name); err != nil {
			return err
		}
		changed, err := made.become(b)
		if err != nil || !changed && inserted.RowsAffected() == 0 {
			return err
		}
		return putBase(ctx, tx, &made)
	})
	if err != nil {
		return knowledge.Base{}, fmt.Errorf("make base %s: %w", b.Name, err)
	}
	return made.Base, nil
}

// become takes the language and, while it is empty, the model of another. Words
// in another language are other terms: its own index goes.
func (b *base) become(other knowledge.Base) (changed bool, err error) {
	same := b.Model == other.Model && b.Dim == other.Dim
	if !same && b.Chunks > 0 {
		return false, mismatch(b.Base, other.Model, other.Dim)
	}
	if same && b.Language == other.Language {
		return false, nil
	}
	if !same {
		b.Calibration = nil
	}
	b.Language, b.Model, b.Dim, b.indexed = other.Language, other.Model, other.Dim, ""
	return true, nil
}

// Remove implements knowledge.Writer.
func (db *DB) Remove(ctx context.Context, org, name string) error {
	err := db.writeMuch(ctx, func(ctx context.Context, tx pgx.Tx) error {
		b, err := baseOf(ctx, tx, lockBase, clean(org), clean(name))
		if err != nil {
			return err
		}
		if err := dropIndex(ctx, tx, b); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, deleteBase, b.Org, b.Name); err != nil {
			return err
		}
		return tell(ctx, tx, b.Org, b.Name)
	})
	if err != nil {
		return fmt.Errorf("remove base %s: %w", name, err)
	}
	return nil
}

// Calibrate implements knowledge.Calibrations.
func (db *DB) Calibrate(ctx context.Context, org, name string, c *retrieval.Calibration) (knowledge.Base, error) {
	var after base
	err := db.write(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
		if after, err = baseOf(ctx, tx, lockBase, clean(org), clean(name)); err != nil {
			return err
		}
		if c != nil && (c.Embedder != after.Model || c.Dim != after.Dim) {
			return mismatch(after.Base, c.Embedder, c.Dim)
		}
		after.Calibration = c
		return putBase(ctx, tx, &after)
	})
	if err != nil {
		return knowledge.Base{}, fmt.Errorf("calibrate base %s: %w", name, err)
	}
	return after.Base, nil
}

func mismatch(b knowledge.Base, model string, dim int) error {
	return retrieval.ErrMismatch{Base: b.Name, Holds: b.Model, HoldsDim: b.Dim, Got: model, GotDim: dim}
}

// querier is a pool, a connection or a transaction.
type querier interface {
	Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
}

// gather reads all rows of a query.
func gather[T any](ctx context.Context, q querier, query string, args []any, read pgx.RowToFunc[T]) ([]T, error) {
	rows, err := q.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	list, err := pgx.CollectRows(rows, read)
	if len(list) == 0 {
		return nil, err // as a loop over no rows would
	}
	return list, err
}

func baseOf(ctx context.Context, q querier, query, org, name string) (base, error) {
	found, err := gather(ctx, q, query, []any{org, name}, func(row pgx.CollectableRow) (base, error) { return scanBase(row) })
	switch {
	case err != nil:
		return base{}, err
	case len(found) == 0:
		return base{}, knowledge.ErrUnknownBase
	}
	return found[0], nil
}

// putBase writes a base that has changed, with its next revision and the time,
// and tells those who watch. An index that does not fit it any more goes.
func putBase(ctx context.Context, tx pgx.Tx, b *base) error {
	if b.indexed == "" {
		if err := dropIndex(ctx, tx, *b); err != nil {
			return err
		}
	}
	var calibration *string
	if b.Calibration != nil {
		text, err := json.Marshal(b.Calibration)
		if err != nil {
			return fmt.Errorf("write calibration: %w", err)
		}
		calibration = new(string(text))
	}
	row := tx.QueryRow(ctx, updateBase, b.Org, b.Name, clean(b.Language), clean(b.Model), b.Dim, b.Files, b.Chunks, calibration, b.indexed)
	if err := row.Scan(&b.Revision, &b.Updated); err != nil {
		return fmt.Errorf("put base: %w", err)
	}
	return tell(ctx, tx, b.Org, b.Name)
}

func scanBase(row pgx.Row, more ...any) (base, error) {
	var b base
	var calibration *string
	into := append([]any{&b.Org, &b.Name, &b.Language, &b.Model, &b.Dim, &b.Revision, &b.Files, &b.Chunks, &b.Updated, &calibration, &b.number, &b.indexed}, more...)
	if err := row.Scan(into...); err != nil {
		return base{}, err
	}
	if calibration != nil {
		if err := json.Unmarshal([]byte(*calibration), &b.Calibration); err != nil {
			return base{}, fmt.Errorf("read calibration: %w", err)
		}
	}
	return b, nil
}

func scanFile(row pgx.Row) (base, knowledge.File, error) {
	var path *string
	var sum []byte
	var format, chunks *int
	var bytes *int64
	var updated *time.Time
	b, err := scanBase(row, &path, &sum, &format, &bytes, &chunks, &updated)
	if err != nil || path == nil {
		return b, knowledge.File{}, err
	}
	f := knowledge.File{Path: *path, Format: *format, Bytes: *bytes, Chunks: *chunks, Updated: *updated}
	copy(f.SHA256[:], sum)
	return b, f, nil
}
