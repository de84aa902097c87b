package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"headstart/retrieval/knowledge"
)

const (
	selectQuota = `SELECT knowledge_chunks, memory_facts FROM orgs WHERE org = ?`
	upsertQuota = `INSERT INTO orgs (org, knowledge_chunks, memory_facts) VALUES (?, ?, ?)
		ON CONFLICT (org) DO UPDATE SET knowledge_chunks = excluded.knowledge_chunks, memory_facts = excluded.memory_facts`
	selectOrgs = `SELECT n.org, o.knowledge_chunks, o.memory_facts, count(b.name), coalesce(sum(b.chunks), 0)
		FROM (SELECT org FROM orgs UNION SELECT org FROM bases) n
		LEFT JOIN orgs o ON o.org = n.org LEFT JOIN bases b ON b.org = n.org
		GROUP BY n.org ORDER BY n.org`
)

// Quota implements knowledge.Orgs.
func (db *DB) Quota(ctx context.Context, org string) (knowledge.Quota, error) {
	q, err := quotaOf(ctx, db.reader, org)
	if err != nil {
		return knowledge.Quota{}, fmt.Errorf("read quota of org %s: %w", org, err)
	}
	return q, nil
}

func quotaOf(ctx context.Context, q interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}, org string) (knowledge.Quota, error) {
	var chunks, facts sql.Null[int]
	err := q.QueryRowContext(ctx, selectQuota, org).Scan(&chunks, &facts)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return knowledge.Quota{}, err
	}
	return knowledge.Quota{KnowledgeChunks: optional(chunks), MemoryFacts: optional(facts)}, nil
}

func optional(n sql.Null[int]) *int {
	if !n.Valid {
		return nil
	}
	return &n.V
}

// SetQuota implements knowledge.Orgs.
func (db *DB) SetQuota(ctx context.Context, org string, q knowledge.Quota) error {
	err := knowledge.CheckName(org)
	if err == nil {
		err = db.writeKnowledge(ctx, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, upsertQuota, org, q.KnowledgeChunks, q.MemoryFacts)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("set quota of org %s: %w", org, err)
	}
	return nil
}

// Orgs implements knowledge.Orgs.
func (db *DB) Orgs(ctx context.Context) ([]knowledge.Org, error) {
	list, err := collect(ctx, db.reader, selectOrgs, nil, func(scan scanner) (knowledge.Org, error) {
		var o knowledge.Org
		var chunks, facts sql.Null[int]
		err := scan(&o.Name, &chunks, &facts, &o.Bases, &o.Chunks)
		o.Quota = knowledge.Quota{KnowledgeChunks: optional(chunks), MemoryFacts: optional(facts)}
		return o, err
	})
	if err != nil {
		return nil, fmt.Errorf("list orgs: %w", err)
	}
	return list, nil
}
