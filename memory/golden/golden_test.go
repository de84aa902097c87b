package golden_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"headstart/memory"
	"headstart/memory/golden"
	"headstart/retrieval/embed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// scratch keeps facts as a store does, and tells what is left.
type scratch struct {
	held   map[string][]memory.Held // by contact
	broken error                    // of Current
	stuck  error                    // of Forget
	wrote  int
}

func (s *scratch) Current(ctx context.Context, _, contact string) ([]memory.Held, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return s.held[contact], s.broken
}

func (s *scratch) Write(_ context.Context, w memory.Writing) (bool, error) {
	if s.held == nil {
		s.held = map[string][]memory.Held{}
	}
	for _, c := range w.Changes {
		s.held[w.Contact] = append(s.held[w.Contact], c.Fact)
		s.wrote++
	}
	return true, nil
}

func (s *scratch) Forget(ctx context.Context, _, contact string) (int, error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	n := len(s.held[contact])
	delete(s.held, contact)
	return n, s.stuck
}

func questions(t *testing.T) []golden.Question {
	t.Helper()
	file, err := os.Open("../../testdata/memory/recall.json")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	all, err := golden.ReadQuestions(file)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestTheClinicsMemoryAnswers(t *testing.T) {
	t.Parallel()
	s := new(scratch)
	r := golden.Reader{Org: "default", Language: "es", Embedder: embed.Hashing(256), At: now}
	report, err := r.Ask(t.Context(), s, questions(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range report.Answers {
		if a.Rank == 0 {
			t.Errorf("%q: no %q in %q", a.Asks, a.Expects, a.Facts)
		}
	}
	if len(s.held) != 0 || s.wrote == 0 || report.Recall != 1 {
		t.Fatalf("recall %v, %d facts written, %d contacts left", report.Recall, s.wrote, len(s.held))
	}
	t.Logf("%d questions: recall %.3f, hit@1 %.3f, MRR %.3f", report.Questions, report.Recall, report.HitAt1, report.MRR)
}

func TestWhatIsNotHeldDoesNotAnswer(t *testing.T) {
	t.Parallel()
	r := golden.Reader{Language: "es", At: now}
	report, err := r.Ask(t.Context(), new(scratch), []golden.Question{
		{Holds: []golden.Hold{{Text: "Alérgica  a la PENICILINA"}}, Asks: "¿alergias o alérgica?", Expects: "alergica a la penicilina"},
		{Holds: []golden.Hold{{Text: "Prefiere las mañanas"}}, Asks: "¿tengo perro?", Expects: "perro"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if report.Answered != 1 || report.Answers[0].Rank != 1 || report.Recall != 0.5 || report.MRR != 0.5 {
		t.Fatalf("%+v", report)
	}
}

// The scratch contact goes whatever happens.
func TestScratchContactsAreAlwaysDeleted(t *testing.T) {
	t.Parallel()
	broken, gone := errors.New("disk full"), errors.New("interrupted")
	r := golden.Reader{Language: "es", At: now}
	s := &scratch{broken: broken}
	if _, err := r.Ask(t.Context(), s, questions(t)); !errors.Is(err, broken) || len(s.held) > 0 {
		t.Fatalf("%v, %d contacts left", err, len(s.held))
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	s = new(scratch)
	if _, err := r.Ask(ctx, s, questions(t)); !errors.Is(err, gone) || len(s.held) > 0 || s.wrote == 0 {
		t.Fatalf("%v, %d contacts left of %d facts", err, len(s.held), s.wrote)
	}
	s = &scratch{stuck: broken}
	if _, err := r.Ask(t.Context(), s, questions(t)); !errors.Is(err, broken) || !strings.Contains(err.Error(), "scratch:") {
		t.Fatalf("error %v names no contact that is left", err)
	}
}

func TestTheClinicsLessons(t *testing.T) {
	t.Parallel()
	file, err := os.Open("../../testdata/memory/lessons.json")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lessons, err := golden.ReadLessons(file)
	if err != nil {
		t.Fatal(err)
	}
	teacher := golden.Teacher{Language: "es", Tools: []string{"cancelar_cita"}, Prompt: "Eres la recepcionista de la Clínica Norte.", At: now}
	report, err := teacher.Teach(t.Context(), lessons)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range report.Results {
		if len(r.Missing)+len(r.Leaked) > 0 {
			t.Errorf("lesson %d: missing %q, leaked %q; kept %q, refused %v", i+1, r.Missing, r.Leaked, r.Kept, r.Refused)
		}
	}
	if report.Passed != report.Lessons || report.Recall != 1 || report.Safety != 1 {
		t.Fatalf("%d of %d lessons, recall %v, safety %v", report.Passed, report.Lessons, report.Recall, report.Safety)
	}
}

type model struct {
	answer string
	err    error
}

func (m model) Extract(context.Context, memory.Request) (memory.Answer, error) {
	return memory.Answer{Text: m.answer}, m.err
}

func TestTeachingWithAModel(t *testing.T) {
	t.Parallel()
	lessons := []golden.Lesson{{
		Turns:  []golden.Turn{{Text: "soy alérgica a la penicilina"}},
		Policy: memory.Policy{Remember: []string{"alergias"}}, Keeps: []string{"penicilina"}, Refuses: []string{"marisco"},
	}}
	if _, err := (golden.Teacher{Language: "es"}).Teach(t.Context(), lessons); !errors.Is(err, golden.ErrNoModel) {
		t.Fatalf("error %v", err)
	}
	broken := errors.New("503")
	if _, err := (golden.Teacher{Language: "es", Model: model{err: broken}}).Teach(t.Context(), lessons); !errors.Is(err, broken) {
		t.Fatalf("error %v", err)
	}
	report, err := (golden.Teacher{Language: "es", Model: model{answer: "no idea"}}).Teach(t.Context(), lessons)
	if err != nil || report.Kept != 0 || report.Refused != 1 || report.Passed != 0 {
		t.Fatalf("%+v, %v", report, err)
	}
	answer := `[{"op":"add","text":"Alérgica a la penicilina","category":"alergias","turn":1}]`
	report, err = (golden.Teacher{Language: "es", Model: model{answer: answer}}).Teach(t.Context(), lessons)
	if err != nil || report.Passed != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	if diff := cmp.Diff([]string{"Alérgica a la penicilina"}, report.Results[0].Kept); diff != "" {
		t.Fatal(diff)
	}
}

func TestGoldensAreReadStrictly(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "{}", "[]", `[{}]`, `[{"holds":["x"],"asks":"","expects":"x"}]`, `[{"holds":[" "],"asks":"a","expects":"x"}]`,
		`[{"holds":["x"],"ask":"a","expects":"x"}]`, `[{"holds":[3],"asks":"a","expects":"x"}]`,
	} {
		if _, err := golden.ReadQuestions(strings.NewReader(text)); !errors.Is(err, golden.ErrFormat) {
			t.Errorf("questions %s: %v", text, err)
		}
	}
	for _, text := range []string{
		"", "[]", `[{}]`, `[{"turns":["x"]}]`, `[{"turns":[{"who":"system","text":"x"}],"keeps":["x"]}]`, `[{"turns":["x"],"keep":["x"]}]`,
	} {
		if _, err := golden.ReadLessons(strings.NewReader(text)); !errors.Is(err, golden.ErrFormat) {
			t.Errorf("lessons %s: %v", text, err)
		}
	}
}
