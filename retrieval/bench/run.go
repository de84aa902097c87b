package bench

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"headstart/retrieval"
	"headstart/retrieval/beir"
)

// Way is one way of asking the questions of a collection.
type Way struct {
	Arm   retrieval.Arm
	Depth int // documents of a ranking; 0 is DefaultDepth
	// Alone asks the last turn without the turns before it, where questions have some.
	Alone bool
	Half  Half // of the questions
	// Calibration takes the place of what the embedder declares; nil leaves it.
	Calibration *retrieval.Calibration
	Progress    Progress // may be nil
}

// Half is which of the questions are asked, counted from 1 in the order of their
// file; empty is all.
type Half string

// The halves.
const (
	All  Half = ""
	Odd  Half = "odd"
	Even Half = "even"
)

// Of takes the half of a list.
func (h Half) Of(list []Question) []Question {
	if h == All {
		return list
	}
	var half []Question
	for i, q := range list {
		if (i%2 == 0) == (h == Odd) {
			half = append(half, q)
		}
	}
	return half
}

// Report is what asking a collection one way gave.
type Report struct {
	Dataset      string  `json:"dataset"`
	Arm          string  `json:"arm"`
	Store        string  `json:"store"`
	Embedder     string  `json:"embedder"` // empty: none was asked
	Documents    int     `json:"documents"`
	Queries      int     `json:"queries"`
	NDCG10       float64 `json:"ndcg_at_10"`
	Recall10     float64 `json:"recall_at_10"`
	Recall100    float64 `json:"recall_at_100"`
	MRR          float64 `json:"mrr"`
	Search       Times   `json:"search_ms"` // without the embedder
	Embed        Times   `json:"embed_ms"`  // the embedder alone
	IndexSeconds float64 `json:"index_seconds"`
	IndexBytes   int64   `json:"index_bytes"`

	Whole    Times          `json:"-"` // search and embedder together
	Followed int            `json:"-"` // questions that were searched with the turns before them
	Each     []beir.Scores  `json:"-"` // of the questions, in their order
	Runs     [][]beir.Found `json:"-"` // their rankings
}

// Times are percentiles, in milliseconds.
type Times struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
}

// Ask asks the questions one after the other and scores what they find.
func (c *Collection) Ask(ctx context.Context, w Way) (Report, error) {
	ranker, err := c.rankerFor(w)
	if err != nil {
		return Report{}, err
	}
	if w.Progress == nil {
		w.Progress = func(string, int, int) {}
	}
	questions := w.Half.Of(c.Questions)
	var t tally
	for i, q := range questions {
		if err := t.ask(ctx, ranker, q, w); err != nil {
			return Report{}, fmt.Errorf("ask query %s: %w", q.ID, err)
		}
		w.Progress("ask", i+1, len(questions))
	}
	return c.report(w, t), nil
}

// Through is the same collection asked through another ranker of it, for a
// comparison in one run: what store names it, and what its index took.
func (c *Collection) Through(store string, r Ranker, index Index) *Collection {
	other := *c
	other.Store, other.ranker, other.Index = store, r, index
	return &other
}

func (c *Collection) rankerFor(w Way) (Ranker, error) {
	if w.Calibration == nil {
		return c.ranker, nil
	}
	s, ok := c.ranker.(*shelf)
	if !ok {
		return nil, fmt.Errorf("only what is searched in memory can be calibrated here, not %s", c.Store)
	}
	return s.calibrated(*w.Calibration), nil
}

// query is what a way asks of a question.
func (w Way) query(q Question) retrieval.Query {
	query := retrieval.Query{Org: Org, Text: q.Text, Bases: []retrieval.Attachment{{Base: Base}}}
	if !w.Alone {
		query.Before = q.Before()
	}
	return query
}

func (w Way) depth() int {
	if w.Depth <= 0 {
		return DefaultDepth
	}
	return w.Depth
}

// tally is what the questions gave so far.
type tally struct {
	scores               []beir.Scores
	runs                 [][]beir.Found
	search, embed, whole []time.Duration
	followed             int
}

func (t *tally) ask(ctx context.Context, r Ranker, q Question, w Way) error {
	ranked, err := r.Rank(ctx, retrieval.Ranking{Query: w.query(q), Depth: w.depth(), Arm: w.Arm})
	if err == nil {
		err = ranked.Degraded // half a search has no figures
	}
	if err != nil {
		return err
	}
	run := found(ranked.Chunks)
	t.runs = append(t.runs, run)
	t.scores = append(t.scores, beir.Score(q.Judged, run))
	t.search = append(t.search, ranked.SearchTook)
	t.embed = append(t.embed, ranked.EmbedTook)
	t.whole = append(t.whole, ranked.SearchTook+ranked.EmbedTook)
	if ranked.Followed {
		t.followed++
	}
	return nil
}

func found(chunks []retrieval.RankedChunk) []beir.Found {
	run := make([]beir.Found, len(chunks))
	for i, c := range chunks {
		run[i] = beir.Found{ID: c.Chunk.ID, Score: c.Hit.Score}
	}
	return run
}

func (c *Collection) report(w Way, t tally) Report {
	mean := beir.Mean(t.scores)
	r := Report{
		Dataset: c.Name, Arm: string(w.Arm), Store: c.Store, Documents: c.Documents, Queries: len(t.scores),
		NDCG10: mean.NDCG10, Recall10: mean.Recall10, Recall100: mean.Recall100, MRR: mean.MRR,
		Search: times(t.search), Embed: times(t.embed), Whole: times(t.whole),
		IndexSeconds: c.Index.Seconds, IndexBytes: c.Index.Bytes,
		Followed: t.followed, Each: t.scores, Runs: t.runs,
	}
	if c.Embedder != nil && w.Arm != retrieval.Words {
		r.Embedder = c.Embedder.Name()
	}
	return r
}

func times(list []time.Duration) Times {
	slices.Sort(list)
	return Times{percentile(list, 50), percentile(list, 95), percentile(list, 99)}
}

// percentile is the nearest rank: the smallest value that p in a hundred do not
// exceed.
func percentile(sorted []time.Duration, p int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	at := int(math.Ceil(float64(p)/100*float64(len(sorted)))) - 1
	return float64(sorted[max(0, at)].Nanoseconds()) / 1e6
}
