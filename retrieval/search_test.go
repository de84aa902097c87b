package retrieval_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"headstart/retrieval"
	"headstart/retrieval/chunk"
	"headstart/retrieval/embed"
)

// fake is an embedder whose answers a test scripts.
type fake struct {
	name   string
	dim    int
	weight float64
	answer func(ctx context.Context, texts []string) ([][]float32, error)
}

func (f fake) Name() string    { return f.name }
func (f fake) Dim() int        { return f.dim }
func (f fake) Weight() float64 { return f.weight }
func (f fake) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return f.answer(ctx, texts)
}

const handbook = `# Clínica
Bienvenidos.
## Horarios
Abrimos de lunes a viernes a las ocho de la mañana.
## Tarifas
La revisión anual cuesta 60 euros.
## Respiración
Las pruebas de respiración duran media hora. Equipo AX-204.
`

// library holds one base made of Markdown.
func library(t testing.TB, base, text string, e retrieval.Embedder) *retrieval.Library {
	t.Helper()
	var lib retrieval.Library
	put(t, &lib, base, text, e)
	return &lib
}

func put(t testing.TB, lib *retrieval.Library, base, text string, e retrieval.Embedder) {
	t.Helper()
	s, err := retrieval.Build(t.Context(), base, "es", chunk.Split(base+".md", text), e)
	if err != nil {
		t.Fatal(err)
	}
	lib.Put("org", s)
}

func ask(text string, bases ...retrieval.Attachment) retrieval.Query {
	if bases == nil {
		bases = []retrieval.Attachment{{Base: "clinica"}}
	}
	return retrieval.Query{Org: "org", Text: text, Bases: bases}
}

func headings(r retrieval.Result) []string {
	list := []string{}
	for _, p := range r.Passages {
		list = append(list, p.Heading)
	}
	return list
}

func TestSearchFinds(t *testing.T) {
	t.Parallel()
	e := embed.Hashing(512)
	s := retrieval.NewSearcher(library(t, "clinica", handbook, e), e)
	cases := []struct{ asks, first string }{
		{"¿Cuánto cuesta una revisión?", "Clínica › Tarifas"},
		{"cuanto cuesta una revision", "Clínica › Tarifas"},
		{"respiraciones", "Clínica › Respiración"},
		{"el ax204", "Clínica › Respiración"},
		{"horario", "Clínica › Horarios"}, // stands in the heading path only
	}
	for _, c := range cases {
		t.Run(c.asks, func(t *testing.T) {
			t.Parallel()
			r, err := s.Search(t.Context(), ask(c.asks))
			if err != nil || len(r.Passages) == 0 {
				t.Fatalf("found %v, %v", r.Passages, err)
			}
			best := r.Passages[0]
			if best.Heading != c.first || best.Score != 1 || best.Base != "clinica" || best.Path != "clinica.md" || best.ID == "" {
				t.Fatalf("first is %+v", best)
			}
			if d := cmp.Diff([]retrieval.Branch{retrieval.Words, retrieval.Vectors}, r.Branches); d != "" || r.Degraded != nil {
				t.Fatalf("branches %s, degraded %v", d, r.Degraded)
			}
		})
	}
}

func TestSearchFindsNothing(t *testing.T) {
	t.Parallel()
	e := embed.Hashing(512)
	s := retrieval.NewSearcher(library(t, "clinica", handbook, e), e)
	for _, asks := range []string{"xilófono zurdo", "", "y de la"} {
		r, err := s.Search(t.Context(), ask(asks))
		if err != nil || len(r.Passages) != 0 || r.Evidence != retrieval.EvidenceNone || r.Degraded != nil {
			t.Fatalf("%q found %+v, %v", asks, r, err)
		}
	}
}

func TestSearchRefuses(t *testing.T) {
	t.Parallel()
	s := retrieval.NewSearcher(library(t, "clinica", handbook, nil), nil)
	if _, err := s.Search(t.Context(), retrieval.Query{Org: "org", Text: "x"}); !errors.Is(err, retrieval.ErrNoBase) {
		t.Fatalf("no base: %v", err)
	}
	_, err := s.Search(t.Context(), ask("x", retrieval.Attachment{Base: "clinica"}, retrieval.Attachment{Base: "otra"}))
	if want := (retrieval.ErrNotReady{Base: "otra"}); !errors.Is(err, want) {
		t.Fatalf("not ready: %v", err)
	}
	other := ask("revisión")
	other.Org = "org2"
	if _, err := s.Search(t.Context(), other); !errors.Is(err, retrieval.ErrNotReady{Base: "clinica"}) {
		t.Fatalf("another org read the base: %v", err)
	}
}

