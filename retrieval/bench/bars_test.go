package bench_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"headstart/retrieval"
	"headstart/retrieval/bench"
	"headstart/retrieval/embed/encodertest"
)

// beside is the folder of the judged collections, outside the tree.
func beside(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("HEADSTART_SHARED")
	switch {
	case dir == "" && os.Getenv("CI") == "true":
		t.Fatal("HEADSTART_SHARED is unset: the judged collections are needed in CI")
	case dir == "":
		t.Skip("HEADSTART_SHARED is unset: needs the collections of its data/beir")
	}
	return filepath.Join(dir, "data", "beir")
}

func shared(t *testing.T, name, language string) *bench.Collection {
	t.Helper()
	return open(t, bench.Config{Dir: filepath.Join(beside(t), name), Language: language})
}

// bar is the least that a figure may be.
type bar struct {
	name       string
	got, least float64
}

func hold(t *testing.T, bars ...bar) {
	t.Helper()
	for _, b := range bars {
		t.Logf("%s %.4f, at least %.4f", b.name, b.got, b.least)
		if b.got < b.least {
			t.Errorf("%s is %.4f, want %.4f at least", b.name, b.got, b.least)
		}
	}
}

// TestScientificClaims: the words alone do as well as the best published BM25.
func TestScientificClaims(t *testing.T) {
	t.Parallel()
	r := ask(t, shared(t, "scifact", "en"), bench.Way{Arm: retrieval.Words})
	hold(t, bar{"nDCG@10", r.NDCG10, 0.69}, bar{"recall@100", r.Recall100, 0.92})
}

// TestQuestionsOfReading: in English the words alone do as well as the best published
// BM25, and in Spanish better.
func TestQuestionsOfReading(t *testing.T) {
	t.Parallel()
	english := ask(t, shared(t, "xquad-en", "en"), bench.Way{Arm: retrieval.Words})
	spanish := shared(t, "xquad-es", "es")
	with := ask(t, spanish, bench.Way{Arm: retrieval.Words})
	hold(t, bar{"English nDCG@10", english.NDCG10, 0.9649}, bar{"Spanish nDCG@10", with.NDCG10, 0.9614})
	changed := 0
	for i, q := range spanish.Questions {
		if spanish.Questions[i].Text = plain(q.Text); spanish.Questions[i].Text != q.Text {
			changed++
		}
	}
	without := ask(t, spanish, bench.Way{Arm: retrieval.Words})
	if apart := math.Abs(with.NDCG10 - without.NDCG10); apart > 0.001 || changed < 1000 {
		t.Errorf("without the accents of %d questions %.4f, with them %.4f", changed, without.NDCG10, with.NDCG10)
	}
}

// plain takes the accents off, and leaves the tilde of ñ.
func plain(text string) string {
	return norm.NFC.String(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) && r != '\u0303' {
			return -1
		}
		return r
	}, norm.NFD.String(text)))
}

// TestConversations: the turns before a question find what it leaves open.
func TestConversations(t *testing.T) {
	t.Parallel()
	c := shared(t, "mtrag-un", "en")
	alone, with := ask(t, c, bench.Way{Arm: retrieval.Words, Alone: true}), ask(t, c, bench.Way{Arm: retrieval.Words})
	hold(t,
		bar{"last turn alone, nDCG@10", alone.NDCG10, 0.755}, bar{"with the turns before, nDCG@10", with.NDCG10, 0.79},
		bar{"what they gain", with.NDCG10 - alone.NDCG10, 0.03})
	if with.Followed == 0 || with.Followed == with.Queries {
		t.Errorf("%d of %d questions are searched with the turns before them", with.Followed, with.Queries)
	}
}

// TestCalibratedWithAnEncoder: fitted to the odd questions, the fusion is not below
// the better branch on the even ones, and above it on one collection at least. To
// embed the collections for the first time takes a core some three minutes.
func TestCalibratedWithAnEncoder(t *testing.T) {
	t.Parallel()
	within := beside(t)
	e := encodertest.Open(t)
	gained := false
	for _, name := range []string{"xquad-en", "mtrag-un"} {
		began := time.Now()
		c := open(t, bench.Config{Dir: filepath.Join(within, name), Language: "en", Embedder: e})
		t.Logf("%s: %d documents embedded in %s", name, c.Documents, time.Since(began).Round(time.Second))
		fitted, err := c.Calibrate(t.Context(), bench.Odd, bench.Way{Arm: retrieval.Fused})
		if err != nil {
			t.Fatal(err)
		}
		score := func(arm retrieval.Arm, cal *retrieval.Calibration) float64 {
			return ask(t, c, bench.Way{Arm: arm, Half: bench.Even, Calibration: cal}).NDCG10
		}
		fused, words, vectors := score(retrieval.Fused, &fitted.Calibration), score(retrieval.Words, nil), score(retrieval.Vectors, nil)
		t.Logf("%s: words %.4f, vectors %.4f, both %.4f with a share of the vectors of %.3f, after %s",
			name, words, vectors, fused, fitted.VectorsWeight, time.Since(began).Round(time.Second))
		hold(t, bar{name + ", fused and calibrated", fused, max(words, vectors) - 0.003})
		gained = gained || fused > max(words, vectors)
	}
	if !gained {
		t.Error("the fusion gains on neither collection")
	}
}
