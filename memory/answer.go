package memory

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

const (
	// maxAnswer is the longest answer that is read, in bytes: far above what
	// answerTokens allow.
	maxAnswer = 64 << 10
	// maxOperations is how many operations of one call are looked at.
	maxOperations = 50
)

// Proposal is one operation as a model wrote it: nothing in it is believed yet.
type Proposal struct {
	Op
	Fact       int // the number of a held fact, from 1; 0 is none
	Text       string
	Category   string
	Turn       int // the number of a turn, from 1; 0 is none
	Quote      string
	Confidence float64
	// malformed says what was wrong with it, empty when it could be read.
	malformed string
}

// ParseAnswer reads a model's answer: an array of operations, or an object that
// holds one as "operations", with nothing around it but one code fence. Fields that
// it does not know are passed over. An operation that cannot be read is kept as one
// that Admit refuses; an answer that cannot be read is ErrAnswer.
func ParseAnswer(answer string) ([]Proposal, error) {
	if len(answer) > maxAnswer {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrAnswer, len(answer), maxAnswer)
	}
	text := unfence(answer)
	var list []json.RawMessage
	if strings.HasPrefix(text, "{") {
		var whole struct {
			Operations *[]json.RawMessage `json:"operations"`
		}
		if err := decodeOnly(text, &whole); err != nil {
			return nil, err
		}
		if whole.Operations == nil {
			return nil, fmt.Errorf("%w: an object without operations", ErrAnswer)
		}
		list = *whole.Operations
	} else if err := decodeOnly(text, &list); err != nil {
		return nil, err
	} else if list == nil {
		return nil, fmt.Errorf("%w: null", ErrAnswer)
	}
	if len(list) > maxOperations {
		return nil, fmt.Errorf("%w: %d operations, at most %d", ErrAnswer, len(list), maxOperations)
	}
	proposals := make([]Proposal, len(list))
	for i, raw := range list {
		proposals[i] = parseProposal(raw)
	}
	return proposals, nil
}

// unfence takes one code fence off, if the answer is nothing else.
func unfence(answer string) string {
	text := strings.TrimSpace(strings.TrimPrefix(answer, "\ufeff"))
	rest, opened := strings.CutPrefix(text, "```")
	if !opened {
		return text
	}
	body, closed := strings.CutSuffix(rest, "```")
	first, after, lines := strings.Cut(body, "\n")
	if !closed || !lines || strings.ContainsAny(first, "{[") {
		return text
	}
	return strings.TrimSpace(after)
}

// decodeOnly reads one JSON value and nothing behind it.
func decodeOnly(text string, into any) error {
	d := json.NewDecoder(strings.NewReader(text))
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("%w: more behind its JSON", ErrAnswer)
	}
	return nil
}

func parseProposal(raw json.RawMessage) Proposal {
	var p struct {
		Op         Op       `json:"op"`
		Fact       *int     `json:"fact"`
		Text       string   `json:"text"`
		Category   string   `json:"category"`
		Turn       int      `json:"turn"`
		Quote      string   `json:"quote"`
		Confidence *float64 `json:"confidence"`
	}
	if !bytes.HasPrefix(raw, []byte("{")) {
		return Proposal{malformed: "it is no object"}
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return Proposal{malformed: err.Error()}
	}
	q := Proposal{Op: p.Op, Text: p.Text, Category: p.Category, Turn: p.Turn, Quote: p.Quote, Confidence: 0.5}
	if p.Fact != nil {
		q.Fact = *p.Fact
	}
	if p.Confidence != nil {
		q.Confidence = min(1, max(0, *p.Confidence))
	}
	switch p.Op {
	case Add, Update, Invalidate:
	default:
		q.malformed = fmt.Sprintf("%q is no operation", clip(string(p.Op), 20))
	}
	return q
}
