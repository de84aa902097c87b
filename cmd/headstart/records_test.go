package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// lookers look at records, change some or erase them; none may be the first to keep one.
var lookers = [][]string{
	{"log"}, {"log", "call-1"}, {"log", "call-1", "--follow"},
	{"docs", "list"}, {"docs", "list", "clinica"}, {"docs", "search", "¿qué?"}, {"docs", "status"}, {"docs", "rm", "clinica"},
	{"docs", "reembed", "clinica", "--embedder", "hashing"},
	{"docs", "eval", "--base", "clinica", "--golden", "../../testdata/golden/clinica-norte.json"}, {"docs", "calibrate", "--base", "clinica", "--golden", "../../testdata/golden/clinica-norte.json"},
	{"orgs", "list"}, {"memory", "audit"},
	{"contacts", "show", "ana"}, {"contacts", "correct", "ana", "f_1", "x"}, {"contacts", "delete-fact", "ana", "f_1"}, {"contacts", "forget", "ana"},
}

// To find nothing where nobody has kept anything would tell of nothing and mean
// another folder. It is not made either.
func TestAFolderWithoutRecordsIsRefused(t *testing.T) {
	t.Setenv("HEADSTART_DATABASE_URL", "")
	empty := t.TempDir()
	for _, data := range []string{filepath.Join(empty, "nowhere"), empty} {
		for _, args := range lookers {
			out, err := command(t, append(args, "--data", data)...)
			if _, ok := errors.AsType[usageError](err); !ok || !strings.Contains(err.Error(), "no records in "+data) || !strings.Contains(err.Error(), "--data") {
				t.Errorf("%v: %q, %v", args, out, err)
			}
		}
	}
	if left, err := os.ReadDir(empty); err != nil || len(left) > 0 {
		t.Errorf("the folder has %v, %v", left, err)
	}
}

// What is read in a PostgreSQL makes no folder here.
func TestReadingAPostgreSQLMakesNoFolder(t *testing.T) {
	data := filepath.Join(t.TempDir(), "nowhere")
	for _, args := range lookers {
		if slices.Contains(args, "forget") {
			continue // it may have words to erase here, and writes the ledger
		}
		_, _ = command(t, append(args, "--data", data, "--database", "postgres://nobody@127.0.0.1:1/none?sslmode=disable")...) // nobody answers
		if _, err := os.Stat(data); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("%v made the folder: %v", args, err)
		}
	}
}