func TestWordsAloneWithoutAnEmbedder(t *testing.T) {
	t.Parallel()
	never := func(context.Context, []string) ([][]float32, error) { panic("asked") }
	lib := library(t, "clinica", handbook, embed.Hashing(64))
	for _, e := range []retrieval.Embedder{nil, fake{"hashing-64", 64, 0, never}} {
		r, err := retrieval.NewSearcher(lib, e).Search(t.Context(), ask("revisión"))
		if err != nil || r.Degraded != nil || len(r.Passages) == 0 {
			t.Fatalf("%+v, %v", r, err)
		}
		if d := cmp.Diff([]retrieval.Branch{retrieval.Words}, r.Branches); d != "" {
			t.Fatal(d)
		}
	}
}

// TestLateEmbedder measures what a search waits for an embedder that is late,
// whether or not it listens to its context.
func TestLateEmbedder(t *testing.T) {
	t.Parallel()
	hash := embed.Hashing(64)
	deaf := fake{"hashing-64", 64, 1, func(ctx context.Context, texts []string) ([][]float32, error) {
		time.Sleep(time.Second)
		return hash.Embed(context.WithoutCancel(ctx), texts)
	}}
	hungUp := errors.New("hung up")
	cases := []struct {
		name  string
		e     retrieval.Embedder
		cause error
		want  error
	}{
		{"budget spent", embed.Delayed(hash, time.Second), retrieval.ErrBudgetSpent, nil},
		{"budget spent, embedder deaf", deaf, retrieval.ErrBudgetSpent, nil},
		{"hung up", embed.Delayed(hash, time.Second), hungUp, hungUp},
		{"hung up, embedder deaf", deaf, hungUp, hungUp},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := retrieval.NewSearcher(library(t, "clinica", handbook, hash), c.e)
				ctx, cancel := context.WithTimeoutCause(t.Context(), 250*time.Millisecond, c.cause)
				defer cancel()
				began := time.Now()
				r, err := s.Search(ctx, ask("revisión"))
				waited := time.Since(began)
				time.Sleep(time.Second) // the deaf one ends by itself
				if waited != 250*time.Millisecond {
					t.Fatalf("waited %v", waited)
				}
				if c.want != nil {
					if !errors.Is(err, c.want) || len(r.Passages) != 0 {
						t.Fatalf("%+v, %v", r, err)
					}
					return
				}
				wordsAlone(t, r, err, "was late")
				if !errors.Is(r.Degraded, c.cause) || r.EmbedTook != 250*time.Millisecond {
					t.Fatalf("degraded %v after %v", r.Degraded, r.EmbedTook)
				}
			})
		})
	}
}

// TestAnswerInTheLastInstant: the vectors come with the deadline, in an order
// that nobody chooses. Either way the search answers, then, without an error.
func TestAnswerInTheLastInstant(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hash := embed.Hashing(64)
		s := retrieval.NewSearcher(library(t, "clinica", handbook, hash), embed.Delayed(hash, 250*time.Millisecond))
		for range 50 {
			ctx, cancel := context.WithTimeoutCause(t.Context(), 250*time.Millisecond, retrieval.ErrBudgetSpent)
			began := time.Now()
			r, err := s.Search(ctx, ask("revisión"))
			cancel()
			if waited := time.Since(began); err != nil || waited != 250*time.Millisecond || r.Passages[0].Heading != "Clínica › Tarifas" {
				t.Fatalf("after %v: %+v, %v", waited, r, err)
			}
			if (len(r.Branches) == 2) != (r.Degraded == nil) {
				t.Fatalf("branches %v, degraded %v", r.Branches, r.Degraded)
			}
		}
	})
}

func wordsAlone(t *testing.T, r retrieval.Result, err error, why string) {
	t.Helper()
	if err != nil || r.Degraded == nil || !strings.Contains(r.Degraded.Error(), why) {
		t.Fatalf("degraded %v, error %v; want %q", r.Degraded, err, why)
	}
	if len(r.Passages) == 0 || r.Passages[0].Heading != "Clínica › Tarifas" || r.Evidence != retrieval.EvidenceNone {
		t.Fatalf("the words found %+v", r)
	}
	if d := cmp.Diff([]retrieval.Branch{retrieval.Words}, r.Branches); d != "" {
		t.Fatal(d)
	}
}

