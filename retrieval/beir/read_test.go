package beir_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headstart/retrieval/beir"
)

// collection writes the three files of a collection.
func collection(t *testing.T, corpus, queries, qrels string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "qrels"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{beir.CorpusFile: corpus, beir.QueriesFile: queries, beir.QrelsFile: qrels} {
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func documents(dir string) (list []beir.Document, err error) {
	for d, err := range beir.Documents(dir) {
		if err != nil {
			return list, err
		}
		list = append(list, d)
	}
	return list, nil
}

func queries(dir string) (list []beir.Query, err error) {
	for q, err := range beir.Queries(dir) {
		if err != nil {
			return list, err
		}
		list = append(list, q)
	}
	return list, nil
}

func TestReads(t *testing.T) {
	t.Parallel()
	dir := collection(t,
		"\ufeff"+`{"_id": "d1", "title": "Tarifas", "text": "Consulta: 60 €", "metadata": {"url": "x"}}`+"\r\n\r\n"+`{"_id": 2, "title": null, "text": ""}`+"\n",
		`{"_id": "q1", "text": "¿cuánto?"}
{"_id": "q2", "text": "¿y eso?", "history": [{"speaker": "user", "text": "a"}, {"speaker": "agent", "text": "b"}, {"role": "user", "content": "c"}, "d"]}`,
		"query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\t2\t0\n\nq2\td1\t1\r\n")
	docs, err := documents(dir)
	if d := cmp.Diff([]beir.Document{{ID: "d1", Title: "Tarifas", Text: "Consulta: 60 €"}, {ID: "2"}}, docs); d != "" || err != nil {
		t.Fatalf("%v (-want +got):\n%s", err, d)
	}
	asked, err := queries(dir)
	if err != nil || len(asked) != 2 || asked[0].Text != "¿cuánto?" || asked[0].Before() != nil {
		t.Fatalf("%+v, %v", asked, err)
	}
	if d := cmp.Diff([]string{"a", "c", "d"}, asked[1].Before()); d != "" {
		t.Fatalf("turns before (-want +got):\n%s", d)
	}
	judged, err := beir.ReadQrels(dir)
	if d := cmp.Diff(beir.Qrels{"q1": {"d1": 2, "2": 0}, "q2": {"d1": 1}}, judged); d != "" || err != nil {
		t.Fatalf("%v (-want +got):\n%s", err, d)
	}
}

// TestQrelsWithoutNames: the names of the columns may be left out.
func TestQrelsWithoutNames(t *testing.T) {
	t.Parallel()
	judged, err := beir.ReadQrels(collection(t, "", "", "q1\td1\t1"))
	if d := cmp.Diff(beir.Qrels{"q1": {"d1": 1}}, judged); d != "" || err != nil {
		t.Fatalf("%v (-want +got):\n%s", err, d)
	}
}

// TestComplaints: what is wrong is told with its file and line, and nothing after
// it is read.
func TestComplaints(t *testing.T) {
	t.Parallel()
	const good = `{"_id": "a", "text": "b"}` + "\n"
	cases := []struct {
		name, corpus, queries, qrels string
		want                         string // in the error
		is                           error
	}{
		{"no JSON", good + "{oops\n", "", "", "corpus.jsonl:2: ", nil},
		{"cut short", good + `{"_id": "c", "text": "`, "", "", "corpus.jsonl:2: ", nil},
		{"no id", good + "\n" + `{"text": "b"}`, "", "", "corpus.jsonl:3: ", beir.ErrNoID},
		{"an id that is a list", `{"_id": ["a"]}`, "", "", "corpus.jsonl:1: ", nil},
		{"an id twice", good + good, "", "", "corpus.jsonl:2: a: ", beir.ErrTwice},
		{"a question twice", "", good + good, "", "queries.jsonl:2: a: ", beir.ErrTwice},
		{"a question without text", "", `{"_id": "a"}`, "", "queries.jsonl:1: ", beir.ErrNoText},
		{"a turn of nobody", "", `{"_id": "a", "text": "b", "history": [{"text": "c"}]}`, "", "queries.jsonl:1: ", nil},
		{"two columns", "", "", "q\td\ts\nq1\td1\n", "qrels/test.tsv:2: ", beir.ErrNotThree},
		{"blanks for tabs", "", "", "q1 d1 1\n", "qrels/test.tsv:1: ", beir.ErrNotThree},
		{"no number", "", "", "q\td\ts\nq1\td1\tyes\n", "qrels/test.tsv:2: ", nil},
		{"half a point", "", "", "q\td\ts\nq1\td1\t0.5\n", "qrels/test.tsv:2: ", nil},
		{"judged twice", "", "", "q1\td1\t1\nq1\td1\t0\n", "qrels/test.tsv:2: query q1, document d1: ", beir.ErrTwice},
	}
	for _, c := range cases {
		dir := collection(t, c.corpus, c.queries, c.qrels)
		_, docs := documents(dir)
		_, asked := queries(dir)
		_, judged := beir.ReadQrels(dir)
		err := errors.Join(docs, asked, judged)
		if _, ok := errors.AsType[beir.LineError](err); !ok || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
			t.Fatalf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestMissingFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, docs := documents(dir)
	_, asked := queries(dir)
	_, judged := beir.ReadQrels(dir)
	for file, err := range map[string]error{beir.CorpusFile: docs, beir.QueriesFile: asked, "test.tsv": judged} {
		if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), file) {
			t.Fatalf("%s: %v", file, err)
		}
	}
}

func FuzzCorpus(f *testing.F) {
	for _, s := range []string{`{"_id": "a", "title": "b", "text": "c"}`, `{"_id": 1}`, "\ufeff\n\r\n", `{"_id": "a", "text": "b", "history": ["c", {"role": "user"}]}`, "q\td\t1", "\xff", "{}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		dir := collection(t, text, text, text)
		docs, err := documents(dir)
		asked, alsoErr := queries(dir)
		judged, judgedErr := beir.ReadQrels(dir)
		for _, err := range []error{err, alsoErr, judgedErr} {
			if _, ok := errors.AsType[beir.LineError](err); err != nil && !ok {
				t.Fatalf("%q: %v names no line", text, err)
			}
		}
		seen := map[string]bool{}
		for _, d := range docs {
			if d.ID == "" || seen[d.ID] {
				t.Fatalf("%q: %+v", text, docs)
			}
			seen[d.ID] = true
		}
		for _, q := range asked {
			if len(q.Before()) > len(q.History) {
				t.Fatalf("%q: %+v", text, q)
			}
		}
		for q, documents := range judged {
			if q == "" || len(documents) == 0 {
				t.Fatalf("%q: %v", text, judged)
			}
		}
	})
}
