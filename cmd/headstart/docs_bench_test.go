package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"headstart/retrieval/bench"
	"headstart/store/postgres"
	"headstart/store/postgres/postgrestest"
	"headstart/worker"
)

// judged writes a collection of a few questions.
func judged(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "qrels"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"corpus.jsonl": `{"_id": "d1", "title": "Tarifas", "text": "La revisión anual cuesta 60 euros."}
{"_id": "d2", "title": "Horarios", "text": "Abrimos los sábados."}`,
		"queries.jsonl": `{"_id": "q1", "text": "¿Cuánto cuesta la revisión?"}
{"_id": "q2", "text": "¿y eso?", "history": [{"speaker": "user", "text": "¿Abren los sábados?"}]}`,
		"qrels/test.tsv": "query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t1\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestDocsBench(t *testing.T) {
	t.Parallel()
	run := filepath.Join(t.TempDir(), "run")
	out, err := command(t, "docs", "bench", judged(t), "--language", "es", "--arm", "words", "--json", "--run", run)
	if err != nil {
		t.Fatal(err, out)
	}
	var r bench.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if r.Queries != 2 || r.NDCG10 != 1 || r.Arm != "words" || r.Embedder != "" {
		t.Fatalf("%+v", r)
	}
	if text, err := os.ReadFile(run); err != nil || string(text) != "q1 Q0 d1 1 1 headstart\nq2 Q0 d2 1 1 headstart\n" {
		t.Fatalf("%s, %v", text, err)
	}
}

func TestDocsBenchTable(t *testing.T) {
	t.Parallel()
	out, err := command(t, "docs", "bench", judged(t), "--language", "es", "--embedder", "hashing", "--embedder-option", "dim=64")
	if err != nil || !strings.Contains(out, "hashing-64") || !strings.Contains(out, "fused, last turn alone") {
		t.Fatal(err, out)
	}
	out, err = command(t, "docs", "bench", judged(t), "--language", "es", "--calibrate", "odd", "--on", "even")
	if err != nil {
		t.Fatal(err, out)
	}
	for _, want := range []string{"odd queries: words 1.000, vectors 0.050", "fused, calibrated", "fused, as declared", "words  ", "vectors  "} {
		if !strings.Contains(out, want) {
			t.Fatalf("no %q in\n%s", want, out)
		}
	}
}

// A collection is asked in PostgreSQL, and in memory in the same run, its follow-up
// with the turns before it, and leaves nothing.
func TestDocsBenchInPostgres(t *testing.T) {
	t.Parallel()
	url := postgrestest.Database(t)
	asked := func(more ...string) []string {
		return append([]string{"docs", "bench", judged(t), "--language", "es", "--database", url}, more...)
	}
	if _, err := command(t, asked("--store", "postgres", "--arm", "words")...); !errors.Is(err, postgres.ErrOlder) {
		t.Fatalf("bench in a database without tables: %v", err)
	}
	if _, err := command(t, "migrate", "--database", url); err != nil {
		t.Fatalf("migrate: %v", err)
	}
	for range 2 {
		out, err := command(t, asked("--store", "memory,postgres", "--embedder", "hashing")...)
		if err != nil || !strings.Contains(out, "fused, postgres") || !strings.Contains(out, "fused, memory") || !strings.Contains(out, "at the median") {
			t.Fatal(err, out)
		}
	}
	out, err := command(t, asked("--store", "postgres", "--arm", "words")...)
	if err != nil || !strings.Contains(out, "searched in postgres") || !strings.Contains(out, "words, last turn alone") || strings.Contains(out, "at the median") {
		t.Fatal(err, out)
	}
	for _, arm := range []string{"words", "vectors", "fused"} {
		one := reports(t, asked("--store", "postgres", "--json", "--arm", arm)...)
		both := reports(t, asked("--store", "memory,postgres", "--json", "--arm", arm)...)
		if len(one) != 1 || len(both) != 2 || one[0].Store != "postgres" || both[0].Store != "postgres" || both[1].Store != "memory" {
			t.Fatalf("%s: %+v and %+v", arm, one, both)
		}
		if one[0].Queries != 2 || one[0].NDCG10 != both[1].NDCG10 || arm == "words" && one[0].NDCG10 != 1 {
			t.Fatalf("%s: in PostgreSQL %+v, in memory %+v", arm, one[0], both[1])
		}
	}
	db, err := postgres.Open(t.Context(), postgres.Config{URL: url})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	bases, err := db.AllBases(t.Context())
	if err := errors.Join(err, db.Close()); err != nil || len(bases) != 0 {
		t.Fatalf("left %+v, %v", bases, err)
	}
}

// reports are the objects that a benchmark writes, a line each.
func reports(t *testing.T, args ...string) (all []bench.Report) {
	t.Helper()
	out, err := command(t, args...)
	if err != nil {
		t.Fatal(err, out)
	}
	for line := range strings.Lines(out) {
		var r bench.Report
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		all = append(all, r)
	}
	return all
}

func TestDocsBenchRefuses(t *testing.T) {
	t.Parallel()
	dir := judged(t)
	for _, args := range [][]string{
		{}, {dir, dir}, {dir, "--arm", "both"}, {dir, "--store", "paper"}, {dir, "--store", "memory,paper"}, {dir, "--store", "postgres", "--calibrate", "odd"}, {dir, "--depth", "0"}, {dir, "--on", "third"},
		{dir, "--calibrate", "odd", "--arm", "words"}, {dir, "--embedder-option", "dim"}, {dir, "--embedder-option", "=1"},
		{dir, "--agent", "a.yaml", "--embedder", "hashing"},
	} {
		out, err := command(t, append([]string{"docs", "bench"}, args...)...)
		if _, usage := errors.AsType[usageError](err); !usage {
			t.Fatalf("%q: %v, %s", args, err, out)
		}
	}
	for _, args := range [][]string{{t.TempDir()}, {dir, "--embedder", "crystal-ball"}, {dir, "--agent", "none.yaml"}} {
		if out, err := command(t, append([]string{"docs", "bench"}, args...)...); err == nil {
			t.Fatalf("%q: %s", args, out)
		}
	}
}

// TestEmbedderFlags: the flags say what an agent file would.
func TestEmbedderFlags(t *testing.T) {
	t.Parallel()
	o := embedderFlags{provider: "openai", model: "m", url: "http://e/v1", options: []string{"dim=64", "user=a=b"}}
	m, err := o.config()
	if err != nil || m.Provider != "openai" || m.Model != "m" || m.Options["base_url"] != "http://e/v1" || m.Options["user"] != "a=b" {
		t.Fatalf("%+v, %v", m, err)
	}
	cfg, err := embedderConfig(m, "")
	if err != nil || cfg.Dim != 64 || cfg.BaseURL != "http://e/v1" {
		t.Fatalf("%+v, %v", cfg, err)
	}
	a, err := (&embedderFlags{agent: "../../testdata/agents/clinica-es.yaml"}).config()
	if err != nil || a.Provider == "" {
		t.Fatalf("%+v, %v", a, err)
	}
	if _, err := hashing(worker.Agent{Embedder: worker.ModelConfig{Options: m.Options}}); err == nil {
		t.Fatal("hashing takes a user")
	}
}
