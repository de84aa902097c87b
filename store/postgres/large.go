package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"headstart/retrieval/knowledge"
)

type ranking string

const settings = `SET hnsw.iterative_scan = strict_order; SET hnsw.ef_search = 200`

func dropIndex(ctx context.Context, tx pgx.Tx, b base) error { return nil }

func reindex(ctx context.Context, tx pgx.Tx, b base, gone []string, put []knowledge.Cut) error {
	return nil
}
