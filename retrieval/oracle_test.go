package retrieval_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"headstart/retrieval"
	"headstart/retrieval/chunk"
)

// corpus makes chunks of few words, so that many tie, and vectors of few values.
// Each is a page of its own and has a word of its own, so that none is read with
// another or says the same.
type corpus struct {
	chunks []chunk.Chunk
	table  map[string][]float32
}

const vocabulary = 40

func randomWords(r *rand.Rand, most int) string {
	list := make([]string, 1+r.IntN(most))
	for i := range list {
		list[i] = fmt.Sprintf("palabra%c%c", 'a'+rune(r.IntN(vocabulary)%20), 'a'+rune(r.IntN(2)))
	}
	return strings.Join(list, " ")
}

func randomVector(r *rand.Rand) []float32 {
	v := make([]float32, 11) // no multiple of the unrolled eight
	for i := range v {
		v[i] = float32(r.IntN(5) - 2)
	}
	v[0] += 0.5 // never all zeros
	return v
}

func newCorpus(r *rand.Rand, n int) corpus {
	c := corpus{table: make(map[string][]float32)}
	for i := range n {
		own := fmt.Sprintf("p%c%c%c", 'a'+rune(i/26/26%26), 'a'+rune(i/26%26), 'a'+rune(i%26))
		p := chunk.Chunk{ID: fmt.Sprintf("%04d", r.IntN(1_000_000)), Path: own + ".md", Text: randomWords(r, 12) + " " + own}
		c.chunks = append(c.chunks, p)
		c.table[p.Text] = randomVector(r)
	}
	slices.SortFunc(c.chunks, func(a, b chunk.Chunk) int { return cmp.Compare(a.ID, b.ID) })
	c.chunks = slices.CompactFunc(c.chunks, func(a, b chunk.Chunk) bool { return a.ID == b.ID })
	r.Shuffle(len(c.chunks), func(i, j int) { c.chunks[i], c.chunks[j] = c.chunks[j], c.chunks[i] })
	return c
}

// embedder answers from the corpus's table, and with question for any other text.
func (c corpus) embedder(question []float32) retrieval.Embedder {
	return fake{"table", 11, 1, func(_ context.Context, texts []string) ([][]float32, error) {
		list := make([][]float32, len(texts))
		for i, t := range texts {
			if list[i] = c.table[t]; list[i] == nil {
				list[i] = question
			}
		}
		return list, nil
	}}
}

// scored is what the oracle computes, by the book and without a shortcut.
type scored struct {
	id    string
	score float64
}

func order(list []scored) {
	slices.SortFunc(list, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.id, b.id))
	})
}

func (c corpus) words(question string) []scored {
	n, df, total := float64(len(c.chunks)), map[string]float64{}, 0.0
	for _, p := range c.chunks {
		fields := strings.Fields(p.Text)
		total += float64(len(fields))
		slices.Sort(fields)
		for _, w := range slices.Compact(fields) {
			df[w]++
		}
	}
	var list []scored
	for _, p := range c.chunks {
		fields, score := strings.Fields(p.Text), 0.0
		for w := range strings.FieldsSeq(question) {
			tf := 0.0
			for _, f := range fields {
				if f == w {
					tf++
				}
			}
			idf := math.Log(1 + (n-df[w]+0.5)/(df[w]+0.5))
			score += idf * tf / (tf + 1.2*(1-0.75+0.75*float64(len(fields))/(total/n)))
		}
		if score > 0 {
			list = append(list, scored{p.ID, math.Round(score*1e9) / 1e9})
		}
	}
	order(list)
	return list
}

// near are the matches that the branch offers.
func (c corpus) near(question []float32) []scored {
	list := c.cosines(question)
	floor := max(retrieval.DefaultWeak, list[0].score*retrieval.VectorMargin)
	return slices.DeleteFunc(list, func(s scored) bool { return s.score < floor })
}

// cosines are those of all chunks.
func (c corpus) cosines(question []float32) []scored {
	var list []scored
	for _, p := range c.chunks {
		v := c.table[p.Text]
		var dot, a, b float64
		for i := range v {
			dot += float64(v[i]) * float64(question[i])
			a += float64(v[i]) * float64(v[i])
			b += float64(question[i]) * float64(question[i])
		}
		list = append(list, scored{p.ID, math.Round(dot/math.Sqrt(a*b)*1e5) / 1e5})
	}
	order(list)
	return list
}

