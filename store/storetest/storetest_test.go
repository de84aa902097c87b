package storetest_test

import (
	"testing"

	"go.uber.org/goleak"

	"headstart/retrieval/knowledge"
	"headstart/retrieval/knowledge/knowledgetest"
	"headstart/store/storetest"
	"headstart/worker/calllog/calllogtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The store that other tests lean on keeps the contract too.
func TestMemory(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) storetest.Store { return &calllogtest.Store{} })
}

func TestMemoryKnowledge(t *testing.T) {
	t.Parallel()
	storetest.Knowledge(t, func(*testing.T) func() knowledge.Store {
		s := &knowledgetest.Store{}
		return func() knowledge.Store { return s }
	})
}
