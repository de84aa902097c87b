package retrieval_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headstart/retrieval"
	"headstart/retrieval/chunk"
	"headstart/retrieval/embed"
)

// These are the faults that others' searches were reported for, each as what must be
// so instead.

// TestStatisticsAreOfTheBasesAsked: a word that is rare everywhere else and in every
// chunk here tells nothing here, whatever stands beside the base.
func TestStatisticsAreOfTheBasesAsked(t *testing.T) {
	t.Parallel()
	var here, elsewhere []string
	for i := range 20 {
		here = append(here, fmt.Sprintf("clinica %s %s", benchWord(i), strings.Repeat("relleno ", i)))
		elsewhere = append(elsewhere, "otra cosa "+benchWord(100+i))
	}
	here[19] = "resonancia " + here[19] // the longest, so that the universal word alone puts it last
	var alone, beside retrieval.Library
	putChunks(t, &alone, "b", pages("b", here...), nil)
	putChunks(t, &beside, "b", pages("b", here...), nil)
	putChunks(t, &beside, "other", pages("o", elsewhere...), nil)
	theirs, err := retrieval.Build(t.Context(), "b", "simple", pages("t", elsewhere...), nil)
	if err != nil {
		t.Fatal(err)
	}
	beside.Put("org2", theirs)
	q := ask("clinica resonancia", retrieval.Attachment{Base: "b", K: 30})
	want, err := retrieval.NewSearcher(&alone, nil).Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	got, err := retrieval.NewSearcher(&beside, nil).Search(t.Context(), q)
	if d := cmp.Diff(want, got); d != "" || err != nil || got.Passages[0].Hits[0].ID != "bt" {
		t.Fatalf("%v (-alone +beside others):\n%s", err, d)
	}
}

// TestEveryTenantGetsItsOwn: of whatever size a tenant is beside the others, it gets
// min(k, matching) of its own and nothing of theirs.
func TestEveryTenantGetsItsOwn(t *testing.T) {
	t.Parallel()
	e := embed.Hashing(64)
	var lib retrieval.Library
	sizes := []int{1, 3, 9, 10, 11, 40, 300}
	for i, n := range sizes {
		var texts []chunk.Chunk
		for j := range n {
			id := fmt.Sprintf("%d-%d", i, j)
			texts = append(texts, chunk.Chunk{ID: id, Path: id, Text: "parking " + benchWord(1000*i+j)})
		}
		seg, err := retrieval.Build(t.Context(), "b", "es", texts, e)
		if err != nil {
			t.Fatal(err)
		}
		lib.Put(fmt.Sprint("org", i), seg)
	}
	s := retrieval.NewSearcher(&lib, e)
	for i, n := range sizes {
		q := retrieval.Query{Org: fmt.Sprint("org", i), Text: "parking", Bases: []retrieval.Attachment{{Base: "b", K: 10}}}
		r, err := s.Search(t.Context(), q)
		if err != nil || len(r.Passages) != min(10, n) {
			t.Fatalf("tenant of %d: %d passages, %v", n, len(r.Passages), err)
		}
		for _, p := range r.Passages {
			if !strings.HasPrefix(p.ID, fmt.Sprint(i, "-")) {
				t.Fatalf("tenant %d was given %s", i, p.ID)
			}
		}
	}
}

// TestOffTopicIsNone: a question that shares only the words that every question has
// finds nothing, and is told to have no evidence.
func TestOffTopicIsNone(t *testing.T) {
	t.Parallel()
	e := embed.Hashing(512)
	s := retrieval.NewSearcher(library(t, "clinica", handbook, e), e)
	for _, asks := range []string{"¿qué es lo que hay de eso?", "¿Quién ganó el mundial?", "what is it that they have?"} {
		r, err := s.Search(t.Context(), ask(asks))
		if err != nil || len(r.Passages) > 0 || r.Evidence != retrieval.EvidenceNone {
			t.Fatalf("%q: %s, %v, %v", asks, r.Evidence, headings(r), err)
		}
	}
}

// accented puts an accent on vowels of a text, at random.
func accented(r *rand.Rand, text string) string {
	marked := map[rune]rune{'a': 'á', 'e': 'é', 'i': 'í', 'o': 'ó', 'u': 'ú'}
	return strings.Map(func(c rune) rune {
		if m, ok := marked[c]; ok && r.IntN(3) == 0 {
			return m
		}
		return c
	}, text)
}

