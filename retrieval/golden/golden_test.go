package golden_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headstart/retrieval"
	"headstart/retrieval/calibrate"
	"headstart/retrieval/chunk"
	"headstart/retrieval/embed"
	"headstart/retrieval/golden"
)

func TestRead(t *testing.T) {
	t.Parallel()
	got, err := golden.Read(strings.NewReader("\ufeff" + ` [{"asks": "¿cuánto?", "expects": "Tarifas › Revisión"},
 {"expects": "", "asks": "¿quién ganó?", "before": ["a", "b"]}] `))
	want := []golden.Question{{Asks: "¿cuánto?", Expects: "Tarifas › Revisión"}, {Asks: "¿quién ganó?", Before: []string{"a", "b"}}}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Fatalf("%v (-want +got):\n%s", err, d)
	}
	if got[0].OffTopic() || !got[1].OffTopic() {
		t.Fatalf("%+v", got)
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	const good = `{"asks": "a", "expects": "b"}`
	cases := []struct {
		name, text string
		nth        int // of the question that is told; 0 is none
	}{
		{"nothing", "", 0},
		{"no list", good, 0},
		{"an empty list", "[]", 0},
		{"null", "null", 0},
		{"two lists", "[" + good + "][]", 0},
		{"cut short", "[" + good + `,{"asks": "a"`, 0},
		{"no question", "[" + good + `,7]`, 2},
		{"no asks", `[{"expects": "b"}]`, 1},
		{"asks without a word", "[" + good + "," + good + `,{"asks": " ¿? ", "expects": "b"}]`, 3},
		{"no expects", `[{"asks": "a"}]`, 1},
		{"expects null", `[{"asks": "a", "expects": null}]`, 1},
		{"a field that is misspelt", `[{"asks": "a", "expects": "b", "expect": "c"}]`, 1},
		{"a number", `[{"asks": 1, "expects": "b"}]`, 1},
	}
	for _, c := range cases {
		_, err := golden.Read(strings.NewReader(c.text))
		q, told := errors.AsType[golden.QuestionError](err)
		if err == nil || told != (c.nth > 0) || q.Nth != c.nth {
			t.Fatalf("%s: %v", c.name, err)
		}
	}
	many := "[" + strings.Repeat(good+",", golden.MostQuestions) + good + "]"
	for _, text := range []string{many, strings.Repeat(" ", golden.MostBytes+1)} {
		if _, err := golden.Read(strings.NewReader(text)); !errors.Is(err, golden.ErrTooLarge) {
			t.Fatal(err)
		}
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	cases := []struct {
		expects, path, heading string
		want                   bool
	}{
		{"Tarifas › Revisión", "a.md", "Tarifas › Revisión", true},
		{"  TARIFAS ›   revision ", "a.md", "Tarifas › Revisión", true},
		{"Tarifas\t›\nRevisión", "a.md", "Tarifas  › Revisión", true},
		{"tarifas > revision", "a.md", "Tarifas › Revisión", true},
		{"Tarifas>Revisión", "a.md", "Tarifas › Revisión", true},
		{"Niños", "a.md", "Ninos", true},
		{"Revisión", "a.md", "Tarifas › Revisión", false},
		{"Tarifas", "a.md", "Tarifas › Revisión", false},
		{"Tarifas › Revisión › Niños", "a.md", "Tarifas › Revisión", false},
		{"a.md", "a.md", "Tarifas", false},
		{"A.TXT", "a.txt", "", true},
		{"", "a.md", "", false},
		{"  ", "a.md", "", false},
	}
	for _, c := range cases {
		if got := (golden.Question{Expects: c.expects}).Answers(c.path, c.heading); got != c.want {
			t.Fatalf("%q answered by %q in %s: %v", c.expects, c.heading, c.path, got)
		}
	}
}

// scripted answers each question with passages under these headings.
type scripted map[string]struct {
	headings []string
	evidence retrieval.Evidence
}

func (s scripted) Search(_ context.Context, q retrieval.Query) (retrieval.Result, error) {
	a, ok := s[q.Text]
	if !ok || q.Org != "org" || len(q.Bases) != 1 || q.Bases[0].Base != "clinica" {
		return retrieval.Result{}, errors.New("not in the script")
	}
	r := retrieval.Result{Evidence: a.evidence}
	for i, h := range a.headings[:min(q.K, len(a.headings))] {
		r.Passages = append(r.Passages, retrieval.Passage{Path: "f.md", Heading: h, Score: 1 / float64(i+1)})
	}
	return r, nil
}

func TestEval(t *testing.T) {
	t.Parallel()
	twelve := strings.Split("abcdefghijkl", "")
	s := scripted{
		"first": {headings: []string{"A", "B"}}, "third": {headings: twelve}, "ninth": {headings: twelve},
		"eleventh": {headings: twelve}, "nothing": {}, "twice": {headings: []string{"b", "a", "a"}},
		"quiet": {headings: []string{"a"}, evidence: retrieval.EvidenceWeak}, "loud": {headings: []string{"a"}, evidence: retrieval.EvidenceStrong},
	}
	questions := []golden.Question{
		{Asks: "first", Expects: "a"}, {Asks: "third", Expects: "C"}, {Asks: "ninth", Expects: "i"}, {Asks: "eleventh", Expects: "k"},
		{Asks: "nothing", Expects: "z"}, {Asks: "twice", Expects: "a"}, {Asks: "quiet"}, {Asks: "loud"},
	}
	got, err := golden.Eval(t.Context(), s, golden.Evaluation{Org: "org", Base: "clinica"}, questions)
	if err != nil {
		t.Fatal(err)
	}
	// 1 + 1/log2(4) + 1/log2(10) + 0 + 0 + 1/log2(3), of six
	if math.Abs(got.NDCG10-0.405327) > 5e-7 || got.Recall != 0.5 {
		t.Fatalf("nDCG@10 %v, recall@8 %v", got.NDCG10, got.Recall)
	}
	came := []golden.Came{{"f.md", "a", 1}, {"f.md", "b", 0.5}, {"f.md", "c", 1.0 / 3}}
	want := golden.Report{
		Base: "clinica", Questions: 6, K: 8, Recall: got.Recall, NDCG10: got.NDCG10, OffTopic: 2,
		Misses: []golden.Miss{
			{Asks: "ninth", Expects: "i", At: 9, Came: came}, {Asks: "eleventh", Expects: "k", Came: came},
			{Asks: "nothing", Expects: "z", Came: []golden.Came{}},
		},
		Mistaken: []golden.Miss{{Asks: "loud", Came: came[:1]}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("(-want +got):\n%s", d)
	}
	got, err = golden.Eval(t.Context(), s, golden.Evaluation{Org: "org", Base: "clinica", K: 11}, questions)
	if err != nil || math.Abs(got.Recall-5.0/6) > 1e-12 || len(got.Misses) != 1 {
		t.Fatalf("with 11 passages %+v, %v", got, err)
	}
	got, err = golden.Eval(t.Context(), s, golden.Evaluation{Org: "org", Base: "clinica"}, questions[6:])
	if err != nil || got.Recall != 0 || got.NDCG10 != 0 || got.Questions != 0 {
		t.Fatalf("of off-topic questions alone %+v, %v", got, err)
	}
	if _, err := golden.Eval(t.Context(), s, golden.Evaluation{Org: "org", Base: "other"}, questions); err == nil || !strings.Contains(err.Error(), "first") {
		t.Fatal(err)
	}
}

// TestHalfASearchIsNoMeasure: a search whose vectors are missing fails the evaluation.
func TestHalfASearchIsNoMeasure(t *testing.T) {
	t.Parallel()
	late := errors.New("late")
	s := searching(func() (retrieval.Result, error) { return retrieval.Result{Degraded: late}, nil })
	if _, err := golden.Eval(t.Context(), s, golden.Evaluation{Org: "o", Base: "b"}, []golden.Question{{Asks: "a", Expects: "b"}}); !errors.Is(err, late) {
		t.Fatal(err)
	}
}

type searching func() (retrieval.Result, error)

func (s searching) Search(context.Context, retrieval.Query) (retrieval.Result, error) { return s() }

// TestReportKeys: lists are written as lists, also when they are empty.
func TestReportKeys(t *testing.T) {
	t.Parallel()
	r, err := golden.Eval(t.Context(), scripted{}, golden.Evaluation{Base: "b"}, nil)
	text, _ := json.Marshal(r)
	if err != nil || string(text) != `{"base":"b","questions":0,"k":8,"recall_at_k":0,"ndcg_at_10":0,"misses":[],"off_topic":0,"mistaken":[]}` {
		t.Fatalf("%s, %v", text, err)
	}
}

// clinic is the golden of the sample clinic, and a searcher of its documents.
func clinic(t *testing.T) (*retrieval.Segment, retrieval.Embedder, []golden.Question) {
	t.Helper()
	file, err := os.Open("../../testdata/golden/clinica-norte.json")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	questions, err := golden.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	e := embed.Hashing(512)
	seg, bad, err := retrieval.LoadFolder(t.Context(), "../../testdata/knowledge/clinica-norte", "clinica", "es", e, nil)
	if err != nil || len(bad) > 0 {
		t.Fatal(bad, err)
	}
	return seg, e, questions
}

// TestClinic holds what the sample clinic's documents answer. The questions are in
// callers' words and none is softened: those that are missed stay and show.
func TestClinic(t *testing.T) {
	t.Parallel()
	seg, e, questions := clinic(t)
	var lib retrieval.Library
	lib.Put("org", seg)
	r, err := golden.Eval(t.Context(), retrieval.NewSearcher(&lib, e), golden.Evaluation{Org: "org", Base: "clinica"}, questions)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d questions, recall@8 %.3f, nDCG@10 %.3f, %d misses", r.Questions, r.Recall, r.NDCG10, len(r.Misses))
	if r.Questions < 35 || r.Recall < 0.92 || r.NDCG10 < 0.80 || r.OffTopic < calibrate.MinOffTopic || len(r.Mistaken) > 0 {
		t.Fatalf("%+v", r)
	}
	f, err := calibrate.Fit(t.Context(), material(seg, e, questions))
	if err != nil || !f.Weighed || !f.Cut || f.All.Fitted < max(f.All.Words, f.All.Vectors)-1e-9 {
		t.Fatalf("%+v, %v", f, err)
	}
}

func material(seg *retrieval.Segment, e retrieval.Embedder, questions []golden.Question) calibrate.Material {
	m := calibrate.Material{Segment: seg, Embedder: e}
	m.Cases, m.OffTopic = golden.Material(questions)
	return m
}

// TestEveryExpectationIsThere: the golden names headings that the clinic has.
func TestEveryExpectationIsThere(t *testing.T) {
	t.Parallel()
	seg, e, questions := clinic(t)
	var lib retrieval.Library
	lib.Put("org", seg)
	all, err := retrieval.NewSearcher(&lib, e).Rank(t.Context(), retrieval.Ranking{
		Query: retrieval.Query{Org: "org", Text: "clínica", Bases: []retrieval.Attachment{{Base: "clinica"}}}, Depth: seg.Len(), Arm: retrieval.Vectors,
	})
	if err != nil || len(all.Chunks) != seg.Len() {
		t.Fatalf("%d of %d, %v", len(all.Chunks), seg.Len(), err)
	}
	for _, q := range questions {
		there := q.OffTopic()
		for _, c := range all.Chunks {
			there = there || q.Answers(c.Chunk.Path, c.Chunk.Heading)
		}
		if !there {
			t.Errorf("%q expects %q, which no document has", q.Asks, q.Expects)
		}
	}
}

func TestMaterial(t *testing.T) {
	t.Parallel()
	cases, off := golden.Material([]golden.Question{{Asks: "a", Expects: "B › C", Before: []string{"d"}}, {Asks: "e"}})
	if len(cases) != 1 || len(off) != 1 || off[0] != "e" || cases[0].Query.Text != "a" || cases[0].Query.Before[0] != "d" {
		t.Fatalf("%+v, %q", cases, off)
	}
	chunks := []retrieval.RankedChunk{{Chunk: chunk.Chunk{Heading: "B"}}, {Chunk: chunk.Chunk{Heading: "b › c"}}}
	if c := cases[0]; c.Right(chunks[0]) || !c.Right(chunks[1]) || math.Abs(c.Score(chunks)-0.630930) > 5e-7 || c.Score(chunks[:1]) != 0 {
		t.Fatalf("%v", c.Score(chunks))
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{`[{"asks": "a", "expects": "b"}]`, `[{"asks": "¿y?", "expects": "", "before": ["x"]}]`, "[]", "null", `[{"asks": "a", "expects": "É > ñ\u0301"}]`, "\ufeff[{}]", "[[[[", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		questions, err := golden.Read(strings.NewReader(text))
		if err != nil {
			if questions != nil {
				t.Fatalf("%q: %+v with %v", text, questions, err)
			}
			return
		}
		for _, q := range questions {
			if strings.TrimSpace(q.Asks) == "" {
				t.Fatalf("%q asks nothing", text)
			}
			if !q.OffTopic() && !q.Answers("", q.Expects) || q.OffTopic() && q.Answers("", q.Expects) {
				t.Fatalf("%q does not answer itself", q.Expects)
			}
		}
		again, err := json.Marshal(questions)
		if err != nil {
			t.Fatal(err)
		}
		reread, err := golden.Read(strings.NewReader(string(again)))
		if d := cmp.Diff(questions, reread); err != nil || d != "" {
			t.Fatalf("written and read again: %v\n%s", err, d)
		}
	})
}
