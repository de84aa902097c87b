package retrieval_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headstart/retrieval"
)

func TestSwap(t *testing.T) {
	t.Parallel()
	lib := library(t, "clinica", handbook, nil)
	s := retrieval.NewSearcher(lib, nil)
	put(t, lib, "clinica", "# Nueva\nLa revisión es gratuita.\n", nil)
	r, err := s.Search(t.Context(), ask("revisión cuesta"))
	if d := cmp.Diff([]string{"Nueva"}, headings(r)); d != "" || err != nil {
		t.Fatalf("%v %s", err, d)
	}
	if d := cmp.Diff([]string{"clinica"}, lib.Bases("org")); d != "" || len(lib.Bases("other")) != 0 {
		t.Fatal(d)
	}
	lib.Remove("org", "clinica")
	if _, err := s.Search(t.Context(), ask("revisión")); !errors.Is(err, retrieval.ErrNotReady{Base: "clinica"}) {
		t.Fatal(err)
	}
}
