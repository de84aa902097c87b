package memory_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"headstart/memory"
	"headstart/retrieval"
	"headstart/retrieval/embed"
)

var today = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func held(id, text string, age time.Duration) memory.Held {
	return memory.Held{Fact: memory.Fact{ID: id, Text: text, Source: "call-" + id, Since: today.Add(-age), Confidence: 0.9}}
}

const day = 24 * time.Hour

func index(t testing.TB, e retrieval.Embedder, facts ...memory.Held) *memory.Index {
	t.Helper()
	x, err := memory.NewIndex(memory.Reading{Language: "es", Embedder: e, At: today}, facts)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func recalled(t testing.TB, x *memory.Index, query string) []string {
	t.Helper()
	return recalledAfter(t, x, query)
}

// recalledAfter is recalled of a question that the caller asks after other turns.
func recalledAfter(t testing.TB, x *memory.Index, query string, before ...string) []string {
	t.Helper()
	r, err := x.Recall(t.Context(), memory.Query{Text: query, Before: before})
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{}
	for _, f := range r.Facts {
		ids = append(ids, f.ID)
	}
	return ids
}

func TestRecall(t *testing.T) {
	t.Parallel()
	closed := held("4", "Alérgica a la aspirina", day)
	closed.Until = today
	allergy := held("1", "No tolera la penicilina", 900*day)
	allergy.Category = "alergias"
	x := index(t, nil, allergy, held("2", "Prefiere las mañanas", 2*day), held("3", "Tiene un perro que se llama Bruno", day), closed)
	for _, tt := range []struct {
		query string
		want  []string
	}{
		{"¿cómo se llama mi perro?", []string{"3"}},
		{"¿cómo se llama mi PERRO?", []string{"3"}},
		{"por la manana", []string{}}, // ñ is a letter of its own
		{"alguna alergia", []string{"1"}},
		{"¿puedo tomar penicilina por las mañanas?", []string{"2", "1"}}, // the shorter of two,
		{"aspirina", []string{}},
		{"hola", []string{}},
		{"", []string{}},
	} {
		if diff := cmp.Diff(tt.want, recalled(t, x, tt.query)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.query, diff)
		}
	}
	if x.Len() != 3 {
		t.Errorf("%d facts, want the 3 that are current", x.Len())
	}
	r, err := x.Recall(t.Context(), memory.Query{Text: "perro"})
	if err != nil {
		t.Fatal(err)
	}
	want := []memory.Fact{{ID: "3", Text: "Tiene un perro que se llama Bruno", Source: "call-3", Since: today.Add(-day), Confidence: 0.9, Score: 1}}
	if diff := cmp.Diff(want, r.Facts); diff != "" {
		t.Fatalf("facts (-want +got):\n%s", diff)
	}
}

// Nobody's memory asks no embedder, and neither does one without vectors of it.
func TestRecallWithoutVectorsAsksNobody(t *testing.T) {
	t.Parallel()
	e := &countingEmbedder{Embedder: embed.Hashing(64)}
	other := held("1", "Tiene un perro", day)
	other.Model, other.Vector = "another model", make([]float32, 64)
	for _, facts := range [][]memory.Held{nil, {held("1", "Tiene un perro", day)}, {other}} {
		recalled(t, index(t, e, facts...), "el perro")
	}
	if e.asked != 0 {
		t.Fatalf("the embedder was asked %d times", e.asked)
	}
}

type countingEmbedder struct {
	retrieval.Embedder
	asked int
	err   error
	// largest is the most texts of one request, and breaksAt the request that fails; 0
	// is none.
	largest, breaksAt int
}

func (e *countingEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	e.asked++
	if e.err != nil {
		return nil, e.err
	}
	if e.largest > 0 && len(texts) > e.largest || e.asked == e.breaksAt {
		return nil, fmt.Errorf("request %d of %d texts is refused", e.asked, len(texts))
	}
	return e.Embedder.Embed(ctx, texts)
}

