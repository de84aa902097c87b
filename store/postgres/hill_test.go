package postgres_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"headstart/retrieval"
	"headstart/retrieval/analyse"
	"headstart/retrieval/chunk"
	"headstart/retrieval/knowledge"
	"headstart/store/postgres"
)

const (
	tenant = "default"
	model  = "test-model"
	dim    = 16 // enough to have clusters in, and soon indexed
)

// hill makes unit vectors that lie in clusters, as those of texts do.
type hill struct {
	random  *rand.Rand
	centres [][]float32
}

func newHill(seed uint64, clusters int) *hill {
	h := &hill{random: rand.New(rand.NewPCG(seed, seed))}
	for range clusters {
		h.centres = append(h.centres, h.around(make([]float32, dim), 1))
	}
	return h
}

func (h *hill) vector() []float32 {
	return h.around(h.centres[h.random.IntN(len(h.centres))], 0.6/math.Sqrt(dim))
}

func (h *hill) around(centre []float32, spread float64) []float32 {
	v, square := make([]float32, len(centre)), 0.0
	for i := range v {
		v[i] = centre[i] + float32(h.random.NormFloat64()*spread)
		square += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(square))
	}
	return v
}

// text is a few words of a vocabulary in which some are common and most are rare.
func (h *hill) text(words int) string {
	var b strings.Builder
	for range words {
		fmt.Fprintf(&b, "palabra%d ", int(math.Pow(h.random.Float64(), 3)*2000))
	}
	return b.String()
}

// fill makes a base of so many pieces, a thousand a file at most, and indexes it.
func fill(t testing.TB, db *postgres.DB, org, name string, pieces int, h *hill) {
	t.Helper()
	if _, err := db.Make(t.Context(), knowledge.Base{Org: org, Name: name, Model: model, Dim: dim}); err != nil {
		t.Fatalf("make base: %v", err)
	}
	refill(t, db, org, name, pieces, h)
	if err := db.Index(t.Context(), org, name); err != nil {
		t.Fatalf("index base: %v", err)
	}
}

// refill puts other pieces in the place of those of a base.
func refill(t testing.TB, db *postgres.DB, org, name string, pieces int, h *hill) {
	t.Helper()
	for from := 0; from < pieces; from += 1000 {
		c := knowledge.Cut{File: knowledge.File{Path: fmt.Sprintf("%06d.md", from)}}
		for i := from; i < min(from+1000, pieces); i++ {
			c.Pieces = append(c.Pieces, knowledge.Piece{
				Chunk:  chunk.Chunk{ID: fmt.Sprintf("%s-%06d", name, i), Path: c.Path, Text: h.text(10), Seq: i - from, Section: i},
				Vector: h.vector(),
			})
		}
		if _, err := db.Replace(t.Context(), org, name, knowledge.Change{Model: model, Dim: dim, Put: []knowledge.Cut{c}}); err != nil {
			t.Fatalf("fill base: %v", err)
		}
	}
}

func search(t testing.TB, db *postgres.DB, q retrieval.LargeQuery) []retrieval.LargeHit {
	t.Helper()
	hits, err := db.SearchLarge(t.Context(), q)
	if err != nil {
		t.Fatalf("search: %v", err)
	}
	return hits
}

func both(org, base string, vector []float32, k int, terms ...string) retrieval.LargeQuery {
	return retrieval.LargeQuery{Org: org, Base: base, Terms: terms, Vector: vector, Weak: -1, WordsWeight: 1, VectorsWeight: 1, K: k}
}

// piecesOf is a file under two headings, a piece a text.
func piecesOf(path string, vectors [][]float32, texts ...string) knowledge.Cut {
	c := knowledge.Cut{File: knowledge.File{Path: path}}
	for i, text := range texts {
		c.Pieces = append(c.Pieces, knowledge.Piece{
			Chunk:  chunk.Chunk{ID: fmt.Sprintf("%s#%d", path, i), Path: path, Heading: "Tarifas", Text: text, Seq: i, Section: i / 4, Glue: "\n\n"},
			Vector: vectors[i],
		})
	}
	return c
}

// small is a base whose ranking can be counted on the fingers.
func small(t *testing.T, db *postgres.DB) {
	t.Helper()
	if _, err := db.Make(t.Context(), knowledge.Base{Org: tenant, Name: "clinica", Language: "es", Model: model, Dim: 2}); err != nil {
		t.Fatalf("make: %v", err)
	}
	put(t, db, piecesOf("a.md", [][]float32{{1, 0}, {0.8, 0.6}, {0, 1}, {0.6, 0.8}, {-1, 0}, {0, 0}},
		"La resonancia cuesta 320 euros.", "La radiografía cuesta 40 euros.", "Horario de tardes.", "Aparcamiento AX-204.", "Otra cosa.", "Sin vector."))
	if err := db.Index(t.Context(), tenant, "clinica"); err != nil {
		t.Fatalf("index: %v", err)
	}
}

func put(t *testing.T, db *postgres.DB, cuts ...knowledge.Cut) {
	t.Helper()
	if _, err := db.Replace(t.Context(), tenant, "clinica", knowledge.Change{Model: model, Dim: 2, Put: cuts}); err != nil {
		t.Fatalf("put: %v", err)
	}
}

func ids(hits []retrieval.LargeHit) []string {
	list := []string{}
	for _, h := range hits {
		list = append(list, h.Chunk.ID)
	}
	return list
}

var spanish = analyse.New("es")
