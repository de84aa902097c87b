package bench_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"headstart/retrieval"
	"headstart/retrieval/beir"
	"headstart/retrieval/bench"
	"headstart/retrieval/embed"
)

// near takes figures that were computed by hand to six places.
var near = cmpopts.EquateApprox(0, 5e-7)

// clinic is a collection that is small enough to rank by hand.
func clinic(t *testing.T) string {
	t.Helper()
	return write(t, map[string]string{
		beir.CorpusFile: `{"_id": "d1", "title": "Tarifas", "text": "La revisión anual cuesta 60 euros."}
{"_id": "d2", "title": "Horarios", "text": "Abrimos los sábados."}
{"_id": "d3", "title": "", "text": "La resonancia magnética tarda una hora."}
{"_id": "d4", "title": "", "text": " "}
`,
		beir.QueriesFile: `{"_id": "q1", "text": "¿Cuánto cuesta la revisión?"}
{"_id": "q2", "text": "sábados y resonancia magnética"}
{"_id": "q3", "text": "¿y eso cuánto tarda?", "history": [{"speaker": "user", "text": "la resonancia"}, {"speaker": "agent", "text": "revisión"}]}
{"_id": "q4", "text": "nobody judged this"}
{"_id": "q5", "text": "xilófono"}
`,
		beir.QrelsFile: "query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t1\nq3\td3\t1\nq5\td1\t1\nq9\td1\t1\n",
	})
}

