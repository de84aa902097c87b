package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"

	"headstart/retrieval/analyse"
	"headstart/retrieval/knowledge"
)

const (
	selectPage = `SELECT ` + pieceColumns + `, ` + vectorOf + ` FROM pieces p
		WHERE p.org = $1 AND p.base = $2 AND (p.path, p.seq) > ($5, $6) AND ($7::text[] IS NULL OR p.path = ANY($7))
		ORDER BY p.path, p.seq LIMIT $8`
	selectFileTimes = `SELECT path, updated FROM files WHERE org = $1 AND base = $2`
)

// pageRows is how many pieces are held at once while a table is filled.
const pageRows = 1000

// copyPieces brings the pieces of some files into the table, or of all (nil), a
// page at a time.
func copyPieces(ctx context.Context, tx pgx.Tx, b base, table string, paths []string) error {
	analyser := analyse.New(b.Language).Remembering()
	path, seq := "", -1
	for {
		args := []any{b.Org, b.Name, b.Model, b.Dim, path, seq, paths, pageRows}
		page, err := gather(ctx, tx, selectPage, args, func(row pgx.CollectableRow) (knowledge.Piece, error) { return scanPiece(row, b.Base) })
		if err != nil {
			return fmt.Errorf("read pieces: %w", err)
		}
		if len(page) == 0 {
			return nil
		}
		if err := copyPage(ctx, tx, b, table, page, analyser); err != nil {
			return err
		}
		last := page[len(page)-1]
		path, seq = last.Path, last.Seq
	}
}

func copyPage(ctx context.Context, tx pgx.Tx, b base, table string, page []knowledge.Piece, analyser *analyse.Analyser) error {
	columns := []string{"path", "seq", "section", "id", "terms"}
	if b.Model != "" {
		columns = append(columns, b.column())
	}
	rows := pgx.CopyFromSlice(len(page), func(i int) ([]any, error) {
		p := page[i]
		row := []any{p.Path, p.Seq, p.Section, p.ID, spell(analyser.Terms(p.Indexed()))}
		if b.Model != "" {
			row = append(row, pgvector.NewHalfVector(p.Vector))
		}
		return row, nil
	})
	if _, err := tx.CopyFrom(ctx, pgx.Identifier{table}, columns, rows); err != nil {
		return fmt.Errorf("copy pieces: %w", err)
	}
	return nil
}

// reindex keeps the index of a base in step with its files, in the transaction
// that changes them.
func reindex(ctx context.Context, tx pgx.Tx, b base, table string, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	if _, err := tx.Exec(ctx, `DELETE FROM `+table+` WHERE path = ANY($1)`, paths); err != nil {
		return fmt.Errorf("take files out of index: %w", err)
	}
	return copyPieces(ctx, tx, b, table, paths)
}

// catchUp takes in the files that were written or removed since the table was filled.
func catchUp(ctx context.Context, tx pgx.Tx, b base, table string, files map[string]time.Time) error {
	now, err := filesOf(ctx, tx, b)
	if err != nil {
		return err
	}
	var changed []string
	for path, at := range now {
		if was, ok := files[path]; !ok || !was.Equal(at) {
			changed = append(changed, path)
		}
	}
	for path := range files {
		if _, ok := now[path]; !ok {
			changed = append(changed, path)
		}
	}
	slices.Sort(changed)
	return reindex(ctx, tx, b, table, changed)
}

func filesOf(ctx context.Context, q querier, b base) (map[string]time.Time, error) {
	files := make(map[string]time.Time)
	_, err := gather(ctx, q, selectFileTimes, []any{b.Org, b.Name}, func(row pgx.CollectableRow) (struct{}, error) {
		var path string
		var at time.Time
		err := row.Scan(&path, &at)
		files[path] = at
		return struct{}{}, err
	})
	if err != nil {
		return nil, fmt.Errorf("list files: %w", err)
	}
	return files, nil
}

// dropIndex takes the index of a base away.
func dropIndex(ctx context.Context, tx pgx.Tx, b base) error {
	if _, err := tx.Exec(ctx, `DROP TABLE IF EXISTS `+b.table()); err != nil {
		return fmt.Errorf("drop index: %w", err)
	}
	return nil
}
