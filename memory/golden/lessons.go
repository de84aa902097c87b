package golden

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"headstart/memory"
)

// ErrNoModel means that a lesson has no scripted answer and no model was given.
var ErrNoModel = errors.New("no answer is scripted and there is no model to ask: give one, or an agent")

// Teacher says how lessons are given.
type Teacher struct {
	Model    memory.Model // of the agent; nil where every lesson has its answer
	Language string
	Tools    []string // names of the agent's tools
	Prompt   string   // the agent's instructions
	At       time.Time
	Progress func(done, all int)
}

// Taught is what one lesson gave.
type Taught struct {
	Kept    []string         `json:"kept"`              // the facts
	Closed  []string         `json:"closed,omitempty"`  // facts that were held before
	Refused []memory.Refusal `json:"refused"`           // proposals
	Missing []string         `json:"missing,omitempty"` // of keeps: in no fact
	Leaked  []string         `json:"leaked,omitempty"`  // of refuses: in a fact
}

// Lessons is what an extraction golden gave.
type Lessons struct {
	Lessons int     `json:"lessons"`
	Passed  int     `json:"passed"`  // nothing missing, nothing leaked
	Keeps   int     `json:"keeps"`   // expectations that something is kept
	Kept    int     `json:"kept"`    // of those, met
	Refuses int     `json:"refuses"` // expectations that something is not
	Refused int     `json:"refused"` // of those, met
	Recall  float64 `json:"recall"`  // kept of keeps; 1 without any
	Safety  float64 `json:"safety"`  // refused of refuses; 1 without any
	// Results are the lessons', in order.
	Results []Taught `json:"results"`
}

// Teach gives every lesson. A model's answer that cannot be read counts as a lesson
// that taught nothing; another failure of it ends the run.
func (t Teacher) Teach(ctx context.Context, lessons []Lesson) (Lessons, error) {
	report := Lessons{Lessons: len(lessons), Results: []Taught{}}
	for i, l := range lessons {
		got, err := t.teach(ctx, l)
		if err != nil {
			return Lessons{}, fmt.Errorf("lesson %d: %w", i+1, err)
		}
		report.Results = append(report.Results, got)
		report.Keeps += len(l.Keeps)
		report.Kept += len(l.Keeps) - len(got.Missing)
		report.Refuses += len(l.Refuses)
		report.Refused += len(l.Refuses) - len(got.Leaked)
		if len(got.Missing)+len(got.Leaked) == 0 {
			report.Passed++
		}
		if t.Progress != nil {
			t.Progress(i+1, len(lessons))
		}
	}
	report.Recall, report.Safety = share(report.Kept, report.Keeps), share(report.Refused, report.Refuses)
	return report, nil
}

func share(part, whole int) float64 {
	if whole == 0 {
		return 1
	}
	return float64(part) / float64(whole)
}

func (t Teacher) teach(ctx context.Context, l Lesson) (Taught, error) {
	model := t.Model
	if len(l.Answer) > 0 {
		model = script(l.Answer)
	}
	if model == nil {
		return Taught{}, ErrNoModel
	}
	lesson := t.lesson(l)
	learned, err := memory.Learn(ctx, lesson, model, nil)
	if err != nil && !errors.Is(err, memory.ErrAnswer) {
		return Taught{}, err
	}
	got := Taught{Kept: []string{}, Refused: append([]memory.Refusal{}, learned.Refused...)}
	for _, c := range learned.Writing.Changes {
		if c.Op != memory.Invalidate {
			got.Kept = append(got.Kept, c.Fact.Text)
		}
		for _, f := range lesson.Current {
			if f.ID == c.Closes && c.Closes != "" {
				got.Closed = append(got.Closed, f.Text)
			}
		}
	}
	got.Missing, got.Leaked = l.judge(got.Kept)
	return got, nil
}

// judge tells what is not in the facts though it must be, and what is though it
// must not.
func (l Lesson) judge(kept []string) (missing, leaked []string) {
	in := func(words string) bool {
		return slices.ContainsFunc(kept, func(fact string) bool { return contains(fact, words) })
	}
	for _, words := range l.Keeps {
		if !in(words) {
			missing = append(missing, words)
		}
	}
	for _, words := range l.Refuses {
		if in(words) {
			leaked = append(leaked, words)
		}
	}
	return missing, leaked
}

func (t Teacher) lesson(l Lesson) memory.Lesson {
	const contact = "golden"
	m := memory.Lesson{
		Org: contact, Contact: contact, Call: contact, At: t.At, Language: t.Language,
		Policy: l.Policy, Tools: t.Tools, Prompt: t.Prompt,
	}
	for i, said := range l.Turns {
		m.Turns = append(m.Turns, memory.Said{Turn: "turn-" + strconv.Itoa(i+1), Agent: said.Who == "agent", Text: said.Text})
	}
	for i, h := range l.Held {
		m.Current = append(m.Current, h.fact(contact, "held", i, t.At))
	}
	return m
}

// script is a model that says what it was told to.
type script string

// Extract implements memory.Model.
func (s script) Extract(context.Context, memory.Request) (memory.Answer, error) {
	return memory.Answer{Text: string(s)}, nil
}
