package postgres_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

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

// A file with what PostgreSQL cannot hold lands, cleaned, and so do the others.
func TestReplaceCleansText(t *testing.T) {
	t.Parallel()
	db := open(t, migrated(t))
	if _, err := db.Make(t.Context(), knowledge.Base{Org: tenant, Name: "clinica", Language: "es", Model: model, Dim: 2}); err != nil {
		t.Fatalf("make: %v", err)
	}
	v := [][]float32{{1, 0}, {0, 1}}
	put(t, db, piecesOf("a.md", v, "uno\x00dos", "tres\xff"), piecesOf("b.md", v, "cuatro"), piecesOf("c.md", v, "cinco \u0000"))
	var texts []string
	for _, c := range readBase(t, db, tenant, "clinica").chunks {
		texts = append(texts, c.Text)
	}
	want := []string{"uno\uFFFDdos", "tres\uFFFD", "cuatro", "cinco \uFFFD"}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Fatalf("texts (-want +got):\n%s", diff)
	}
}

// A watcher that is cut off goes on, and is told that anything may have changed.
func TestWatchReconnects(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	db, writer := open(t, url), open(t, url)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	told, done := make(chan string, 100), make(chan error, 1)
	go func() { done <- db.Watch(ctx, func(org, base string) { told <- org + "/" + base }) }()
	await := func(want string) {
		t.Helper()
		for {
			select {
			case got := <-told:
				if got == want {
					return
				}
			case <-t.Context().Done():
				t.Fatalf("not told of %s", want)
			}
		}
	}
	await("/")
	for range 2 {
		raw(t, url, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'headstart watch' AND datname = current_database()`)
		await("/")
		if err := writer.SetQuota(ctx, "clinica", knowledge.Quota{}); err != nil {
			t.Fatalf("set quota: %v", err)
		}
		await("clinica/")
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatalf("watch: %v", err)
	}
}
