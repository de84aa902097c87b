package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/zap"

	"headstart/retrieval"
	"headstart/retrieval/knowledge"
	"headstart/worker"
)

// pages writes a folder of files given as path, text, path, text.
func pages(t *testing.T, pairs ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(pairs); i += 2 {
		path := filepath.Join(dir, filepath.FromSlash(pairs[i]))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(pairs[i+1]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// basesOf opens the bases of a data folder as a worker does.
func basesOf(t *testing.T, data string, a worker.Agent, folders ...string) (*server, *kit, error) {
	t.Helper()
	s := settings{data: data, bases: folders}
	db, err := openDatabase(t.Context(), "", data, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close store: %v", err)
		}
	})
	srv := &server{settings: s, log: zap.NewNop(), db: db}
	k := &kit{settings: s, log: zap.NewNop(), library: &retrieval.Library{}}
	return srv, k, srv.openBases(t.Context(), k, []worker.Agent{a})
}

func reader(embedder worker.ModelConfig) worker.Agent {
	return worker.Agent{Name: "clinica", Language: "es-ES", Docs: worker.Docs{{Base: "tarifas"}}, Embedder: embedder}
}

// A worker serves what the store holds: what it pushed at its start, what it
// pushed at an earlier one, and what somebody else pushes while it runs.
func TestWorkersServeBasesOfTheStore(t *testing.T) {
	t.Parallel()
	data, dir := t.TempDir(), pages(t, "a.md", "# A\n\nLa revisión cuesta 60 euros.", "b.xyz", "nada")
	first, k, err := basesOf(t, data, reader(worker.ModelConfig{}), "tarifas="+dir)
	if err != nil {
		t.Fatal(err)
	}
	segment, ok := k.library.Get(k.org(), "tarifas")
	if !ok || segment.Len() != 1 {
		t.Fatalf("base in memory: %v", ok)
	}
	before, _, err := first.db.Files(t.Context(), k.org(), "tarifas")
	if err != nil || before.Language != "es" {
		t.Fatalf("base %+v, %v", before, err)
	}
	again, k, err := basesOf(t, data, reader(worker.ModelConfig{}), "tarifas="+dir)
	if err != nil {
		t.Fatal(err)
	}
	after, _, err := again.db.Files(t.Context(), k.org(), "tarifas")
	if err != nil || after.Revision != before.Revision {
		t.Fatalf("pushed again at the next start: %+v, %v", after, err)
	}
	second, k, err := basesOf(t, data, reader(worker.ModelConfig{}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan struct{})
	go func() { defer close(done); second.keepBases(ctx) }()
	embedder, err := k.documentEmbedder(ctx, reader(worker.ModelConfig{}))
	if err != nil {
		t.Fatal(err)
	}
	push := knowledge.Push{Store: first.db, Org: k.org(), Base: "tarifas", Embedder: embedder} // a connection that is not second's
	if _, err := push.File(ctx, "c.md", []byte("# C\n\nAbrimos los sábados.")); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { segment, ok := k.library.Get(k.org(), "tarifas"); return ok && segment.Len() == 2 })
	cancel()
	<-done
}

func TestWorkersRefuseBasesTheyCannotRead(t *testing.T) {
	t.Parallel()
	data, dir := t.TempDir(), pages(t, "a.md", "# A\n\nLa revisión cuesta 60 euros.")
	if _, _, err := basesOf(t, data, reader(worker.ModelConfig{})); err == nil || !strings.Contains(err.Error(), "docs push DIR --base tarifas") {
		t.Fatalf("a base that is not there: %v", err)
	}
	if _, _, err := basesOf(t, data, reader(worker.ModelConfig{}), "tarifas="+pages(t, "a.md", "")); err == nil || !strings.Contains(err.Error(), "no passage") {
		t.Fatalf("an empty base: %v", err)
	}
	if _, _, err := basesOf(t, data, reader(worker.ModelConfig{}), "tarifas="+dir); err != nil {
		t.Fatal(err)
	}
	other := reader(worker.ModelConfig{Options: map[string]any{"dim": 64}})
	for _, folders := range [][]string{nil, {"tarifas=" + dir}} {
		_, _, err := basesOf(t, data, other, folders...)
		if mismatch, ok := errors.AsType[retrieval.ErrMismatch](err); !ok || mismatch.GotDim != 64 || !strings.Contains(err.Error(), "headstart docs reembed tarifas") {
			t.Fatalf("another embedder, pushing %v: %v", folders, err)
		}
	}
}
