package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"headstart/worker"
	v1 "headstart/worker/api/v1"
)

// docs runs a docs command on a data folder, which must go well.
func docs(t *testing.T, data string, args ...string) string {
	t.Helper()
	out, err := command(t, append(args, "--data", data)...)
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// refusedWith runs a command that must fail and say something.
func refusedWith(t *testing.T, data, says string, args ...string) {
	t.Helper()
	if out, err := command(t, append(args, "--data", data)...); err == nil || !strings.Contains(err.Error(), says) {
		t.Fatalf("%s: %v does not say %q\n%s", strings.Join(args, " "), err, says, out)
	}
}

func object[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("read %q: %v", text, err)
	}
	return v
}

func TestDocsPushAndSearch(t *testing.T) {
	t.Parallel()
	data := taughtData(t, nil)
	dir := pages(t, "tarifas.md", "# Tarifas\n\n## Revisión\n\nLa revisión anual cuesta 60 euros.", "horarios.md", "# Horarios\n\nAbrimos los sábados.", "foto.jpg", "x")
	if out := docs(t, data, "docs", "list"); !strings.Contains(out, "docs push DIR --base NAME") {
		t.Fatalf("an empty store: %s", out)
	}
	first := object[v1.Pushed](t, docs(t, data, "docs", "push", dir, "--base", "clinica", "--json"))
	if first.Put != 2 || first.Chunks != 2 || first.Embedded != 2 || len(first.Refused) != 1 || first.Refused[0].Path != "foto.jpg" || first.Embedder != "hashing-512" {
		t.Fatalf("first push: %+v", first)
	}
	again := object[v1.Pushed](t, docs(t, data, "docs", "push", dir, "--base", "clinica", "--json"))
	if again.Put+again.Embedded+again.Removed != 0 || again.Kept != 2 || again.Revision != first.Revision {
		t.Fatalf("second push: %+v", again)
	}
	if out := docs(t, data, "docs", "push", dir, "--base", "clinica"); !strings.Contains(out, "0 files written, 2 as they were") || !strings.Contains(out, "left out: read foto.jpg") {
		t.Fatalf("third push: %s", out)
	}
	out := docs(t, data, "docs", "search", "¿Cuánto cuesta la revisión?")
	for _, want := range []string{"clinica: tarifas.md", "words ", "fused #1", ", v1", "Context: Tarifas › Revisión", "| La revisión anual cuesta 60 euros.", "evidence "} {
		if !strings.Contains(out, want) {
			t.Fatalf("the tester does not say %q:\n%s", want, out)
		}
	}
	told := object[v1.Found](t, docs(t, data, "docs", "search", "¿Cuánto cuesta la revisión?", "--base", "clinica", "--json", "-k", "1"))
	if len(told.Passages) != 1 || told.Passages[0].Hits[0].Fused != 1 || told.Passages[0].Hits[0].WordRank != 1 || told.Passages[0].Format != 1 || len(told.Branches) != 2 {
		t.Fatalf("as an object: %+v", told)
	}
	if out := docs(t, data, "docs", "search", "veleros"); out != "Nothing relevant found: the agent would say it doesn't know.\n" {
		t.Fatalf("a question that nothing answers: %q", out)
	}
	refusedWith(t, data, "docs list", "docs", "search", "nada", "--base", "otra")
	refusedWith(t, data, "--prune", "docs", "push", pages(t, "nuevo.md", "# N\n\nnuevo"), "--base", "clinica")
	refusedWith(t, data, "docs reembed clinica", "docs", "push", dir, "--base", "clinica", "--embedder-option", "dim=64")
	refusedWith(t, data, "--base NAME", "docs", "push", dir)

	docs(t, data, "docs", "reembed", "clinica", "--embedder-option", "dim=64")
	if b := object[v1.Base](t, docs(t, data, "docs", "list", "--json")); b.Dim != 64 || b.Files != 2 {
		t.Fatalf("base after a reembedding: %+v", b)
	}
	if out := docs(t, data, "docs", "search", "revisión"); !strings.Contains(out, "vectors") { // it finds the embedder by its name
		t.Fatalf("search after a reembedding: %s", out)
	}
	docs(t, data, "docs", "rm", "clinica", "horarios.md")
	if f := object[v1.File](t, docs(t, data, "docs", "list", "clinica", "--json")); f.Path != "tarifas.md" || f.Format != 1 || len(f.SHA256) != 64 {
		t.Fatalf("files after one was removed: %+v", f)
	}
	refusedWith(t, data, "no such file", "docs", "rm", "clinica", "horarios.md")
	docs(t, data, "docs", "rm", "clinica")
	refusedWith(t, data, "no base clinica", "docs", "rm", "clinica")
}

