package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"headstart/memory"
	"headstart/retrieval/analyse"
)

// teaching is one operation that is proposed of a call in which something was
// heard: some good, some as a model that was talked into it would write them.
type teaching struct {
	Heard      string  `json:"heard"` // words of one turn of the caller
	Op         string  `json:"op"`
	Category   string  `json:"category"`
	Text       string  `json:"text"`
	Confidence float64 `json:"confidence"`
}

// Proposer stands in for the model that is asked what a call taught: it proposes
// what a script says, good and bad. What is kept is decided as for any model.
type Proposer struct{ script []teaching }

// LoadProposer reads teaches.json of a folder of calls.
func LoadProposer(dir string) (*Proposer, error) {
	text, err := os.ReadFile(filepath.Join(dir, "teaches.json"))
	if err != nil {
		return nil, fmt.Errorf("load what the calls teach: %w", err)
	}
	p := &Proposer{}
	if err := json.Unmarshal(text, &p.script); err != nil {
		return nil, fmt.Errorf("load what the calls teach: %w", err)
	}
	return p, nil
}

// operation is a proposal on the wire of a memory.Request.
type operation struct {
	teaching
	Heard *string `json:"heard,omitempty"` // hides the script's
	Fact  *int    `json:"fact"`
	Turn  int     `json:"turn"`
	Quote string  `json:"quote"`
}

// Extract implements memory.Model.
func (p *Proposer) Extract(_ context.Context, r memory.Request) (memory.Answer, error) {
	var asked struct {
		Turns []struct {
			Turn int    `json:"turn"`
			Who  string `json:"who"`
			Text string `json:"text"`
		} `json:"turns"`
	}
	if err := json.Unmarshal([]byte(r.User), &asked); err != nil {
		return memory.Answer{}, fmt.Errorf("read what is asked: %w", err)
	}
	operations := []operation{}
	for _, turn := range asked.Turns {
		for _, t := range p.script {
			if turn.Who == "caller" && strings.Contains(analyse.Fold(turn.Text), analyse.Fold(t.Heard)) {
				operations = append(operations, operation{teaching: t, Turn: turn.Turn, Quote: t.Heard})
			}
		}
	}
	answer, err := json.Marshal(map[string]any{"operations": operations})
	if err != nil {
		return memory.Answer{}, fmt.Errorf("write what is proposed: %w", err)
	}
	return memory.Answer{Text: string(answer)}, nil
}
