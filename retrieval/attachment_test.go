package retrieval_test

import (
	"fmt"
	"testing"

	"headstart/retrieval"
	"headstart/retrieval/chunk"
)

func TestAttachments(t *testing.T) {
	t.Parallel()
	lib := library(t, "clinica", handbook, nil)
	var notes []chunk.Chunk
	for i := range 20 { // a page each
		notes = append(notes, chunk.Split(fmt.Sprintf("blog/%d.md", i), fmt.Sprintf("# Nota\nHablamos de la revisión %d.\n", i))...)
	}
	blog, err := retrieval.Build(t.Context(), "blog", "es", notes, nil)
	if err != nil {
		t.Fatal(err)
	}
	lib.Put("org", blog)
	s := retrieval.NewSearcher(lib, nil)
	all, err := s.Search(t.Context(), ask("revisión", retrieval.Attachment{Base: "clinica", K: 3}, retrieval.Attachment{Base: "blog", K: 12}))
	if err != nil || len(all.Passages) != 12 {
		t.Fatalf("%d passages, %v: K is the most generous", len(all.Passages), err)
	}
	floor, err := s.Search(t.Context(), ask("revisión", retrieval.Attachment{Base: "clinica"}, retrieval.Attachment{Base: "blog", MinScore: 0.99}, retrieval.Attachment{Base: "clinica"}))
	if err != nil {
		t.Fatal(err)
	}
	fromBlog := 0
	for _, p := range floor.Passages {
		if p.Base == "blog" && p.Score < 0.99 {
			t.Fatalf("%+v is under the floor of its base", p)
		}
		if p.Base == "blog" {
			fromBlog++
		}
	}
	if fromBlog != 1 || len(floor.Passages) != 2 {
		t.Fatalf("%d of the blog in %v", fromBlog, headings(floor))
	}
}