func TestRecallWithABrokenEmbedderAnswersByWords(t *testing.T) {
	t.Parallel()
	e := &countingEmbedder{Embedder: embed.Hashing(64)}
	dog := held("1", "Tiene un perro", day)
	if err := memory.Embed(t.Context(), e, []*memory.Held{&dog}); err != nil {
		t.Fatal(err)
	}
	e.err = errors.New("no route to host")
	x := index(t, e, dog)
	if diff := cmp.Diff([]string{"1"}, recalled(t, x, "perro")); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	ranked, err := x.Rank(t.Context(), memory.Query{Text: "perro"}, retrieval.Fused, 6)
	if err != nil || !errors.Is(ranked.Degraded, e.err) {
		t.Fatalf("degraded by %v, %v; want %v", ranked.Degraded, err, e.err)
	}
	gone := errors.New("caller hung up")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	if _, err := x.Recall(ctx, memory.Query{Text: "perro"}); !errors.Is(err, gone) {
		t.Fatalf("error %v, want its cause %v", err, gone)
	}
}

// However recent and sure the others are, no fact moves more than one place from
// where the fusion has it, and the same six are handed out.
func TestRecencyMovesAFactByOnePlaceAtMost(t *testing.T) {
	t.Parallel()
	e := embed.Hashing(64)
	words := []string{"perro", "gato", "alergia", "polen", "coche", "barco", "piso", "jardin", "lunes", "martes", "hija", "padre"}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 5))
		var aged, ageless []memory.Held
		for i := range 2 + r.IntN(40) {
			var text strings.Builder
			for range 1 + r.IntN(6) {
				text.WriteString(words[r.IntN(len(words))] + " ")
			}
			f := held(fmt.Sprintf("f%02d", i), text.String(), time.Duration(r.IntN(2000))*day)
			f.Confidence = r.Float64()
			if r.IntN(2) == 0 {
				if err := memory.Embed(t.Context(), e, []*memory.Held{&f}); err != nil {
					t.Fatal(err)
				}
			}
			aged = append(aged, f)
			f.Since, f.Confidence = time.Time{}, 0
			ageless = append(ageless, f)
		}
		query := words[r.IntN(len(words))] + " " + words[r.IntN(len(words))]
		got, plain := recalled(t, index(t, e, aged...), query), recalled(t, index(t, e, ageless...), query)
		if len(got) != len(plain) {
			t.Fatalf("seed %d: %v, without ages %v", seed, got, plain)
		}
		for at, id := range got {
			was := slices.Index(plain, id)
			if was < 0 || max(at-was, was-at) > 1 {
				t.Fatalf("seed %d: %s is at %d and was at %d: %v, without ages %v", seed, id, at, was, got, plain)
			}
		}
	}
}

// An allergy of years ago against any number of fresh facts that share a word less.
func TestFreshTriviaPushNoAllergyOut(t *testing.T) {
	t.Parallel()
	facts := []memory.Held{held("allergy", "Alérgica a la penicilina desde niña", 3000*day)}
	facts[0].Confidence = 0.5
	for i := range 400 {
		facts = append(facts, held(fmt.Sprintf("t%03d", i), fmt.Sprintf("Preguntó por el aparcamiento %d y la penicilina", i), 0))
	}
	if got := recalled(t, index(t, nil, facts...), "¿soy alérgica a la penicilina?"); got[0] != "allergy" {
		t.Fatalf("the allergy is not first: %v", got)
	}
}

// Between neighbours that are as good, the fresher and surer comes first.
func TestRecencyDecidesBetweenEquals(t *testing.T) {
	t.Parallel()
	e := embed.Hashing(64)
	old, fresh := held("a", "perro gato", 500*day), held("b", "perro gato", 0)
	if err := memory.Embed(t.Context(), e, []*memory.Held{&old, &fresh}); err != nil {
		t.Fatal(err)
	}
	// Ranks 1 and 2 differ by 1.6 % of the score, more than recency may add.
	if diff := cmp.Diff([]string{"a", "b"}, recalled(t, index(t, nil, old, fresh), "perro")); diff != "" {
		t.Fatalf("by words (-want +got):\n%s", diff)
	}
	// Each leads one branch: the fusion holds them for equal, and the id would decide.
	off, err := e.Embed(t.Context(), []string{"perro gato ave"})
	if err != nil {
		t.Fatal(err)
	}
	old.Vector = off[0]
	even := &retrieval.Calibration{Embedder: e.Name(), Dim: 64, Strong: 0.3, Weak: 0.1, WordsWeight: 1, VectorsWeight: 1}
	for _, tt := range []struct {
		age  time.Duration
		want []string
	}{{0, []string{"b", "a"}}, {500 * day, []string{"a", "b"}}} {
		fresh.Since = today.Add(-tt.age)
		x, err := memory.NewIndex(memory.Reading{Language: "es", Embedder: e, Calibration: even, At: today}, []memory.Held{old, fresh})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, recalled(t, x, "perro gato")); diff != "" {
			t.Fatalf("fused, of %v (-want +got):\n%s", tt.age, diff)
		}
	}
}

