package tokenizer_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"headstart/retrieval/embed/tokenizer"
)

func load(t testing.TB, name string) *tokenizer.Tokenizer {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	tok, err := tokenizer.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

type golden struct {
	Text   string
	IDs    []int
	Framed []int
}

// TestGolden holds the ids to those of another implementation: golden.json was
// written with Hugging Face's own tokenizers for JavaScript, version 0.2.0,
// from the tokenizer files beside it, whose vocabularies are made up.
func TestGolden(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("testdata", "golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	var files map[string][]golden
	if err := json.Unmarshal(text, &files); err != nil || len(files) != 5 {
		t.Fatalf("read %d files: %v", len(files), err)
	}
	for name, texts := range files {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tok := load(t, name)
			for _, g := range texts {
				ids := tok.Encode(g.Text)
				if d := cmp.Diff(g.IDs, ids, cmpopts.EquateEmpty()); d != "" {
					t.Errorf("%q (-want +got):\n%s", g.Text, d)
				}
				if d := cmp.Diff(g.Framed, tok.Frame(ids, 0), cmpopts.EquateEmpty()); d != "" {
					t.Errorf("framed %q (-want +got):\n%s", g.Text, d)
				}
			}
		})
	}
}
