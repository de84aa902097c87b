// Package golden owns the questions whose answers are known: how they are read, what
// answers one, and how well a base answers them, by code alone.
//
// A golden is written by who knows the documents, in their words: a question and the
// heading path that answers it. It is never softened by code: what cannot be matched
// is a miss, and is told with what came instead. Nothing is judged by a model, and no
// base is changed.
package golden

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"headstart/retrieval/chunk"
)

// Most bounds a golden: so many questions, of so many bytes together.
const (
	MostQuestions = 10_000
	MostBytes     = 8 << 20
)

// Question is one question whose answer is known.
type Question struct {
	Asks string `json:"asks"`
	// Expects is the heading path that answers, "Tarifas › Revisión", or the path of a
	// file that has no headings. Empty: no document answers, and none should seem to.
	Expects string `json:"expects"`
	// Before are the caller's turns before the question, oldest first; mostly none.
	Before []string `json:"before,omitempty"`
}

// OffTopic tells a question that no document answers.
func (q Question) OffTopic() bool { return key(q.Expects) == "" }

// What is wrong with a golden as a whole.
var (
	ErrEmpty    = errors.New("no question")
	ErrTooLarge = fmt.Errorf("larger than %d MiB or %d questions", MostBytes>>20, MostQuestions)
)

// QuestionError is a question that cannot be read.
type QuestionError struct {
	Nth int // from 1
	Err error
}

// Error tells which question.
func (e QuestionError) Error() string { return fmt.Sprintf("question %d: %v", e.Nth, e.Err) }

// Unwrap returns what is wrong with it.
func (e QuestionError) Unwrap() error { return e.Err }

// Read reads a golden: a JSON list of {"asks", "expects"}. It fails on what is not
// one, on a field that it does not know, and on a question that asks nothing.
func Read(r io.Reader) ([]Question, error) {
	text, err := io.ReadAll(io.LimitReader(r, MostBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read golden: %w", err)
	case len(text) > MostBytes:
		return nil, fmt.Errorf("read golden: %w", ErrTooLarge)
	}
	questions, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("read golden: %w", err)
	}
	return questions, nil
}

func parse(text []byte) ([]Question, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(trimmed(text), &list); err != nil {
		return nil, fmt.Errorf(`want a list of {"asks", "expects"}: %w`, err)
	}
	switch {
	case len(list) == 0:
		return nil, ErrEmpty
	case len(list) > MostQuestions:
		return nil, ErrTooLarge
	}
	questions := make([]Question, len(list))
	for i, raw := range list {
		q, err := question(raw)
		if err != nil {
			return nil, QuestionError{i + 1, err}
		}
		questions[i] = q
	}
	return questions, nil
}

// trimmed drops the mark that some editors begin a file with.
func trimmed(text []byte) []byte { return []byte(strings.TrimPrefix(string(text), "\ufeff")) }

func question(raw json.RawMessage) (Question, error) {
	var read struct {
		Asks    *string  `json:"asks"`
		Expects *string  `json:"expects"`
		Before  []string `json:"before"`
	}
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.DisallowUnknownFields()
	switch err := d.Decode(&read); {
	case err != nil:
		return Question{}, err
	case read.Asks == nil || strings.IndexFunc(*read.Asks, unicode.IsLetter) < 0 && strings.IndexFunc(*read.Asks, unicode.IsDigit) < 0:
		return Question{}, errors.New(`"asks" holds no word`)
	case read.Expects == nil:
		return Question{}, errors.New(`no "expects"; "" is for what no document answers`)
	}
	return Question{Asks: *read.Asks, Expects: *read.Expects, Before: read.Before}, nil
}

// Answers tells whether something under a heading path, in a file, is what is
// expected: accents dropped, case folded, spaces squeezed. A path may be written with
// > between its headings.
func (q Question) Answers(path, heading string) bool {
	want := key(q.Expects)
	return want != "" && (want == key(heading) || heading == "" && want == key(path))
}

// key is what of a heading path counts.
func key(path string) string {
	var b strings.Builder
	for _, r := range norm.NFKD.String(path) {
		switch {
		case unicode.Is(unicode.Mn, r):
		case r == '>' || r == '›':
			b.WriteString(chunk.Separator)
		default:
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
