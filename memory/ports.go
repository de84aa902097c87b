package memory

import (
	"context"
	"errors"
	"time"
)

// ErrNoFact means that a contact has no such fact, or no longer holds it.
var ErrNoFact = errors.New("no such fact of this contact")

// Facts reads what is held. Every method is confined to its org, and contacts
// match exactly.
type Facts interface {
	// Current returns the facts that a contact holds now, oldest first, ties by id,
	// with their vectors.
	Current(ctx context.Context, org, contact string) ([]Held, error)
	// History returns all facts of a contact, closed ones too, in the same order and
	// without vectors.
	History(ctx context.Context, org, contact string) ([]Held, error)
	// Count is the number of facts that an org holds now, of all its contacts: what
	// its quota memory_facts counts.
	Count(ctx context.Context, org string) (int, error)
}

// Notebook takes what calls teach.
type Notebook interface {
	// Write applies a writing in one transaction. It returns false, and changes
	// nothing, when this call of this org was written before. A call whose contact
	// was erased since is not written either: false as well.
	Write(ctx context.Context, w Writing) (applied bool, err error)
	// Written tells whether a call was written.
	Written(ctx context.Context, org, call string) (bool, error)
}

// Editor is the operator's hand. Each method answers ErrNoFact for a fact that
// is not the contact's.
type Editor interface {
	// Correct closes a current fact at a time and holds another in its place.
	Correct(ctx context.Context, org, contact, id string, by Held, at time.Time) error
	// Delete erases one fact, held or closed, with its vector and its words.
	Delete(ctx context.Context, org, contact, id string) error
	// Forget erases every fact of a contact and what was kept of their words, and
	// tells how many facts there were. To forget nobody is no error.
	Forget(ctx context.Context, org, contact string) (facts int, err error)
}
