package postgres_test

import (
	"testing"

	"headstart/retrieval/knowledge"
	"headstart/store/storetest"
)

func TestKnowledge(t *testing.T) {
	t.Parallel()
	storetest.Knowledge(t, func(t *testing.T) func() knowledge.Store {
		url := migrated(t)
		return func() knowledge.Store { return open(t, url) }
	})
}

func TestMemory(t *testing.T) {
	t.Parallel()
	storetest.Memory(t, func(t *testing.T) storetest.Memories { return open(t, migrated(t)) })
}