func ids(r retrieval.Result) []string {
	list := []string{}
	for _, p := range r.Passages {
		list = append(list, p.ID)
	}
	return list
}

// TestAgainstSortEverything: the fast branches find what scoring and sorting
// everything finds. Where the oracle's scores tie but for rounding, either order
// is right, so scores are compared and not ids.
func TestAgainstSortEverything(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 2))
		c := newCorpus(r, 1+r.IntN(1500))
		asks, vector := randomWords(r, 5), randomVector(r)
		words := searchIDs(t, c, nil, asks)
		check(t, seed, "words", c.words(asks), words)
		vectors := searchIDs(t, c, c.embedder(vector), "nada de eso")
		check(t, seed, "vectors", c.near(vector), vectors)
	}
}

// searchIDs asks for all 30 candidates of a branch.
func searchIDs(t *testing.T, c corpus, e retrieval.Embedder, asks string) []string {
	t.Helper()
	seg, err := retrieval.Build(t.Context(), "b", "simple", c.chunks, e)
	if err != nil {
		t.Fatal(err)
	}
	var lib retrieval.Library
	lib.Put("org", seg)
	res, err := retrieval.NewSearcher(&lib, e).Search(t.Context(), ask(asks, retrieval.Attachment{Base: "b", K: 100}))
	if err != nil || res.Degraded != nil {
		t.Fatal(err, res.Degraded)
	}
	return ids(res)
}

func check(t *testing.T, seed uint64, name string, want []scored, got []string) {
	t.Helper()
	score := make(map[string]float64)
	for _, s := range want {
		score[s.id] = s.score
	}
	want = want[:min(len(want), retrieval.Pool)]
	if len(got) != len(want) {
		t.Fatalf("seed %d, %s: %d found, want %d", seed, name, len(got), len(want))
	}
	for i, id := range got {
		if math.Abs(score[id]-want[i].score) > 1e-4 {
			t.Fatalf("seed %d, %s: rank %d is %s with %v, want %+v", seed, name, i+1, id, score[id], want[i])
		}
	}
}

// TestOneBaseOrSeveral: the same chunks in one base or shared among several give
// the same answer, as long as no pool is full.
func TestOneBaseOrSeveral(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 3))
		c := newCorpus(r, 1+r.IntN(retrieval.Pool))
		asks, e := randomWords(r, 5), c.embedder(randomVector(r))
		var one, several retrieval.Library
		putChunks(t, &one, "all", c.chunks, e)
		parts := make([][]chunk.Chunk, 1+r.IntN(4))
		for _, p := range c.chunks {
			i := r.IntN(len(parts))
			parts[i] = append(parts[i], p)
		}
		var bases []retrieval.Attachment
		for i, part := range parts {
			name := fmt.Sprintf("part%d", i)
			putChunks(t, &several, name, part, e)
			bases = append(bases, retrieval.Attachment{Base: name, K: 50})
		}
		want, err := retrieval.NewSearcher(&one, e).Search(t.Context(), ask(asks, retrieval.Attachment{Base: "all", K: 50}))
		if err != nil {
			t.Fatal(err)
		}
		got, err := retrieval.NewSearcher(&several, e).Search(t.Context(), ask(asks, bases...))
		if err != nil {
			t.Fatal(err)
		}
		if d := gocmp.Diff(forgetBase(want), forgetBase(got)); d != "" {
			t.Fatalf("seed %d (-one +%d bases):\n%s", seed, len(parts), d)
		}
	}
}