// A question that leans on what the caller said before recalls what both are about,
// and one that says all itself does not.
func TestARecallLeansOnTheTurnsBefore(t *testing.T) {
	t.Parallel()
	x := index(t, nil,
		held("1", "Su hijo Luis es alérgico al polen", day), held("2", "Su hija Eva tiene asma", day),
		held("3", "Tiene seguro de Sanitas", day), held("4", "Prefiere las citas por la mañana", day))
	for _, c := range []struct {
		query  string
		before []string
		want   []string
	}{
		{"¿y el otro?", nil, []string{}},
		{"¿y el otro?", []string{"¿qué alergia tiene mi hijo Luis?"}, []string{"1", "2"}},
		{"¿y el otro?", []string{"¿qué seguro tengo?", "buenas", "mi hijo Luis"}, []string{"1", "2"}}, // the last two count
		{"¿y Eva?", []string{"¿qué tenía mi hijo Luis?"}, []string{"2", "1"}},                         // what it says goes first
		{"¿y el otro?", []string{"600 123 456"}, []string{}},                                          // a number is no question
		{"quiero cambiar de seguro médico, compañía y sucursal", []string{"mi hijo Luis"}, []string{"3"}},
	} {
		if diff := cmp.Diff(c.want, recalledAfter(t, x, c.query, c.before...)); diff != "" {
			t.Errorf("%q after %q (-want +got):\n%s", c.query, c.before, diff)
		}
		r, err := x.Recall(t.Context(), memory.Query{Text: c.query, Before: c.before})
		if leant := len(c.before) > 0 && len(c.want) > 0 && c.want[0] != "3"; err != nil || r.Followed != leant {
			t.Errorf("%q after %q: followed %v, %v", c.query, c.before, r.Followed, err)
		}
	}
}

func BenchmarkRecall(b *testing.B) {
	e := embed.Hashing(384)
	for _, n := range []int{50, 500} {
		r := rand.New(rand.NewPCG(1, 2))
		facts := make([]memory.Held, n)
		for i := range facts {
			var text strings.Builder
			for range 12 {
				text.WriteString(fmt.Sprintf("palabra%d ", int(500*r.ExpFloat64()/5)))
			}
			facts[i] = held(fmt.Sprintf("f%03d", i), text.String(), time.Duration(i)*day)
			if err := memory.Embed(b.Context(), e, []*memory.Held{&facts[i]}); err != nil {
				b.Fatal(err)
			}
		}
		x := index(b, instant{e, facts[0].Vector}, facts...)
		alone := memory.Query{Text: "palabra1 palabra20 palabra300 palabra4"}
		follow := memory.Query{Text: alone.Text, Before: []string{"palabra2 palabra30 palabra7", "palabra3 palabra40"}}
		for _, c := range []struct {
			name string
			q    memory.Query
			arm  retrieval.Arm
		}{{"words", alone, retrieval.Words}, {"fused", alone, retrieval.Fused}, {"words-follow", follow, retrieval.Words}, {"fused-follow", follow, retrieval.Fused}} {
			b.Run(fmt.Sprintf("%s/%d", c.name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := x.Rank(b.Context(), c.q, c.arm, 30); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// instant is an embedder that has the question's vector already.
type instant struct {
	*embed.Hash
	vector []float32
}

func (i instant) EmbedQuery(context.Context, string) ([]float32, error) { return i.vector, nil }

// Many facts are embedded in requests that a provider takes, and all or none of
// them.
func TestFactsAreEmbeddedInBatches(t *testing.T) {
	t.Parallel()
	facts := make([]*memory.Held, 130)
	for i := range facts {
		f := held(fmt.Sprint(i), fmt.Sprint("perro ", i), day)
		facts[i] = &f
	}
	e := &countingEmbedder{Embedder: embed.Hashing(64), largest: 64}
	if err := memory.Embed(t.Context(), e, facts); err != nil || e.asked != 3 {
		t.Fatalf("%v after %d requests", err, e.asked)
	}
	late := &countingEmbedder{Embedder: embed.Hashing(32), largest: 64, breaksAt: 3}
	if err := memory.Embed(t.Context(), late, facts); err == nil || facts[0].Model != "hashing-64" || len(facts[0].Vector) != 64 {
		t.Fatalf("%v; the first is of %s", err, facts[0].Model)
	}
}
