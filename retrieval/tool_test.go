package retrieval_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headstart/retrieval"
)

func TestToolResult(t *testing.T) {
	t.Parallel()
	got := retrieval.ToolResult([]retrieval.Passage{
		{ID: "1", Base: "b", Path: "a.md", Heading: "A › B", Text: "x < \"y\" & z\n", Score: 1},
		{ID: "2", Path: "b.md", Text: "w", Score: 0.5},
	})
	want := `{"chunks":[{"path":"a.md","heading":"A › B","text":"x < \"y\" & z\n"},{"path":"b.md","heading":"","text":"w"}]}`
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Fatal(d)
	}
	if d := cmp.Diff(`{"chunks":[]}`, string(retrieval.ToolResult(nil))); d != "" {
		t.Fatal(d)
	}
}

func TestLimit(t *testing.T) {
	t.Parallel()
	passage := func(id string, words int) retrieval.Passage {
		return retrieval.Passage{ID: id, Text: strings.TrimSpace(strings.Repeat("w ", words))}
	}
	cases := []struct {
		name string
		in   []retrieval.Passage
		most int
		want string
	}{
		{"all fit", []retrieval.Passage{passage("a", 10), passage("b", 10)}, 26, "ab"},
		{"stops at the first that does not", []retrieval.Passage{passage("a", 10), passage("b", 15), passage("c", 1)}, 26, "a"},
		{"passes over what never could", []retrieval.Passage{passage("a", 100), passage("b", 10)}, 26, "b"},
		{"0 is the spoken limit", []retrieval.Passage{passage("a", 1800), passage("b", 40), passage("c", 10)}, 0, "ab"},
		{"none", nil, 10, ""},
	}
	for _, c := range cases {
		var got strings.Builder
		for _, p := range retrieval.Limit(c.in, c.most) {
			got.WriteString(p.ID)
		}
		if got.String() != c.want {
			t.Fatalf("%s: kept %q, want %q", c.name, got.String(), c.want)
		}
	}
}
