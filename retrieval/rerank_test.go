package retrieval_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"headstart/retrieval"
)

// judge is a reranker that a test scripts, and what it was asked.
type judge struct {
	took   time.Duration
	deaf   bool // it does not listen to its context
	err    error
	scores func(text string) float64
	asked  [][]string
}

func (j *judge) Rerank(ctx context.Context, question string, texts []string) ([]float64, error) {
	j.asked = append(j.asked, append([]string{question}, texts...))
	if j.deaf {
		time.Sleep(j.took)
	} else if j.took > 0 {
		select {
		case <-time.After(j.took):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	list := make([]float64, len(texts))
	for i, t := range texts {
		if j.scores != nil {
			list[i] = j.scores(t)
		}
	}
	return list, j.err
}

// parking is twenty pages that the words rank alike, in the order of their ids.
func parking(t *testing.T) *retrieval.Library {
	t.Helper()
	var texts []string
	for i := range 20 {
		texts = append(texts, "parking "+benchWord(1000+i))
	}
	var lib retrieval.Library
	putChunks(t, &lib, "b", pages("b", texts...), nil)
	return &lib
}

func written(k int) retrieval.Query {
	q := ask("parking", retrieval.Attachment{Base: "b", K: k})
	q.Written = true
	return q
}

// TestRerankBeforeTheCut: what stands below the fused cut comes up, which is what a
// reranker is for.
func TestRerankBeforeTheCut(t *testing.T) {
	t.Parallel()
	last := benchWord(1019)
	j := &judge{scores: func(text string) float64 {
		if strings.Contains(text, last) {
			return 0.9
		}
		return 0.1
	}}
	s, err := retrieval.NewSearcher(parking(t), nil).WithReranker(j, retrieval.Reranking{Pool: 20, K: 3})
	if err != nil {
		t.Fatal(err)
	}
	q := written(3)
	q.Ranks = true
	r, err := s.Search(t.Context(), q)
	if err != nil || r.Unranked != nil {
		t.Fatal(err, r.Unranked)
	}
	if d := cmp.Diff([]string{"bt", "ba", "bb"}, ids(r)); d != "" {
		t.Fatalf("(-want +got):\n%s", d)
	}
	if h := r.Passages[0].Hits[0]; h.Reranked != 1 || h.Relevance != 0.9 || h.WordRank != 20 || h.Fused != 20 {
		t.Fatalf("first hit %+v", h)
	}
	if len(j.asked) != 1 || len(j.asked[0]) != 21 || j.asked[0][0] != "parking" {
		t.Fatalf("asked %v", j.asked)
	}
}

// TestRerankPool: what is past the pool stays behind it, as it was fused.
func TestRerankPool(t *testing.T) {
	t.Parallel()
	j := &judge{scores: func(text string) float64 { return -float64(strings.Index(text, "zzz")) }} // all tie
	s, err := retrieval.NewSearcher(parking(t), nil).WithReranker(j, retrieval.Reranking{Pool: 5, K: 3})
	if err != nil {
		t.Fatal(err)
	}
	q := written(3)
	q.K = 4
	r, err := s.Search(t.Context(), q)
	if err != nil || len(j.asked[0]) != 6 {
		t.Fatal(err, j.asked)
	}
	if d := cmp.Diff([]string{"ba", "bb", "bc", "bd"}, ids(r)); d != "" {
		t.Fatalf("ties (-want +got):\n%s", d)
	}
	q.K = 5 // as many as are judged: nothing could come up
	r, err = s.Search(t.Context(), q)
	if want := (retrieval.ErrPool{Pool: 5, K: 5}); err != nil || !errors.Is(r.Unranked, want) || len(j.asked) != 1 || len(r.Passages) != 5 {
		t.Fatalf("%v, unranked %v, asked %d times", err, r.Unranked, len(j.asked))
	}
}

func TestRerankRefusesASmallPool(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		how  retrieval.Reranking
		want error
	}{
		{retrieval.Reranking{}, nil},
		{retrieval.Reranking{Pool: 8}, retrieval.ErrPool{Pool: 8, K: 8}},
		{retrieval.Reranking{K: 30}, retrieval.ErrPool{Pool: 30, K: 30}},
		{retrieval.Reranking{Pool: 20, K: 19}, nil},
	} {
		_, err := retrieval.NewSearcher(&retrieval.Library{}, nil).WithReranker(&judge{}, c.how)
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Fatalf("%+v: %v, want %v", c.how, err, c.want)
		}
		if err != nil && !strings.Contains(err.Error(), "no larger than") {
			t.Fatalf("the reason is missing: %v", err)
		}
	}
}

