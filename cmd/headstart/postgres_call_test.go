package main

import (
	"errors"
	"testing"
	"time"

	"headstart/retrieval"
	"headstart/store/postgres"
	"headstart/turn"
	"headstart/worker/calllog"
)

const postgresAgent = wireAgent + `docs: {base: clinica-norte, k: 2}
embedder: {provider: hashing}
`

// A call whose log, whose base and whose search are all in PostgreSQL: the base is
// above what this worker would hold, so it is indexed and searched there.
func TestACallOverPostgres(t *testing.T) {
	url := migratedPostgres(t)
	w := newWireIn(t, postgresAgent, nil, func(s *settings) {
		s.database, s.maxChunks, s.lookupBudget = url, 1, patience // a slow machine may take its time
	})
	db := w.srv.db.(*postgres.DB)
	awaitIndex(t, db)
	entries, _, _ := w.call()
	sources := eventsOf[turn.DocsSources](entries)
	if len(sources) == 0 || len(sources[0].Sources) == 0 || sources[0].Sources[0].Base != "clinica-norte" {
		t.Fatalf("sources %+v", sources)
	}
	calls, err := db.Calls(t.Context(), calllog.DefaultOrg, 10)
	if err != nil || len(calls) != 1 || !calls[0].Sealed {
		t.Fatalf("calls in the database: %+v, %v", calls, err)
	}
}

// awaitIndex waits until the worker has had its base indexed.
func awaitIndex(t *testing.T, db *postgres.DB) {
	t.Helper()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for {
		_, err := db.SearchLarge(t.Context(), retrieval.LargeQuery{Org: calllog.DefaultOrg, Base: "clinica-norte", Terms: []string{"sabad"}, WordsWeight: 1, K: 1})
		if err == nil {
			return
		}
		if !errors.Is(err, retrieval.ErrNotReady{Base: "clinica-norte"}) {
			t.Fatalf("search: %v", err)
		}
		<-look.C
	}
}
