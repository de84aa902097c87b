package schema_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"headstart/store/schema"
)

// folder is one of migrations: each file holds its own name.
func folder(names ...string) fstest.MapFS {
	files := fstest.MapFS{"migrations/README": {}}
	for _, name := range names {
		files["migrations/"+name] = &fstest.MapFile{Data: []byte(name)}
	}
	return files
}

func TestList(t *testing.T) {
	t.Parallel()
	got, err := schema.List(folder("0002_facts.sql", "0001_calls.sql"))
	want := []schema.Migration{
		{1, "migrations/0001_calls.sql", "0001_calls", "0001_calls.sql"},
		{2, "migrations/0002_facts.sql", "0002_facts", "0002_facts.sql"},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Fatalf("%v (-want +got):\n%s", err, diff)
	}
}

func TestListRefuses(t *testing.T) {
	t.Parallel()
	for says, files := range map[string]fstest.MapFS{
		"0003_c.sql is not number 2": folder("0001_a.sql", "0003_c.sql"),
		"0001_b.sql is not number 2": folder("0001_a.sql", "0001_b.sql"),
		"a.sql is not number 1":      folder("a.sql"),
		"0002_b.sql is not number 1": folder("0002_b.sql"),
	} {
		if list, err := schema.List(files); err == nil || !strings.Contains(err.Error(), says) {
			t.Fatalf("%v, %v does not say %q", list, err, says)
		}
	}
}
