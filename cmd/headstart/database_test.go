package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"go.uber.org/zap"

	"headstart/store/postgres"
	"headstart/store/postgres/postgrestest"
	"headstart/turn"
	"headstart/worker/calllog"
)

func TestMaskURL(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"":                                   "",
		"postgres://u:secret@db:5432/h":      "postgres://u:xxxxx@db:5432/h",
		"postgres://db/h?password=secret":    "postgres://db/h?password=xxxxx",
		"host=db user=u password=secret":     "***",
		"postgres://u:sec%zzret@db:5432/h":   "***",
		"postgres://u@db/h?sslmode=disable":  "postgres://u@db/h?sslmode=disable",
		"postgres:///h?host=/run&password=s": "***",
	} {
		if got := maskURL(given); got != want {
			t.Errorf("mask %q: %q, want %q", given, got, want)
		}
	}
}

// A database is migrated by the command, holds a worker's logs, and is refused
// by name before.
func TestMigrate(t *testing.T) {
	t.Parallel()
	url := postgrestest.Database(t)
	if _, _, err := openBook(t.Context(), url, t.TempDir(), nil, zap.NewNop()); !errors.Is(err, postgres.ErrOlder) || !strings.Contains(err.Error(), "headstart migrate") {
		t.Fatalf("open before migration: %v", err)
	}
	var told struct {
		From, To int
		Applied  []string
		PGVector string
	}
	migrate := func() {
		t.Helper()
		out := &bytes.Buffer{}
		cmd := migrateCommand()
		cmd.SetOut(out)
		cmd.SetArgs([]string{"--database", url, "--json"})
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			t.Fatalf("migrate: %v", err)
		}
		if err := json.Unmarshal(out.Bytes(), &told); err != nil {
			t.Fatalf("read %q: %v", out, err)
		}
	}
	if migrate(); told.To == 0 || told.From != 0 || len(told.Applied) != told.To {
		t.Fatalf("first migration: %+v", told)
	}
	if migrate(); told.From != told.To || len(told.Applied) != 0 {
		t.Fatalf("second migration: %+v", told)
	}
	book, db, err := openBook(t.Context(), url, t.TempDir(), nil, zap.NewNop())
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := errors.Join(book.Close(), db.Close()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	batch := calllog.Batch{Org: calllog.DefaultOrg, Entries: []turn.Entry{{Seq: 1, Call: "c", Type: "dtmf", Data: []byte(`{}`)}}}
	if err := db.Append(t.Context(), batch); err != nil {
		t.Fatalf("append: %v", err)
	}
}

// A worker starts without its PostgreSQL: calls wait in their spools for it.
func TestStartWithoutDatabase(t *testing.T) {
	t.Parallel()
	book, db, err := openBook(t.Context(), "postgres://nobody@127.0.0.1:1/none?sslmode=disable", t.TempDir(), nil, zap.NewNop())
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	if _, err := book.Begin("c", "clinica"); err != nil {
		t.Fatalf("begin: %v", err)
	}
	if _, err := book.Recover(t.Context()); err != nil {
		t.Fatalf("recover: %v", err)
	}
	if err := errors.Join(book.Close(), db.Close()); err != nil {
		t.Fatalf("close: %v", err)
	}
}
