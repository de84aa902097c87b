package sqlite_test

import (
	"path/filepath"
	"testing"

	"headstart/retrieval/knowledge"
	"headstart/store/storetest"
)

func TestKnowledge(t *testing.T) {
	t.Parallel()
	storetest.Knowledge(t, func(t *testing.T) func() knowledge.Store {
		path := filepath.Join(t.TempDir(), "headstart.db")
		return func() knowledge.Store { return open(t, path) }
	})
}
