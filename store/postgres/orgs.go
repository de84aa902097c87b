package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"headstart/retrieval/knowledge"
)

const (
	selectQuota = `SELECT knowledge_chunks, memory_facts FROM orgs WHERE org = $1`
	// Whoever grows another base of the org at the same time waits.
	lockQuota   = selectQuota + ` FOR UPDATE`
	selectHeld  = `SELECT coalesce(sum(chunks), 0) FROM bases WHERE org = $1`
	upsertQuota = `INSERT INTO orgs (org, knowledge_chunks, memory_facts) VALUES ($1, $2, $3)
		ON CONFLICT (org) DO UPDATE SET knowledge_chunks = excluded.knowledge_chunks, memory_facts = excluded.memory_facts`
	selectOrgs = `SELECT n.org, o.knowledge_chunks, o.memory_facts, count(b.name), coalesce(sum(b.chunks), 0)
		FROM (SELECT org FROM orgs UNION SELECT org FROM bases) n
		LEFT JOIN orgs o ON o.org = n.org LEFT JOIN bases b ON b.org = n.org
		GROUP BY n.org, o.org ORDER BY n.org`
)

// Quota implements knowledge.Orgs.
func (db *DB) Quota(ctx context.Context, org string) (knowledge.Quota, error) {
	ctx, cancel := db.within(ctx)
	defer cancel()
	q, err := quotaOf(ctx, db.pool, selectQuota, clean(org))
	if err != nil {
		return knowledge.Quota{}, fmt.Errorf("read quota of org %s: %w", org, cause(ctx, err))
	}
	return q, nil
}

func quotaOf(ctx context.Context, q interface {
	QueryRow(context.Context, string, ...any) pgx.Row
}, query, org string) (quota knowledge.Quota, err error) {
	err = q.QueryRow(ctx, query, org).Scan(&quota.KnowledgeChunks, &quota.MemoryFacts)
	if errors.Is(err, pgx.ErrNoRows) {
		return knowledge.Quota{}, nil
	}
	return quota, err
}

// checkQuota lets an org shrink whatever it may hold.
func checkQuota(ctx context.Context, tx pgx.Tx, org string, growth int) error {
	if growth <= 0 {
		return nil
	}
	q, err := quotaOf(ctx, tx, lockQuota, org)
	if err != nil || q.KnowledgeChunks == nil {
		return err
	}
	var holds int
	if err := tx.QueryRow(ctx, selectHeld, org).Scan(&holds); err != nil {
		return fmt.Errorf("count chunks of org %s: %w", org, err)
	}
	if limit := *q.KnowledgeChunks; holds+growth > limit {
		return knowledge.QuotaError{Org: org, Limit: limit, Holds: holds, Needs: holds + growth}
	}
	return nil
}

// SetQuota implements knowledge.Orgs.
func (db *DB) SetQuota(ctx context.Context, org string, q knowledge.Quota) error {
	err := knowledge.CheckName(org)
	if err == nil {
		err = db.write(ctx, func(ctx context.Context, tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, upsertQuota, org, q.KnowledgeChunks, q.MemoryFacts); err != nil {
				return err
			}
			return tell(ctx, tx, org, "")
		})
	}
	if err != nil {
		return fmt.Errorf("set quota of org %s: %w", org, err)
	}
	return nil
}

// Orgs implements knowledge.Orgs.
func (db *DB) Orgs(ctx context.Context) ([]knowledge.Org, error) {
	ctx, cancel := db.within(ctx)
	defer cancel()
	list, err := gather(ctx, db.pool, selectOrgs, nil, func(row pgx.CollectableRow) (o knowledge.Org, err error) {
		err = row.Scan(&o.Name, &o.Quota.KnowledgeChunks, &o.Quota.MemoryFacts, &o.Bases, &o.Chunks)
		return o, err
	})
	if err != nil {
		return nil, fmt.Errorf("list orgs: %w", cause(ctx, err))
	}
	return list, nil
}
