// Package golden owns what a person writes down to hold a memory to: questions
// whose facts must come back, and calls whose lessons must be kept or refused.
//
// A question's facts are written to a scratch contact of a real store, asked for as
// a call asks, and deleted, always: also when the run fails or is cancelled. A
// question is never softened so that a change passes; what fails is told. It fails
// by returning an error: ErrFormat for a file that is no golden, else what the
// store, the embedder, the model or the context gave.
package golden

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"headstart/memory"
	"headstart/retrieval/analyse"
)

// ErrFormat means that a file is no golden.
var ErrFormat = errors.New("not a golden")

// maxGolden bounds what is read, in bytes.
const maxGolden = 8 << 20

// Question is one of a recall golden: what is held, what is asked, and what must
// stand in a fact that comes back.
type Question struct {
	Holds []Hold `json:"holds"`
	Asks  string `json:"asks"`
	// Before are the caller's turns before the question, oldest first; mostly none.
	Before  []string `json:"before,omitempty"`
	Expects string   `json:"expects"`
}

// Hold is a fact that a question holds: its text alone, or an object.
type Hold struct {
	Text       string    `json:"text"`
	Category   string    `json:"category,omitempty"`
	Since      time.Time `json:"since,omitzero"`       // zero is now
	Confidence float64   `json:"confidence,omitempty"` // 0 is 1
}

// UnmarshalJSON reads a string as a text alone.
func (h *Hold) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, &h.Text) == nil {
		return nil
	}
	type plain Hold
	return json.Unmarshal(text, (*plain)(h))
}

// Lesson is one of an extraction golden: a call, and what it must and must not teach.
type Lesson struct {
	Turns  []Turn        `json:"turns"`
	Policy memory.Policy `json:"policy"`
	Held   []Hold        `json:"held,omitempty"` // of the contact before the call
	// Keeps are words that must stand in a fact that is kept, each in one at least;
	// Refuses are words that may stand in none.
	Keeps   []string `json:"keeps"`
	Refuses []string `json:"refuses"`
	// Answer is what a scripted model answers. Without it the agent's model is asked.
	Answer json.RawMessage `json:"answer,omitempty"`
}

// Turn is one turn of a call; a string alone is the caller's.
type Turn struct {
	Who  string `json:"who"` // "caller", which empty is too, or "agent"
	Text string `json:"text"`
}

// UnmarshalJSON reads a string as the caller's words.
func (t *Turn) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, &t.Text) == nil {
		return nil
	}
	type plain Turn
	return json.Unmarshal(text, (*plain)(t))
}

// ReadQuestions reads a recall golden.
func ReadQuestions(r io.Reader) ([]Question, error) {
	all, err := read[Question](r, "[{holds, asks, expects}]")
	for i, q := range all {
		if err == nil && (strings.TrimSpace(q.Asks) == "" || fold(q.Expects) == "" || len(q.Holds) == 0) {
			err = fmt.Errorf("%w: question %d needs holds, asks and expects", ErrFormat, i+1)
		}
		for _, h := range q.Holds {
			if err == nil && strings.TrimSpace(h.Text) == "" {
				err = fmt.Errorf("%w: question %d holds an empty fact", ErrFormat, i+1)
			}
		}
	}
	return all, err
}

// ReadLessons reads an extraction golden.
func ReadLessons(r io.Reader) ([]Lesson, error) {
	all, err := read[Lesson](r, "[{turns, policy, keeps, refuses}]")
	for i, l := range all {
		if err == nil && (len(l.Turns) == 0 || len(l.Keeps)+len(l.Refuses) == 0) {
			err = fmt.Errorf("%w: lesson %d needs turns, and keeps or refuses", ErrFormat, i+1)
		}
		for _, t := range l.Turns {
			if err == nil && t.Who != "" && t.Who != "caller" && t.Who != "agent" {
				err = fmt.Errorf("%w: lesson %d has a turn of %q: want caller or agent", ErrFormat, i+1, t.Who)
			}
		}
	}
	return all, err
}

// read refuses fields that it does not know: a misspelt one would test nothing.
func read[T any](r io.Reader, shape string) ([]T, error) {
	d := json.NewDecoder(io.LimitReader(r, maxGolden))
	d.DisallowUnknownFields()
	var all []T
	if err := d.Decode(&all); err != nil {
		return nil, fmt.Errorf("%w %s: %w", ErrFormat, shape, err)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%w %s: it is empty", ErrFormat, shape)
	}
	return all, nil
}

// contains tells whether a text has the words that were expected: accents dropped,
// case folded, spaces squeezed. A golden knows the substance and not the wording.
func contains(text, expected string) bool { return strings.Contains(fold(text), fold(expected)) }

func fold(text string) string { return strings.Join(strings.Fields(analyse.Fold(text)), " ") }
