// Package memory owns what is remembered of a contact: who is on the line, and
// the facts that calls taught about them. It never trusts an id that a model
// wrote, and nobody has no memory.
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