func TestBrokenEmbedder(t *testing.T) {
	t.Parallel()
	gives := func(vs [][]float32, err error) func(context.Context, []string) ([][]float32, error) {
		return func(context.Context, []string) ([][]float32, error) { return vs, err }
	}
	nan := make([]float32, 64)
	nan[0] = float32(nanOf(0))
	cases := []struct {
		name string
		e    fake
		why  string
	}{
		{"fails", fake{"hashing-64", 64, 1, gives(nil, errors.New("quota"))}, "embed with hashing-64: quota"},
		{"panics", fake{"hashing-64", 64, 1, func(context.Context, []string) ([][]float32, error) { panic("boom") }}, "panic: boom"},
		{"wrong length", fake{"hashing-64", 64, 1, gives([][]float32{make([]float32, 32)}, nil)},
			"base clinica holds vectors of hashing-64 with 64 dimensions, the embedder hashing-64 gives 32"},
		{"another model", fake{"other", 64, 1, gives(nil, nil)},
			"base clinica holds vectors of hashing-64 with 64 dimensions, the embedder other gives 64"},
		{"no vector", fake{"hashing-64", 64, 1, gives(nil, nil)}, "0 vectors for one text"},
		{"not a number", fake{"hashing-64", 64, 1, gives([][]float32{nan}, nil)}, "not finite"},
	}
	lib := library(t, "clinica", handbook, embed.Hashing(64))
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, err := retrieval.NewSearcher(lib, c.e).Search(t.Context(), ask("revisión"))
			wordsAlone(t, r, err, c.why)
		})
	}
}

func nanOf(zero float64) float64 { return zero / zero }

func TestEndedBeforeItBegan(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(retrieval.ErrBudgetSpent)
	_, err := retrieval.NewSearcher(library(t, "clinica", handbook, nil), nil).Search(ctx, ask("revisión"))
	if !errors.Is(err, retrieval.ErrBudgetSpent) {
		t.Fatal(err)
	}
}

func TestEvidence(t *testing.T) {
	t.Parallel()
	// Two chunks with vectors (1,0) and (0,1); the question's is at a chosen cosine to the first.
	at := func(x, y float32) fake {
		return fake{"plane", 2, 1, func(_ context.Context, texts []string) ([][]float32, error) {
			if len(texts) == 2 {
				return [][]float32{{1, 0}, {0, -1}}, nil
			}
			return [][]float32{{x, y}}, nil
		}}
	}
	lib := library(t, "clinica", "# A\nuno\n# B\ndos\n", at(0, 0))
	cases := []struct {
		x, y   float32
		want   retrieval.Evidence
		found  []string
		cosine float64
	}{
		{0.6, 0.8, retrieval.EvidenceStrong, []string{"A"}, 0.6},
		{0.28, 0.96, retrieval.EvidenceNone, []string{}, 0.28}, // below the lower cut-off: no candidate
		{0.352, 0.936, retrieval.EvidenceWeak, []string{"A"}, 0.352},
	}
	for _, c := range cases {
		r, err := retrieval.NewSearcher(lib, at(c.x, c.y)).Search(t.Context(), ask("otra cosa"))
		if err != nil || r.Evidence != c.want || r.Cosine < c.cosine-1e-3 || r.Cosine > c.cosine+1e-3 {
			t.Fatalf("%+v, %v; want %s at %v", r, err, c.want, c.cosine)
		}
		if d := cmp.Diff(c.found, headings(r)); d != "" {
			t.Fatal(d)
		}
	}
}

// asker tells questions from documents.
type asker struct{ fake }

func (a asker) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	return []float32{0, 1}, ctx.Err()
}

func TestSearchAsksAQuestionAsOne(t *testing.T) {
	t.Parallel()
	document := func(_ context.Context, texts []string) ([][]float32, error) {
		vectors := make([][]float32, len(texts))
		for i := range texts {
			vectors[i] = []float32{1, 0}
		}
		return vectors, nil
	}
	plain := fake{name: "m", dim: 2, weight: 1, answer: document}
	for _, tt := range []struct {
		name   string
		e      retrieval.Embedder
		cosine float64
	}{{"as a document", plain, 1}, {"as a question", asker{plain}, 0}, {"late, as a question", embed.Delayed(asker{plain}, time.Millisecond), 0}} {
		r, err := retrieval.NewSearcher(library(t, "clinica", handbook, tt.e), tt.e).Search(t.Context(), ask("horario"))
		if err != nil || r.Degraded != nil || r.Cosine != tt.cosine {
			t.Fatalf("%s: cosine %v, degraded %v, %v", tt.name, r.Cosine, r.Degraded, err)
		}
	}
}
