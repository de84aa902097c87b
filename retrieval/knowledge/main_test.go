package knowledge_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"headstart/retrieval"
	"headstart/retrieval/embed"
	"headstart/retrieval/knowledge"
	"headstart/retrieval/knowledge/knowledgetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// counted is an embedder that counts what it is asked, and may fail.
type counted struct {
	retrieval.Embedder
	name  string
	calls []int // texts of each
	fail  func(call int) error
}

func newCounted(dim int) *counted {
	return &counted{Embedder: embed.Hashing(dim), name: fmt.Sprintf("counted-%d", dim)}
}

func (c *counted) Name() string { return c.name }

func (c *counted) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	c.calls = append(c.calls, len(texts))
	if c.fail != nil {
		if err := c.fail(len(c.calls)); err != nil {
			return nil, err
		}
	}
	return c.Embedder.Embed(ctx, texts)
}

// asked is how many texts it was asked for, and forgets it.
func (c *counted) asked() int {
	sum := 0
	for _, n := range c.calls {
		sum += n
	}
	c.calls = nil
	return sum
}

// desk is a store and an embedder, and what a test pushes with them.
type desk struct {
	t        *testing.T
	store    *knowledgetest.Store
	embedder *counted
}

func newDesk(t *testing.T) *desk {
	return &desk{t: t, store: &knowledgetest.Store{}, embedder: newCounted(32)}
}

func (d *desk) push() knowledge.Push {
	return knowledge.Push{Store: d.store, Org: "org", Base: "clinica", Embedder: d.embedder, Language: "es"}
}

// must pushes a folder.
func (d *desk) must(files fstest.MapFS, change ...func(*knowledge.Push)) knowledge.Report {
	d.t.Helper()
	p := d.push()
	for _, c := range change {
		c(&p)
	}
	r, err := p.Folder(d.t.Context(), files)
	if err != nil {
		d.t.Fatalf("push: %v", err)
	}
	return r
}

// holds is what the base holds: "path: text" a piece, in order.
func (d *desk) holds() []string {
	d.t.Helper()
	var all []string
	err := d.store.Read(d.t.Context(), "org", "clinica", func(b knowledge.Base, pieces iter.Seq2[knowledge.Piece, error]) error {
		for p, err := range pieces {
			if err != nil {
				return err
			}
			if len(p.Vector) != b.Dim {
				return fmt.Errorf("vector of %d dimensions", len(p.Vector))
			}
			all = append(all, p.Path+": "+strings.ReplaceAll(p.Text, "\n", " "))
		}
		return nil
	})
	if err != nil && !errors.Is(err, knowledge.ErrUnknownBase) {
		d.t.Fatalf("read base: %v", err)
	}
	return all
}

// folder is a folder of files given as path, text, path, text.
func folder(pairs ...string) fstest.MapFS {
	files := fstest.MapFS{}
	for pair := range slices.Chunk(pairs, 2) {
		files[pair[0]] = &fstest.MapFile{Data: []byte(pair[1])}
	}
	return files
}

// sections is a page of so many sections, one piece each.
func sections(name string, n int) string {
	var page strings.Builder
	for i := range n {
		fmt.Fprintf(&page, "# %s %d\n\nTexto %d de %s.\n\n", name, i, i, name)
	}
	return page.String()
}

func equal[V any](t *testing.T, what string, want, got V) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}
