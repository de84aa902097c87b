// Package memory owns what is remembered of a contact: who is on the line, the
// facts that calls taught about them, what may become such a fact, and which of
// them answer a question.
//
// A fact is held until something closes it; it is erased from either state:
//
//	          add, update            update, invalidate, correct
//	a call ---------------> held -------------------------------> closed
//	                         |                                      |
//	                         +---- delete, forget ---> gone <-------+
//
// Only held facts are recalled; closed ones are history and keep the date on which
// they stopped being true. A call is remembered once: its Writing is applied whole
// or not at all, and a second one of the same call changes nothing.
//
// What a model proposes is never believed: Admission decides in code, and every
// refusal has a Reason. Memory never trusts an id that a model wrote, never reads
// an instruction out of a fact (facts travel as data in a tool result), and nobody
// has no memory.
//
// It opens no database and knows no model's wire: stores implement Facts, Notebook
// and Editor, and a Model answers an Extraction. It fails by returning the error of
// one of those, or ErrAnswer when the model's answer is not what was asked for; a
// call is sealed all the same. Recall fails only with its context.
package memory

import "time"

// Fact is one thing remembered about a contact.
type Fact struct {
	ID         string    `json:"id,omitempty"`
	Text       string    `json:"text"`
	Category   string    `json:"category,omitempty"`
	Score      float64   `json:"score,omitempty"`  // how well it matched the query, 0 to 1
	Source     string    `json:"source,omitempty"` // the call that taught it
	Since      time.Time `json:"since,omitzero"`   // when it was first held
	Confidence float64   `json:"-"`                // the extraction's own, 0 to 1
}
