package postgres

import (
	"context"
	"fmt"
)

// Status is what a database has.
type Status struct {
	Server     string // its version, "18.0"
	Version    int    // of our tables
	Vector     string // version of pgvector; empty before the tables are made
	TextSearch string // version of pg_textsearch; empty when it is not there
}

// Words says how the words of a large base are ranked.
func (s Status) Words() string {
	if s.TextSearch == "" {
		return "ts_rank_cd: pg_textsearch is not installed and preloaded there"
	}
	return "BM25 by pg_textsearch " + s.TextSearch
}

const selectStatus = `SELECT current_setting('server_version'),
	(SELECT coalesce(max(version), 0) FROM headstart_schema),
	coalesce((SELECT extversion FROM pg_extension WHERE extname = 'vector'), ''),
	coalesce((SELECT extversion FROM pg_extension WHERE extname = 'pg_textsearch'), '')`

// Status asks what the database has.
func (db *DB) Status(ctx context.Context) (Status, error) {
	ctx, cancel := db.within(ctx)
	defer cancel()
	var s Status
	err := db.pool.QueryRow(ctx, selectStatus).Scan(&s.Server, &s.Version, &s.Vector, &s.TextSearch)
	if err != nil {
		return Status{}, fmt.Errorf("ask status of database: %w", cause(ctx, err))
	}
	return s, nil
}
