package golden

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"headstart/memory"
	"headstart/retrieval"
)

// Store is where a scratch contact lives for the time of a question: the one that
// calls use, or one of its kind.
type Store interface {
	Current(ctx context.Context, org, contact string) ([]memory.Held, error)
	Write(ctx context.Context, w memory.Writing) (applied bool, err error)
	Forget(ctx context.Context, org, contact string) (facts int, err error)
}

// Reader says how questions are asked.
type Reader struct {
	Org      string
	Language string             // of the agent, as a BCP 47 tag
	Embedder retrieval.Embedder // nil leaves the words alone
	// Calibration is the one that calls read with; nil is what the embedder declares.
	Calibration *retrieval.Calibration
	At          time.Time // now, from which ages count
	Progress    func(done, all int)
}

// Answer is what a question gave.
type Answer struct {
	Asks    string `json:"asks"`
	Expects string `json:"expects"`
	// Rank is the place of the first fact that answers, from 1; 0 when none does.
	Rank  int      `json:"rank"`
	Facts []string `json:"facts"` // what came back, best first
}

// Report is what a recall golden gave.
type Report struct {
	Questions int      `json:"questions"`
	Answered  int      `json:"answered"`
	Recall    float64  `json:"recall"`   // answered of questions
	HitAt1    float64  `json:"hit_at_1"` // answered by the first fact
	MRR       float64  `json:"mrr"`      // mean of 1/rank
	Embedder  string   `json:"embedder,omitempty"`
	Answers   []Answer `json:"answers"`
}

// cleanup is what deleting a scratch contact may take.
const cleanup = 5 * time.Second

// Ask puts every question to a scratch contact of its own. The facts that it wrote
// are gone when it returns, whatever happened; an error says so when they could not
// be deleted.
func (r Reader) Ask(ctx context.Context, s Store, questions []Question) (Report, error) {
	report := Report{Questions: len(questions), Answers: []Answer{}}
	if r.Embedder != nil {
		report.Embedder = r.Embedder.Name()
	}
	first := 0
	for i, q := range questions {
		a, err := r.ask(ctx, s, q)
		if err != nil {
			return Report{}, fmt.Errorf("question %d: %w", i+1, err)
		}
		report.Answers = append(report.Answers, a)
		if a.Rank > 0 {
			report.Answered++
			report.MRR += 1 / float64(a.Rank)
		}
		if a.Rank == 1 {
			first++
		}
		if r.Progress != nil {
			r.Progress(i+1, len(questions))
		}
	}
	n := float64(max(1, len(questions)))
	report.Recall, report.HitAt1, report.MRR = float64(report.Answered)/n, float64(first)/n, report.MRR/n
	return report, nil
}

// ask holds, asks and deletes.
func (r Reader) ask(ctx context.Context, s Store, q Question) (a Answer, err error) {
	contact := "scratch:" + rand.Text() // no id of a contact, and of no other run
	defer func() {
		// The facts go whether or not anybody waits for the answer.
		ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), cleanup, fmt.Errorf("not deleted within %v", cleanup))
		defer cancel()
		if _, gone := s.Forget(ctx, r.Org, contact); gone != nil {
			err = errors.Join(err, fmt.Errorf("delete scratch contact %s: %w", contact, gone))
		}
	}()
	w, err := r.writing(ctx, contact, q)
	if err != nil {
		return a, err
	}
	if _, err := s.Write(ctx, w); err != nil {
		return a, fmt.Errorf("hold facts: %w", err)
	}
	held, err := s.Current(ctx, r.Org, contact)
	if err != nil {
		return a, fmt.Errorf("read facts: %w", err)
	}
	x, err := memory.NewIndex(memory.Reading{Language: r.Language, Embedder: r.Embedder, Calibration: r.Calibration, At: r.At}, held)
	if err != nil {
		return a, err
	}
	recalled, err := x.Recall(ctx, memory.Query{Text: q.Asks, Before: q.Before})
	if err != nil {
		return a, err
	}
	a = Answer{Asks: q.Asks, Expects: q.Expects, Facts: []string{}}
	for _, f := range recalled.Facts {
		a.Facts = append(a.Facts, f.Text)
	}
	a.Rank = slices.IndexFunc(a.Facts, func(text string) bool { return contains(text, q.Expects) }) + 1
	return a, nil
}

func (r Reader) writing(ctx context.Context, contact string, q Question) (memory.Writing, error) {
	w := memory.Writing{Org: r.Org, Contact: contact, Call: contact, At: r.At}
	for i, h := range q.Holds {
		w.Changes = append(w.Changes, memory.Change{Op: memory.Add, Fact: h.fact(r.Org, contact, i, r.At)})
	}
	facts := make([]*memory.Held, len(w.Changes))
	for i := range w.Changes {
		facts[i] = &w.Changes[i].Fact
	}
	return w, memory.Embed(ctx, r.Embedder, facts)
}

func (h Hold) fact(org, contact string, n int, at time.Time) memory.Held {
	f := memory.Held{
		Fact: memory.Fact{
			ID: memory.FactID(org, contact, contact, n), Text: h.Text, Category: h.Category,
			Source: "golden-" + strconv.Itoa(n+1), Since: h.Since, Confidence: h.Confidence,
		},
		Org: org, Contact: contact,
	}
	if f.Since.IsZero() {
		f.Since = at
	}
	if f.Confidence == 0 {
		f.Confidence = 1
	}
	return f
}
