package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"headstart/retrieval"
	"headstart/retrieval/knowledge"
	"headstart/worker"
	"headstart/worker/calllog"
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
	return loggedBases(t, zap.NewNop(), data, a, folders...)
}

func loggedBases(t *testing.T, log *zap.Logger, data string, a worker.Agent, folders ...string) (*server, *kit, error) {
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
	srv := &server{settings: s, log: log, db: db}
	k := &kit{settings: s, log: log, library: &retrieval.Library{}}
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

// A base that is embedded anew while workers run: those with its new embedder ask
// its vectors from then on, the others answer by its words alone and say so, in the
// call's log and once in the worker's.
func TestWorkersFollowReembedding(t *testing.T) {
	t.Parallel()
	data, dir := t.TempDir(), pages(t, "a.md", "# A\n\nLa revisión cuesta 60 euros.", "b.md", "# B\n\nAbrimos los sábados.")
	large, small := reader(worker.ModelConfig{}), reader(worker.ModelConfig{Options: map[string]any{"dim": 64}})
	before := running(t, data, large, "tarifas="+dir)
	before.searches(t, retrieval.Words, retrieval.Vectors)
	docs(t, data, "docs", "reembed", "tarifas", "--embedder-option", "dim=64")
	eventually(t, func() bool { return before.degraded(t) })
	before.searches(t, retrieval.Words)
	after := running(t, data, small)
	after.searches(t, retrieval.Words, retrieval.Vectors)
	docs(t, data, "docs", "push", pages(t, "a.md", "# A\n\nLa revisión cuesta 70 euros.", "b.md", "# B\n\nAbrimos los sábados."), "--base", "tarifas", "--embedder-option", "dim=64")
	eventually(t, func() bool { return before.text(t) == "La revisión cuesta 70 euros." })

	docs(t, data, "docs", "reembed", "tarifas") // and back
	eventually(t, func() bool { return !before.degraded(t) && after.degraded(t) })
	before.searches(t, retrieval.Words, retrieval.Vectors)
	after.searches(t, retrieval.Words)
	after.stop()
	before.stop()
	before.told(t, "by its words alone", "by its vectors again")
	after.told(t, "by its words alone")
}

// runner is a worker's bases, kept in step with the store, and its agent's searcher.
type runner struct {
	searcher *retrieval.Searcher
	logged   *observer.ObservedLogs
	stop     func()
}

func running(t *testing.T, data string, a worker.Agent, folders ...string) runner {
	t.Helper()
	core, logged := observer.New(zap.InfoLevel)
	srv, k, err := loggedBases(t, zap.New(core), data, a, folders...)
	if err != nil {
		t.Fatal(err)
	}
	e, err := k.embedder(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	searcher, err := k.searcher(a, e)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); srv.keepBases(ctx) }()
	stop := sync.OnceFunc(func() { cancel(); <-done })
	t.Cleanup(stop)
	return runner{searcher, logged, stop}
}

// ask is what a call asks: it fails neither way.
func (r runner) ask(t *testing.T) retrieval.Result {
	t.Helper()
	found, err := r.searcher.Search(t.Context(), retrieval.Query{Org: calllog.DefaultOrg, Text: "¿Cuánto cuesta la revisión?", Bases: []retrieval.Attachment{{Base: "tarifas"}}})
	if err != nil || len(found.Passages) == 0 {
		t.Fatalf("search: %+v, %v", found, err)
	}
	return found
}

func (r runner) degraded(t *testing.T) bool {
	t.Helper()
	_, mismatch := errors.AsType[retrieval.ErrMismatch](r.ask(t).Degraded)
	return mismatch
}

func (r runner) text(t *testing.T) string {
	t.Helper()
	return r.ask(t).Passages[0].Text
}

func (r runner) searches(t *testing.T, branches ...retrieval.Branch) {
	t.Helper()
	if diff := cmp.Diff(branches, r.ask(t).Branches); diff != "" {
		t.Fatalf("branches (-want +got):\n%s", diff)
	}
}

// told holds the log to these lines of mismatches, each once, in this order.
func (r runner) told(t *testing.T, lines ...string) {
	t.Helper()
	var got []string
	for _, e := range r.logged.All() {
		for _, line := range []string{"by its words alone", "by its vectors again"} {
			if strings.Contains(e.Message, line) {
				got = append(got, line)
			}
		}
	}
	if diff := cmp.Diff(lines, got); diff != "" {
		t.Fatalf("told (-want +got):\n%s", diff)
	}
}
