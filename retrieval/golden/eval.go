package golden

import (
	"context"
	"fmt"
	"math"
	"slices"

	"headstart/retrieval"
)

// Searching is what is asked: *retrieval.Searcher is one.
type Searching interface {
	Search(ctx context.Context, q retrieval.Query) (retrieval.Result, error)
}

// Evaluation is what is evaluated.
type Evaluation struct {
	Org, Base string
	// K is how many passages a call reads; 0 is retrieval.DefaultK.
	K        int
	Progress func(done, all int) // may be nil
}

// Report is how well a base answers a golden.
type Report struct {
	Base      string `json:"base"`
	Questions int    `json:"questions"` // those that a document answers
	K         int    `json:"k"`
	// Recall is the share of the questions whose answer is among the K passages that a
	// call would read.
	Recall float64 `json:"recall_at_k"`
	// NDCG10 counts an answer by its place: 1 first, 0.63 second, 0.5 third, and
	// nothing past the tenth.
	NDCG10 float64 `json:"ndcg_at_10"`
	// Misses are the questions whose answer is not among the K, in their order.
	Misses []Miss `json:"misses"`
	// OffTopic is how many questions no document answers, and Mistaken are those for
	// which the evidence is strong all the same.
	OffTopic int    `json:"off_topic"`
	Mistaken []Miss `json:"mistaken"`
}

// Miss is a question and what came instead of its answer.
type Miss struct {
	Asks    string `json:"asks"`
	Expects string `json:"expects"`
	At      int    `json:"at"` // the place of the answer past K; 0 is nowhere
	Came    []Came `json:"came"`
}

// Came is one passage, best first.
type Came struct {
	Path    string  `json:"path"`
	Heading string  `json:"heading"`
	Score   float64 `json:"score"`
}

const (
	// judged is how deep nDCG looks.
	judged = 10
	// told is how many passages a miss tells.
	told = 3
)

// Eval asks a base every question of a golden and judges what a call would read. It
// fails when a search fails or answers without its vectors: half a search is no
// measure.
func Eval(ctx context.Context, s Searching, e Evaluation, questions []Question) (Report, error) {
	if e.K <= 0 {
		e.K = retrieval.DefaultK
	}
	r := Report{Base: e.Base, K: e.K, Misses: []Miss{}, Mistaken: []Miss{}}
	for i, q := range questions {
		found, err := s.Search(ctx, q.query(e))
		if err == nil {
			err = found.Degraded
		}
		if err != nil {
			return Report{}, fmt.Errorf("evaluate base %s: ask %q: %w", e.Base, q.Asks, err)
		}
		r.judge(q, found)
		if e.Progress != nil {
			e.Progress(i+1, len(questions))
		}
	}
	if r.Questions > 0 {
		r.Recall /= float64(r.Questions)
		r.NDCG10 /= float64(r.Questions)
	}
	return r, nil
}

func (q Question) query(e Evaluation) retrieval.Query {
	k := max(e.K, judged)
	return retrieval.Query{Org: e.Org, Text: q.Asks, Before: q.Before, K: k, Bases: []retrieval.Attachment{{Base: e.Base}}}
}

func (r *Report) judge(q Question, found retrieval.Result) {
	if q.OffTopic() {
		r.OffTopic++
		if found.Evidence == retrieval.EvidenceStrong {
			r.Mistaken = append(r.Mistaken, q.miss(0, found))
		}
		return
	}
	r.Questions++
	at := 1 + slices.IndexFunc(found.Passages, func(p retrieval.Passage) bool { return q.Answers(p.Path, p.Heading) })
	r.NDCG10 += Gain(at)
	if at >= 1 && at <= r.K {
		r.Recall++
		return
	}
	r.Misses = append(r.Misses, q.miss(at, found))
}

// Gain is what an answer at a place is worth, from 1; 0 is nowhere.
func Gain(place int) float64 {
	if place < 1 || place > judged {
		return 0
	}
	return 1 / math.Log2(float64(place+1))
}

func (q Question) miss(at int, found retrieval.Result) Miss {
	m := Miss{Asks: q.Asks, Expects: q.Expects, At: at, Came: []Came{}}
	for _, p := range found.Passages[:min(told, len(found.Passages))] {
		m.Came = append(m.Came, Came{p.Path, p.Heading, p.Score})
	}
	return m
}
