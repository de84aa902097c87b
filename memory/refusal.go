package memory

import "fmt"

// Reason is the code of why a proposal was refused.
type Reason string

// The reasons, in the order in which they are looked for.
const (
	BecauseMalformed   Reason = "malformed"   // no operation that could be read, or an empty or endless text
	BecauseNoTurn      Reason = "no_turn"     // it cites no turn of the caller
	BecauseNoFact      Reason = "no_fact"     // it closes a fact that is not held
	BecauseSecret      Reason = "secret"      // it holds a number that is never written
	BecauseCategory    Reason = "category"    // the policy does not remember its category
	BecauseForget      Reason = "forget"      // the policy forgets it
	BecauseTool        Reason = "tool"        // it names one of the agent's tools
	BecauseInstruction Reason = "instruction" // it reads like an instruction to an agent
	BecausePrompt      Reason = "prompt"      // it quotes the agent's own instructions
	BecauseNumbers     Reason = "numbers"     // it has a number that the turn has not
	BecauseUnsupported Reason = "unsupported" // the turn does not say it
	BecauseNegation    Reason = "negation"    // the turn says the opposite
	BecauseDuplicate   Reason = "duplicate"   // it is held already
	BecauseFull        Reason = "full"        // there is no room for more facts
)

// Withheld stands in place of a text that must not be written anywhere, the log
// included.
const Withheld = "[withheld]"

// Refusal is a proposal that was not kept, and why.
type Refusal struct {
	Op       Op     `json:"op"`
	Text     string `json:"text"` // Withheld when the text itself is the reason
	Category string `json:"category,omitempty"`
	Turn     string `json:"turn,omitempty"` // the id of the cited turn, when there is one
	Reason   Reason `json:"reason"`
	Words    string `json:"words"` // the reason for a person to read
}

// String is the reason with its words.
func (r Refusal) String() string { return fmt.Sprintf("%s: %s", r.Reason, r.Words) }
