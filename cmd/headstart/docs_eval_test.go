package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"headstart/retrieval"
	"headstart/retrieval/embed"
	"headstart/retrieval/golden"
	"headstart/retrieval/knowledge"
	"headstart/store/sqlite"
	"headstart/worker/calllog"
)

const (
	clinicDocs   = "../../testdata/knowledge/clinica-norte"
	clinicGolden = "../../testdata/golden/clinica-norte.json"
)

func TestDocsEvalOfAFolder(t *testing.T) {
	t.Parallel()
	out, err := command(t, "docs", "eval", "--dir", clinicDocs, "--base", "clinica", "--golden", clinicGolden)
	if err != nil {
		t.Fatal(err, out)
	}
	for _, want := range []string{"clinica: 39 questions, recall@8", "missed (not found): ", "  expected  Horarios › Horario de cada servicio", "  came 1    ", "6 questions that no document answers"} {
		if !strings.Contains(out, want) {
			t.Fatalf("no %q in\n%s", want, out)
		}
	}
	out, err = command(t, "docs", "eval", "--dir", clinicDocs, "--golden", clinicGolden, "--k", "3", "--json")
	var r golden.Report
	if err != nil || json.Unmarshal([]byte(out), &r) != nil || r.K != 3 || r.Questions != 39 || len(r.Misses) == 0 {
		t.Fatal(err, out)
	}
}

// pushed keeps the clinic in a store, and returns its folder.
func pushed(t *testing.T) string {
	t.Helper()
	data := t.TempDir()
	db, err := sqlite.Open(t.Context(), filepath.Join(data, "headstart.db"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = knowledge.Push{Store: db, Org: calllog.DefaultOrg, Base: "clinica", Embedder: embed.Hashing(256), Language: "es"}.Dir(t.Context(), clinicDocs)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return data
}

// TestDocsCalibrateKeeps: a base of the store is calibrated with the embedder that it
// names, and keeps what was fitted.
func TestDocsCalibrateKeeps(t *testing.T) {
	t.Parallel()
	data := pushed(t)
	at := []string{"--base", "clinica", "--golden", clinicGolden, "--data", data}
	before, err := command(t, append([]string{"docs", "eval", "--json"}, at...)...)
	if err != nil {
		t.Fatal(err, before)
	}
	out, err := command(t, append([]string{"docs", "calibrate", "--dry-run"}, at...)...)
	if err != nil || !strings.Contains(out, "clinica with hashing-256") || !strings.Contains(out, "held out") || !strings.Contains(out, "not kept") || calibrationOf(t, data) != nil {
		t.Fatal(err, out)
	}
	out, err = command(t, append([]string{"docs", "calibrate", "--json"}, at...)...)
	var told fittedObject
	if err != nil || json.Unmarshal([]byte(out), &told) != nil || !told.Kept || !told.Weighed || !told.Cut {
		t.Fatal(err, out)
	}
	kept := calibrationOf(t, data)
	if kept == nil || kept.VectorsWeight != told.Vectors || kept.WordsWeight != told.Words || kept.Strong != told.Strong || kept.Weak != told.Weak || kept.Embedder != "hashing-256" {
		t.Fatalf("kept %+v, told %+v", kept, told)
	}
	if told.All.Fitted < told.All.Words-1e-9 || told.All.Fitted < told.All.Vectors-1e-9 {
		t.Fatalf("%+v", told)
	}
}

func calibrationOf(t *testing.T, data string) *retrieval.Calibration {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(data, "headstart.db"))
	if err != nil {
		t.Fatal(err)
	}
	bases, err := db.Bases(t.Context(), calllog.DefaultOrg)
	if err := errors.Join(err, db.Close()); err != nil || len(bases) != 1 {
		t.Fatal(bases, err)
	}
	return bases[0].Calibration
}

func TestDocsEvalRefuses(t *testing.T) {
	t.Parallel()
	data := taughtData(t, nil)
	bad := filepath.Join(data, "bad.json")
	if err := os.WriteFile(bad, []byte(`[{"asks": "a"}]`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, sub := range []string{"eval", "calibrate"} {
		for _, args := range [][]string{{}, {"--base", "b"}, {"--golden", clinicGolden}, {"more"}} {
			if out, err := command(t, append([]string{"docs", sub, "--data", data}, args...)...); !isUsage(err) {
				t.Fatalf("%s %q: %v, %s", sub, args, err, out)
			}
		}
		for want, args := range map[string][]string{
			"no base nobody": {"--base", "nobody", "--golden", clinicGolden},
			"bad.json":       {"--base", "b", "--golden", bad},
			"none.json":      {"--base", "b", "--golden", "none.json"},
			"open folder":    {"--dir", filepath.Join(data, "none"), "--golden", clinicGolden},
		} {
			out, err := command(t, append([]string{"docs", sub, "--data", data}, args...)...)
			if err == nil || isUsage(err) || !strings.Contains(err.Error(), want) {
				t.Fatalf("%s %q: %v, %s", sub, args, err, out)
			}
		}
	}
}

// Half a search is not shown as a whole one: what asks a base with another embedder
// than it was embedded with is refused, and told the way out.
func TestDocsRefuseAnotherEmbedder(t *testing.T) {
	t.Parallel()
	data := pushed(t)
	other := []string{"--base", "clinica", "--embedder-option", "dim=64"}
	for _, args := range [][]string{
		{"docs", "search", "¿Cuánto cuesta la revisión?"},
		{"docs", "eval", "--golden", clinicGolden},
		{"docs", "calibrate", "--golden", clinicGolden},
	} {
		args = append(args, other...)
		refusedWith(t, data, "base clinica holds vectors of hashing-256 with 256 dimensions, the embedder hashing-64 gives 64", args...)
		refusedWith(t, data, "headstart docs reembed clinica", args...)
	}
	docs(t, data, "docs", "push", clinicDocs, "--base", "otra", "--embedder-option", "dim=64")
	refusedWith(t, data, "--base NAME", "docs", "search", "¿Cuánto cuesta la revisión?") // two bases, no common embedder
	if out := docs(t, data, "docs", "search", "¿Cuánto cuesta la revisión?", "--base", "otra"); !strings.Contains(out, "searched by words and vectors") {
		t.Fatal(out)
	}
}

func isUsage(err error) bool {
	_, ok := errors.AsType[usageError](err)
	return ok
}

// TestEmbedderOfABase: flags that say nothing take the embedder that a base names.
func TestEmbedderOfABase(t *testing.T) {
	t.Parallel()
	var none embedderFlags
	for name, want := range map[string]embedderFlags{
		"hashing-256":     {provider: "hashing", options: []string{"dim=256"}},
		"openai/m":        {provider: "openai", model: "m"},
		"voyage/voyage-3": {provider: "voyage", model: "voyage-3"},
	} {
		got, err := none.of(name, 256)
		if err != nil || got.provider != want.provider || got.model != want.model || strings.Join(got.options, " ") != strings.Join(want.options, " ") {
			t.Fatalf("%s: %+v", name, got)
		}
	}
	if got, err := (embedderFlags{provider: "voyage"}).of("hashing-256", 256); err != nil || got.provider != "voyage" || len(got.options) > 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	if _, err := none.of("minishlab/potion-base-8M", 256); !isUsage(err) {
		t.Fatal(err)
	}
}