// TestAccentsChangeNoRanking: accents on the question, on the documents or on both
// change neither what is found, nor its order, nor its scores.
func TestAccentsChangeNoRanking(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 51))
		language := []string{"es", "pt", "fr", "it", "en", "simple"}[r.IntN(6)]
		var bare, marked []chunk.Chunk
		for i := range 1 + r.IntN(60) {
			id, text := fmt.Sprintf("%03d", i), randomWords(r, 12)+" "+benchWord(r.IntN(9000))+"acion"
			bare = append(bare, chunk.Chunk{ID: id, Path: id, Text: text})
			marked = append(marked, chunk.Chunk{ID: id, Path: id, Text: accented(r, text)})
		}
		asks := randomWords(r, 4) + " " + benchWord(r.IntN(9000)) + "acion"
		var want retrieval.Result
		for i, texts := range [][]chunk.Chunk{bare, marked} {
			for j, question := range []string{asks, accented(r, asks), strings.ToUpper(accented(r, asks))} {
				seg, err := retrieval.Build(t.Context(), "b", language, texts, nil)
				if err != nil {
					t.Fatal(err)
				}
				var lib retrieval.Library
				lib.Put("org", seg)
				got, err := retrieval.NewSearcher(&lib, nil).Search(t.Context(), ask(question, retrieval.Attachment{Base: "b", K: 50}))
				if err != nil {
					t.Fatal(err)
				}
				for p := range got.Passages {
					got.Passages[p].Text = "" // its accents are the document's
				}
				if i+j == 0 {
					want = got
				} else if d := cmp.Diff(want, got); d != "" {
					t.Fatalf("seed %d, %s, documents %d, question %d (-bare +marked):\n%s", seed, language, i, j, d)
				}
			}
		}
	}
}

// TestFusedOrderIsMonotone: of two chunks of one base, the one that neither branch
// puts after the other is not after it, however its base and others are calibrated.
func TestFusedOrderIsMonotone(t *testing.T) {
	t.Parallel()
	compared := 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 52))
		c := newCorpus(r, 2+r.IntN(300))
		e := c.embedder(randomVector(r))
		var lib retrieval.Library
		cut := r.IntN(len(c.chunks))
		var bases []retrieval.Attachment
		for i, part := range [][]chunk.Chunk{c.chunks[:cut], c.chunks[cut:]} {
			name := fmt.Sprint("base", i)
			seg := built(t, name, part, e)
			model, dim := seg.Model()
			lib.Put("org", seg.Calibrated(&retrieval.Calibration{Embedder: model, Dim: dim, Strong: 0.8, Weak: r.Float64() / 2, WordsWeight: r.Float64(), VectorsWeight: r.Float64()}))
			bases = append(bases, retrieval.Attachment{Base: name})
		}
		ranked, err := retrieval.NewSearcher(&lib, e).Rank(t.Context(), retrieval.Ranking{Query: ask(randomWords(r, 5), bases...), Depth: 200})
		if err != nil {
			t.Fatal(err)
		}
		for i, a := range ranked.Chunks {
			for _, b := range ranked.Chunks[i+1:] {
				if a.Base == b.Base {
					compared++
				}
				if a.Base == b.Base && leads(b.Hit, a.Hit) {
					t.Fatalf("seed %d: %+v stands before %+v", seed, a.Hit, b.Hit)
				}
			}
		}
	}
	if compared == 0 {
		t.Fatal("nothing was compared")
	}
}

// leads tells whether a stands before b in a branch, and after it in none.
func leads(a, b retrieval.Hit) bool {
	before := func(x, y int) bool { return x > 0 && (y == 0 || x < y) }
	return (before(a.WordRank, b.WordRank) || before(a.VectorRank, b.VectorRank)) &&
		!before(b.WordRank, a.WordRank) && !before(b.VectorRank, a.VectorRank)
}

// TestADeletedFileIsNeverReturned: from the moment that a base without a file is put,
// no search returns it; every search sees one state whole.
func TestADeletedFileIsNeverReturned(t *testing.T) {
	t.Parallel()
	old := []string{"parking antiguo uno", "parking antiguo dos"}
	var lib retrieval.Library
	putChunks(t, &lib, "b", pages("old", old...), nil)
	fresh := built(t, "b", pages("new", "parking nuevo uno", "parking nuevo dos"), nil)
	s := retrieval.NewSearcher(&lib, nil)
	var searches sync.WaitGroup
	put := make(chan struct{})
	for range 4 {
		searches.Go(func() {
			for i := range 300 {
				gone := false
				select {
				case <-put:
					gone = true
				default:
				}
				r, err := s.Search(t.Context(), ask("parking", retrieval.Attachment{Base: "b"}))
				list := ids(r)
				slices.Sort(list)
				if got := strings.Join(list, " "); err != nil || got != "newa newb" && (gone || got != "olda oldb") {
					t.Errorf("search %d, deleted before it: %v: %s, %v", i, gone, got, err)
					return
				}
			}
		})
	}
	lib.Put("org", fresh)
	close(put)
	searches.Wait()
}
