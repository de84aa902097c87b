package retrieval

import (
	"errors"
	"fmt"
)

// ErrBudgetSpent is the cause with which a turn cancels the lookups that its
// budget no longer covers. A search that is cancelled with it answers from the
// words alone if it has them.
var ErrBudgetSpent = errors.New("lookup budget spent")

// ErrNoBase means that the query named no base, or that its org searches nothing:
// nothing ran, and the caller logs nothing.
var ErrNoBase = errors.New("no base attached")

// ErrNotReady means that a base of the query is not in memory (yet).
type ErrNotReady struct{ Base string }

// Error implements error.
func (e ErrNotReady) Error() string { return fmt.Sprintf("base %s is not ready", e.Base) }

// ErrLate means that the vectors of a search were late or failed, and that one of its
// bases gives up the search then: see LateSkip.
type ErrLate struct {
	Base string // which gives up
	Err  error  // why there are no vectors
}

// Error implements error.
func (e ErrLate) Error() string {
	return fmt.Sprintf("base %s is not searched by its words alone: %v", e.Base, e.Err)
}

// Unwrap returns why there are no vectors.
func (e ErrLate) Unwrap() error { return e.Err }

// ErrMismatch means that an embedder and a base, or what was expected of the
// embedder and what it gave, do not fit. Vectors of two models never mix.
type ErrMismatch struct {
	Base     string // the base that is asked or built
	Holds    string // the model that the base was embedded with
	HoldsDim int
	Got      string // the model that answered
	GotDim   int
}

// Error names both sides and the way out.
func (e ErrMismatch) Error() string {
	return fmt.Sprintf("base %s holds vectors of %s with %d dimensions, the embedder %s gives %d: use %s, or change the base with headstart docs reembed %s",
		e.Base, e.Holds, e.HoldsDim, e.Got, e.GotDim, e.Holds, e.Base)
}