// TestTheFusedOrderStands: a reranker that is late, deaf, broken or wrong costs its
// deadline at most and changes nothing; on a spoken channel it is not asked.
func TestTheFusedOrderStands(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		judge  judge
		spoken bool
		waited time.Duration
		asked  bool
	}{
		{"late", judge{took: time.Minute}, false, time.Second, true},
		{"deaf", judge{took: 3 * time.Second, deaf: true}, false, time.Second, true},
		{"broken", judge{err: errors.New("down"), took: 30 * time.Millisecond}, false, 30 * time.Millisecond, true},
		{"spoken", judge{took: time.Minute}, true, 0, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, err := retrieval.NewSearcher(parking(t), nil).WithReranker(&c.judge, retrieval.Reranking{})
				if err != nil {
					t.Fatal(err)
				}
				q := written(3)
				q.Written = !c.spoken
				began := time.Now()
				r, err := s.Search(t.Context(), q)
				if waited := time.Since(began); err != nil || waited != c.waited || (r.Unranked != nil) != c.asked {
					t.Fatalf("waited %v, unranked %v, %v", waited, r.Unranked, err)
				}
				if d := cmp.Diff([]string{"ba", "bb", "bc"}, ids(r)); d != "" {
					t.Fatalf("(-want +got):\n%s", d)
				}
				time.Sleep(5 * time.Second) // the deaf one ends
			})
		})
	}
}

// TestRerankInsideTheBudget: the budget of the turn ends the wait, and the fused
// order is handed out; any other end is the search's.
func TestRerankInsideTheBudget(t *testing.T) {
	t.Parallel()
	gone := errors.New("superseded")
	for cause, want := range map[error]error{retrieval.ErrBudgetSpent: nil, gone: gone} {
		synctest.Test(t, func(t *testing.T) {
			s, err := retrieval.NewSearcher(parking(t), nil).WithReranker(&judge{took: time.Minute}, retrieval.Reranking{Spoken: true})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(250*time.Millisecond, func() { cancel(cause) })
			began := time.Now()
			q := written(3)
			q.Written = false
			r, err := s.Search(ctx, q)
			if time.Since(began) != 250*time.Millisecond || !errors.Is(err, want) || err == nil && (len(r.Passages) != 3 || !errors.Is(r.Unranked, cause)) {
				t.Fatalf("after %v: %+v, %v", time.Since(began), r, err)
			}
		})
	}
}

// rewriter gives the same rewriting, after a while.
type rewriter struct {
	took   time.Duration
	text   string
	err    error
	before []string
}

func (w *rewriter) Rewrite(ctx context.Context, _ string, before []string) (string, error) {
	w.before = slices.Clone(before)
	select {
	case <-time.After(w.took):
		return w.text, w.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// TestRewrite: a rewriting that is in by its deadline is searched; a late, failing or
// empty one leaves the answer that was there, and nobody waits past the deadline.
func TestRewrite(t *testing.T) {
	t.Parallel()
	const limit = 300 * time.Millisecond
	cases := []struct {
		name      string
		rewriter  rewriter
		change    func(*retrieval.Query)
		rewritten bool
		failed    bool
		waited    time.Duration
	}{
		{"in time", rewriter{took: 200 * time.Millisecond, text: "pruebas de respiración"}, nil, true, false, 200 * time.Millisecond},
		{"late", rewriter{took: time.Minute, text: "pruebas de respiración"}, nil, false, true, limit},
		{"broken", rewriter{err: errors.New("down")}, nil, false, true, 0},
		{"empty", rewriter{text: " "}, nil, false, false, 0},
		{"spoken", rewriter{took: time.Minute}, func(q *retrieval.Query) { q.Written = false }, false, false, 0},
		{"says all itself", rewriter{took: time.Minute}, func(q *retrieval.Query) { q.Text = "precio de la revisión anual completa de adultos" }, false, false, 0},
		{"nothing before", rewriter{took: time.Minute}, func(q *retrieval.Query) { q.Before = nil }, false, false, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := retrieval.NewSearcher(library(t, "clinica", handbook, nil), nil).WithRewriter(&c.rewriter, limit)
				q := ask("¿y eso cuánto dura?")
				q.Before, q.Written = []string{"¿La revisión es cara?"}, true
				if c.change != nil {
					c.change(&q)
				}
				began := time.Now()
				r, err := s.Search(t.Context(), q)
				if waited := time.Since(began); err != nil || waited != c.waited || (r.Rewritten != "") != c.rewritten || (r.Unrewritten != nil) != c.failed {
					t.Fatalf("waited %v, rewritten %q, not %v, %v", waited, r.Rewritten, r.Unrewritten, err)
				}
				if c.rewritten && (r.Passages[0].Heading != "Clínica › Respiración" || !r.Followed || len(c.rewriter.before) != 1) {
					t.Fatalf("found %v", headings(r))
				}
				if !c.rewritten && len(r.Passages) == 0 {
					t.Fatal("nothing found")
				}
			})
		})
	}
}