func TestOrgsAndStatus(t *testing.T) {
	t.Parallel()
	data, dir := t.TempDir(), pages(t, "a.md", "# A\n\nuno\n\n# B\n\ndos")
	docs(t, data, "orgs", "set", "default", "--knowledge-chunks", "1", "--memory-facts", "7")
	refusedWith(t, data, "orgs set default --knowledge-chunks", "docs", "push", dir, "--base", "clinica")
	docs(t, data, "orgs", "set", "default", "--knowledge-chunks", "2")
	docs(t, data, "docs", "push", dir, "--base", "clinica")
	o := object[listedOrg](t, docs(t, data, "orgs", "list", "--json"))
	if o.Org != "default" || o.Chunks != 2 || *o.KnowledgeChunks != 2 || *o.MemoryFacts != 7 {
		t.Fatalf("org: %+v", o)
	}
	s := object[docsStatus](t, docs(t, data, "docs", "status", "--json"))
	if s.Held != 2 || *s.Quota != 2 || len(s.Bases) != 1 || !strings.Contains(s.Store, "SQLite") {
		t.Fatalf("status: %+v", s)
	}
	docs(t, data, "orgs", "set", "default", "--knowledge-chunks", "none")
	if out := docs(t, data, "docs", "status"); !strings.Contains(out, "2, no limit") {
		t.Fatalf("status without a limit: %s", out)
	}
	refusedWith(t, data, "nothing to set", "orgs", "set", "default")
	refusedWith(t, data, "want a number", "orgs", "set", "default", "--memory-facts", "-1")
}

func TestDocsAttach(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		docs string
		args []string
		want worker.Docs
	}{
		"none yet":      {"", []string{"tarifas"}, worker.Docs{{Base: "tarifas"}}},
		"one":           {"docs: {base: clinica, k: 4} # ours\n", []string{"tarifas", "--k", "3", "--min-score", "0.25"}, worker.Docs{{Base: "clinica", K: 4}, {Base: "tarifas", K: 3, MinScore: 0.25}}},
		"a list":        {"docs:\n  - base: clinica\n  - base: otra\n    k: 2\n", []string{"tarifas"}, worker.Docs{{Base: "clinica"}, {Base: "otra", K: 2}, {Base: "tarifas"}}},
		"late":          {"docs:\n  - {base: clinica, late: skip}\n  - {base: tarifas, late: skip}\n", []string{"tarifas"}, worker.Docs{{Base: "clinica", Late: "skip"}, {Base: "tarifas", Late: "skip"}}},
		"by the model":  {"docs: {base: clinica}\n", []string{"tarifas", "--mode", "tool"}, worker.Docs{{Base: "clinica"}, {Base: "tarifas", Mode: "tool"}}},
		"another mode":  {"docs: {base: tarifas, mode: tool}\n", []string{"tarifas", "--mode", "retrieved"}, worker.Docs{{Base: "tarifas", Mode: "retrieved"}}},
		"the mode kept": {"docs: {base: tarifas, mode: tool}\n", []string{"tarifas", "--k", "2"}, worker.Docs{{Base: "tarifas", Mode: "tool", K: 2}}},
		"there already": {"docs: {base: tarifas, mode: retrieved}\n", []string{"tarifas", "--k", "2"}, worker.Docs{{Base: "tarifas", Mode: "retrieved", K: 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := agentFile(t, func(text string) string {
				text = strings.ReplaceAll(text, "provider: extractive", "provider: openai, model: m")
				return "# recepción\n" + text + c.docs + "hears: [Sanitas] # seguros\n"
			})
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			args := append([]string{"docs", "attach", "--agent", path}, c.args...)
			shown, err := command(t, append(args, "--show")...)
			if err != nil {
				t.Fatal(err)
			}
			if now, err := os.ReadFile(path); err != nil || string(now) != string(before) {
				t.Fatalf("--show wrote %s", now)
			}
			if _, err := command(t, args...); err != nil {
				t.Fatal(err)
			}
			now, err := os.ReadFile(path)
			if err != nil || string(now) != shown {
				t.Fatalf("wrote %s, showed %s", now, shown)
			}
			a, err := worker.ParseAgent(now)
			if err != nil {
				t.Fatalf("%v in %s", err, now)
			}
			equalDocs(t, c.want, a.Docs)
			for _, comment := range []string{"# recepción", "# seguros"} {
				if !strings.Contains(string(now), comment) {
					t.Fatalf("lost the comment %q:\n%s", comment, now)
				}
			}
			left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".*"))
			if err != nil || len(left) > 0 {
				t.Fatalf("left %v behind", left)
			}
		})
	}
	if _, err := command(t, "docs", "attach", "tarifas", "--agent", agentFile(t, func(string) string { return "nonsense" })); err == nil {
		t.Fatal("attached to what is no agent")
	}
	for mode, want := range map[string]string{"asked": "want retrieved or tool", "tool": "extractive calls no tools"} {
		if _, err := command(t, "docs", "attach", "tarifas", "--agent", agentFile(t, nil), "--mode", mode); err == nil || !strings.Contains(err.Error(), want) {
			t.Fatalf("mode %s: %v", mode, err)
		}
	}
}

func equalDocs(t *testing.T, want, got worker.Docs) {
	t.Helper()
	if len(want) != len(got) {
		t.Fatalf("docs %+v, want %+v", got, want)
	}
	for i := range want {
		if want[i] != got[i] {
			t.Fatalf("docs %+v, want %+v", got, want)
		}
	}
}