func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "clinic")
	if err := os.MkdirAll(filepath.Join(dir, "qrels"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func open(t *testing.T, cfg bench.Config) *bench.Collection {
	t.Helper()
	c, err := bench.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func ask(t *testing.T, c *bench.Collection, w bench.Way) bench.Report {
	t.Helper()
	r, err := c.Ask(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestWords: d1 first, d2 second, d3 first, nothing found.
func TestWords(t *testing.T) {
	t.Parallel()
	c := open(t, bench.Config{Dir: clinic(t), Language: "es"})
	r := ask(t, c, bench.Way{Arm: retrieval.Words})
	want := bench.Report{
		Dataset: "clinic", Arm: "words", Store: "memory", Documents: 4, Queries: 4,
		NDCG10: 0.657732, Recall10: 0.75, Recall100: 0.75, MRR: 0.625, Followed: 1,
	}
	figures := cmpopts.IgnoreFields(bench.Report{}, "Search", "Embed", "Whole", "IndexSeconds", "IndexBytes", "Each", "Runs")
	if d := cmp.Diff(want, r, near, figures); d != "" {
		t.Fatalf("(-want +got):\n%s", d)
	}
	if r.Search.P50 <= 0 || r.Search.P50 > r.Search.P95 || r.Search.P95 > r.Search.P99 || r.Embed != (bench.Times{}) || r.Whole != r.Search || r.IndexSeconds <= 0 {
		t.Fatalf("times %+v", r)
	}
	if c.Unasked != 1 || len(r.Each) != 4 || len(r.Runs) != 4 || r.Each[3] != (beir.Scores{}) {
		t.Fatalf("%d unasked, %+v", c.Unasked, r.Each)
	}
}

// TestAlone: the last turn by itself finds nothing of what it points at.
func TestAlone(t *testing.T) {
	t.Parallel()
	c := open(t, bench.Config{Dir: clinic(t), Language: "es"})
	with, alone := ask(t, c, bench.Way{Arm: retrieval.Words}), ask(t, c, bench.Way{Arm: retrieval.Words, Alone: true})
	if with.Followed != 1 || alone.Followed != 0 || with.Runs[2][0].ID != "d3" || len(with.Runs[2]) != 1 {
		t.Fatalf("with the turns before %+v, alone %+v", with.Runs[2], alone.Runs[2])
	}
}

func TestHalvesAndLimits(t *testing.T) {
	t.Parallel()
	c := open(t, bench.Config{Dir: clinic(t), Language: "es"})
	got := map[bench.Half][]string{}
	for _, h := range []bench.Half{bench.All, bench.Odd, bench.Even} {
		for _, q := range h.Of(c.Questions) {
			got[h] = append(got[h], q.ID)
		}
	}
	want := map[bench.Half][]string{bench.All: {"q1", "q2", "q3", "q5"}, bench.Odd: {"q1", "q3"}, bench.Even: {"q2", "q5"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("(-want +got):\n%s", d)
	}
	if even := ask(t, c, bench.Way{Arm: retrieval.Words, Half: bench.Even}); even.Queries != 2 || even.MRR != 0.25 {
		t.Fatalf("%+v", even)
	}
	c = open(t, bench.Config{Dir: clinic(t), Language: "es", Limit: 2})
	if r := ask(t, c, bench.Way{Arm: retrieval.Words, Depth: 1}); r.Queries != 2 || len(r.Runs[1]) != 1 || c.Unasked != 1 {
		t.Fatalf("%d queries, %+v, %d unasked", r.Queries, r.Runs, c.Unasked)
	}
}

// TestArms: each names its embedder, and the vectors rank every document that has one.
func TestArms(t *testing.T) {
	t.Parallel()
	c := open(t, bench.Config{Dir: clinic(t), Language: "es", Embedder: embed.Hashing(64)})
	for arm, embedder := range map[retrieval.Arm]string{retrieval.Words: "", retrieval.Vectors: "hashing-64", retrieval.Fused: "hashing-64"} {
		r := ask(t, c, bench.Way{Arm: arm})
		if r.Embedder != embedder || r.Arm != string(arm) || (embedder != "") != (r.Embed.P99 > 0) {
			t.Fatalf("%s: %+v", arm, r)
		}
		if arm == retrieval.Vectors && len(r.Runs[0]) != 3 {
			t.Fatalf("vectors rank %+v", r.Runs[0])
		}
	}
}

// TestKeys: the object that is printed has these keys and no others.
func TestKeys(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(ask(t, open(t, bench.Config{Dir: clinic(t), Language: "es"}), bench.Way{Arm: retrieval.Words}))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	want := strings.Fields(`dataset arm store embedder documents queries ndcg_at_10 recall_at_10 recall_at_100 mrr search_ms embed_ms index_seconds index_bytes`)
	for _, key := range want {
		if _, ok := got[key]; !ok {
			t.Fatalf("no %s in %s", key, text)
		}
	}
	for _, key := range []string{"search_ms", "embed_ms"} {
		times, _ := got[key].(map[string]any)
		if len(times) != 3 || times["p50"] == nil || times["p95"] == nil || times["p99"] == nil {
			t.Fatalf("%s is %v", key, got[key])
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d keys, want %d: %s", len(got), len(want), text)
	}
}

func TestWrites(t *testing.T) {
	t.Parallel()
	c := open(t, bench.Config{Dir: clinic(t), Language: "es"})
	r := ask(t, c, bench.Way{Arm: retrieval.Words, Half: bench.Odd})
	var table, run bytes.Buffer
	if err := bench.Write(&table, c, []bench.Row{{Name: "words", Report: r}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"clinic: 4 documents", "nDCG@10", "1.0000"} {
		if !strings.Contains(table.String(), want) {
			t.Fatalf("no %q in\n%s", want, table.String())
		}
	}
	if err := bench.WriteRun(&run, bench.Odd.Of(c.Questions), r); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff("q1 Q0 d1 1 1 headstart\nq3 Q0 d3 1 1 headstart\n", run.String()); d != "" {
		t.Fatalf("(-want +got):\n%s", d)
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	ended, end := context.WithCancelCause(t.Context())
	end(broken)
	cases := []struct {
		name string
		ctx  context.Context
		cfg  bench.Config
		want string
	}{
		{"a line that is none", t.Context(), bench.Config{Dir: write(t, map[string]string{beir.CorpusFile: "{", beir.QueriesFile: `{"_id": "q", "text": "a"}`, beir.QrelsFile: "q\td\t1"})}, "corpus.jsonl:1"},
		{"nothing judged", t.Context(), bench.Config{Dir: write(t, map[string]string{beir.CorpusFile: "", beir.QueriesFile: `{"_id": "q", "text": "a"}`, beir.QrelsFile: "p\td\t1"})}, "no query"},
		{"no folder", t.Context(), bench.Config{Dir: filepath.Join(t.TempDir(), "none")}, "test.tsv"},
		{"an embedder that fails", ended, bench.Config{Dir: clinic(t), Embedder: embed.Hashing(64)}, "broken"},
	}
	for _, c := range cases {
		if _, err := bench.Open(c.ctx, c.cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Fatalf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// mute answers no question.
type mute struct{ *embed.Hash }

func (mute) EmbedQuery(context.Context, string) ([]float32, error) { return nil, errors.New("mute") }

// TestNoFiguresOfHalfASearch: words that answer alone are not told as both.
func TestNoFiguresOfHalfASearch(t *testing.T) {
	t.Parallel()
	c := open(t, bench.Config{Dir: clinic(t), Language: "es", Embedder: mute{embed.Hashing(64)}})
	for _, arm := range []retrieval.Arm{retrieval.Fused, retrieval.Vectors} {
		if _, err := c.Ask(t.Context(), bench.Way{Arm: arm}); err == nil || !strings.Contains(err.Error(), "q1") || !strings.Contains(err.Error(), "mute") {
			t.Fatalf("%s: %v", arm, err)
		}
	}
}