// TestEveryHitTellsTheTruth: whichever branch a hit came by, and past what the
// branches offer, its cosine, its BM25 and both ranks are those of scoring and
// sorting everything.
func TestEveryHitTellsTheTruth(t *testing.T) {
	t.Parallel()
	past := 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 11))
		c := newCorpus(r, 1+r.IntN(400))
		vector, asks := randomVector(r), randomWords(r, 4)
		e := c.embedder(vector)
		var lib retrieval.Library
		putChunks(t, &lib, "b", c.chunks, e)
		q := ask(asks, retrieval.Attachment{Base: "b", K: 100})
		q.Ranks = true
		if seed%2 == 0 {
			q.Before = []string{randomWords(r, 4)}
		}
		res, err := retrieval.NewSearcher(&lib, e).Search(t.Context(), q)
		if err != nil || res.Degraded != nil || res.Followed != (seed%2 == 0) {
			t.Fatalf("seed %d: followed %v, degraded %v, %v", seed, res.Followed, res.Degraded, err)
		}
		words, near := c.words(asks), c.cosines(vector)
		q.Ranks = false
		brief, err := retrieval.NewSearcher(&lib, e).Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range res.Passages {
			h := p.Hits[0]
			if b := brief.Passages[i].Hits[0]; b.ID != h.ID || b.Cosine != h.Cosine || b.BM25 != h.BM25 || b.WordRank != 0 && b.WordRank != h.WordRank || b.VectorRank != 0 && b.VectorRank != h.VectorRank {
				t.Fatalf("seed %d: without ranks it is %+v, with them %+v", seed, b, h)
			}
			rightMark(t, seed, words, h.ID, h.BM25, h.WordRank)
			rightMark(t, seed, near, h.ID, h.Cosine, h.VectorRank)
			if h.VectorRank > retrieval.Pool {
				past++
			}
			if res.Followed {
				rightMark(t, seed, c.words(q.Before[0]+" "+asks), h.ID, h.Together.BM25, h.Together.WordRank)
				rightMark(t, seed, near, h.ID, h.Together.Cosine, h.Together.VectorRank)
			} else if h.Together != (retrieval.Marks{}) {
				t.Fatalf("seed %d: %+v of a question that was not asked", seed, h.Together)
			}
		}
	}
	if past == 0 {
		t.Fatal("no hit past the candidates of its branch: nothing was counted")
	}
}

// rightMark: ties but for rounding may stand in either order, so the score at the
// rank is compared and not the id.
func rightMark(t *testing.T, seed uint64, sorted []scored, id string, score float64, rank int) {
	t.Helper()
	at := slices.IndexFunc(sorted, func(s scored) bool { return s.id == id })
	switch {
	case at < 0 && score == 0 && rank == 0:
	case at < 0 || rank < 1 || rank > len(sorted):
		t.Fatalf("seed %d: %s at rank %d with %v, the oracle has it at %d", seed, id, rank, score, at+1)
	case math.Abs(sorted[at].score-score) > 1e-4 || math.Abs(sorted[rank-1].score-score) > 1e-4:
		t.Fatalf("seed %d: %s has %v at rank %d, want %v at %d", seed, id, score, rank, sorted[at].score, at+1)
	}
}

func putChunks(t testing.TB, lib *retrieval.Library, base string, chunks []chunk.Chunk, e retrieval.Embedder) {
	t.Helper()
	seg, err := retrieval.Build(t.Context(), base, "simple", chunks, e)
	if err != nil {
		t.Fatal(err)
	}
	lib.Put("org", seg)
}

func forgetBase(r retrieval.Result) retrieval.Result {
	r.EmbedTook = 0
	r.Passages = slices.Clone(r.Passages)
	for i := range r.Passages {
		r.Passages[i].Base = ""
	}
	return r
}

// TestCopies: a base that is attached twice, or that another base repeats, takes
// no second place.
func TestCopies(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(9, 9))
	c := newCorpus(r, 20)
	var lib retrieval.Library
	putChunks(t, &lib, "a", append(slices.Clone(c.chunks), c.chunks...), nil)
	putChunks(t, &lib, "b", c.chunks, nil)
	res, err := retrieval.NewSearcher(&lib, nil).Search(t.Context(), ask(randomWords(r, 6),
		retrieval.Attachment{Base: "a", K: 50}, retrieval.Attachment{Base: "b", K: 50}, retrieval.Attachment{Base: "a", K: 50}))
	if err != nil || len(res.Passages) == 0 {
		t.Fatal(err)
	}
	list := ids(res)
	slices.Sort(list)
	if n := len(slices.Compact(slices.Clone(list))); n != len(list) {
		t.Fatalf("%d passages, %d chunks", len(list), n)
	}
	for _, p := range res.Passages {
		if p.Base != "a" {
			t.Fatalf("%+v is not told of the base attached first", p)
		}
	}
}
