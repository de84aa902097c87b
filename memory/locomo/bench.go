package locomo

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"headstart/memory"
	"headstart/retrieval"
)

// Options say how the questions are asked. The zero value asks the words alone.
type Options struct {
	Arm         retrieval.Arm          // empty is fused where there is an embedder, else the words
	Embedder    retrieval.Embedder     // nil leaves the words alone
	Calibration *retrieval.Calibration // nil keeps what the embedder declares
	// Follow asks each question after those before it in its conversation, as turns of
	// one call: a short one is then recalled together with what it has nothing to do with.
	Follow bool
	// Progress is told after each question, and after each batch embedded; nil is
	// told nothing.
	Progress func(stage string, done, all int)
}

// Score is how often evidence came back, of the questions that have some.
type Score struct {
	Questions int     `json:"questions"`
	HitAt1    float64 `json:"hit_at_1"`
	HitAt5    float64 `json:"hit_at_5"`
	HitAt10   float64 `json:"hit_at_10"`
	HitAt20   float64 `json:"hit_at_20"`
}

// Milliseconds are percentiles of the recall alone, without the embedder.
type Milliseconds struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
}

// Report is what a bench found.
type Report struct {
	Arm           retrieval.Arm    `json:"arm"`
	Embedder      string           `json:"embedder,omitempty"`
	Conversations int              `json:"conversations"`
	Facts         int              `json:"facts"`
	Score                          // over categories 1 to 4
	ByCategory    map[string]Score `json:"by_category"`
	Abstention    Abstention       `json:"abstention"`
	RecallMS      Milliseconds     `json:"recall_ms"`
	// Degraded counts questions that the words answered alone though vectors were asked.
	Degraded int `json:"degraded"`
	// Followed counts questions that were asked together with those before them.
	Followed int `json:"followed"`
}

// depth is the deepest rank that is counted.
const depth = 20

// language is that of the data.
const language = "en"

// tally is what the questions gave so far.
type tally struct {
	scores     map[int]*Score // by category; hits are counts
	took       []time.Duration
	answerable []witness
	adverse    []witness // of the adversarial
	degraded   int
	followed   int
}

// Bench asks every question of every conversation, each of its own contact.
func Bench(ctx context.Context, all []Conversation, o Options) (Report, error) {
	if o.Progress == nil {
		o.Progress = func(string, int, int) {}
	}
	if o.Arm == "" {
		o.Arm = retrieval.Fused
		if o.Embedder == nil {
			o.Arm = retrieval.Words
		}
	}
	r := Report{Arm: o.Arm, Conversations: len(all)}
	questions, done := 0, 0
	for _, c := range all {
		r.Facts += len(c.Facts)
		questions += len(c.Questions)
	}
	if o.Embedder != nil {
		r.Embedder = o.Embedder.Name()
		if err := Embed(ctx, all, o.Embedder, o.Progress); err != nil {
			return Report{}, err
		}
	}
	t := tally{scores: map[int]*Score{}}
	for _, c := range all {
		x, err := memory.NewIndex(memory.Reading{Language: language, Embedder: o.Embedder, Calibration: o.Calibration, At: latest(c.Facts)}, c.Facts)
		if err != nil {
			return Report{}, fmt.Errorf("bench %s: %w", c.Name, err)
		}
		var before []string
		for _, q := range c.Questions {
			if err := t.ask(ctx, x, q, before, o.Arm); err != nil {
				return Report{}, fmt.Errorf("bench %s: %w", c.Name, err)
			}
			if done++; o.Follow {
				before = append(before, q.Text)
			}
			o.Progress("ask", done, questions)
		}
	}
	t.report(&r)
	return r, nil
}

// ask counts one question.
func (t *tally) ask(ctx context.Context, x *memory.Index, q Question, before []string, arm retrieval.Arm) error {
	ranked, err := x.Rank(ctx, memory.Query{Text: q.Text, Before: before}, arm, depth)
	if err != nil {
		return err
	}
	t.took = append(t.took, ranked.Took)
	if ranked.Degraded != nil {
		t.degraded++
	}
	if ranked.Followed {
		t.followed++
	}
	seen := witness{ranked.Cosine, ranked.BM25, ranked.Evidence, len(ranked.Facts) == 0}
	if q.Category == Adversarial {
		t.adverse = append(t.adverse, seen)
	} else {
		t.answerable = append(t.answerable, seen)
	}
	if len(q.Evidence) > 0 {
		t.count(q, ranked.Facts)
	}
	return nil
}

func (t *tally) count(q Question, facts []memory.Fact) {
	s := t.scores[q.Category]
	if s == nil {
		s = new(Score)
		t.scores[q.Category] = s
	}
	s.Questions++
	at := slices.IndexFunc(facts, func(f memory.Fact) bool { return slices.Contains(q.Evidence, f.ID) })
	for _, k := range []struct {
		within int
		hits   *float64
	}{{1, &s.HitAt1}, {5, &s.HitAt5}, {10, &s.HitAt10}, {20, &s.HitAt20}} {
		if at >= 0 && at < k.within {
			*k.hits++
		}
	}
}

func (t *tally) report(r *Report) {
	r.ByCategory = map[string]Score{}
	for category, s := range t.scores {
		if category != Adversarial {
			r.Score = r.Score.plus(*s)
		}
		r.ByCategory[strconv.Itoa(category)] = s.shares()
	}
	r.Score = r.Score.shares()
	r.Degraded, r.Followed = t.degraded, t.followed
	r.Abstention = abstention(t.answerable, t.adverse)
	slices.Sort(t.took)
	r.RecallMS = Milliseconds{percentile(t.took, 0.50), percentile(t.took, 0.95), percentile(t.took, 0.99)}
}

func (s Score) plus(o Score) Score {
	return Score{s.Questions + o.Questions, s.HitAt1 + o.HitAt1, s.HitAt5 + o.HitAt5, s.HitAt10 + o.HitAt10, s.HitAt20 + o.HitAt20}
}

// shares turns counts into shares.
func (s Score) shares() Score {
	n := float64(max(1, s.Questions))
	return Score{s.Questions, s.HitAt1 / n, s.HitAt5 / n, s.HitAt10 / n, s.HitAt20 / n}
}

// percentile is the nearest rank of a sorted list, in milliseconds.
func percentile(sorted []time.Duration, p float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	at := int(math.Ceil(p*float64(len(sorted)))) - 1
	return float64(sorted[max(0, at)]) / float64(time.Millisecond)
}

func latest(facts []memory.Held) time.Time {
	var at time.Time
	for _, f := range facts {
		if f.Since.After(at) {
			at = f.Since
		}
	}
	return at
}

// embedBatch is small enough for every provider's limit.
const embedBatch = 64

// Embed gives every fact that has no vector of e one.
func Embed(ctx context.Context, all []Conversation, e retrieval.Embedder, progress func(stage string, done, all int)) error {
	var waiting []*memory.Held
	for _, c := range all {
		for i := range c.Facts {
			if c.Facts[i].Model != e.Name() {
				waiting = append(waiting, &c.Facts[i])
			}
		}
	}
	done := 0
	for batch := range slices.Chunk(waiting, embedBatch) {
		if err := memory.Embed(ctx, e, batch); err != nil {
			return err
		}
		done += len(batch)
		progress("embed", done, len(waiting))
	}
	return nil
}
