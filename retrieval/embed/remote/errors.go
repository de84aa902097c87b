package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Error is why a server gave no vectors. It never holds the texts, nor what the
// server said of them, but for a code: servers repeat what they were sent.
type Error struct {
	Embedder string
	Status   int           // the HTTP status of a refusal, 0 when no whole answer came
	Tries    int           // how often the server was asked
	Again    bool          // whether the same request may go through next time
	Wait     time.Duration // what the server asked to wait before; 0 is nothing
	Err      error
}

// Error implements error.
func (e *Error) Error() string {
	if e.Tries > 1 {
		return fmt.Sprintf("ask embedder %s: %d tries: %v", e.Embedder, e.Tries, e.Err)
	}
	return fmt.Sprintf("ask embedder %s: %v", e.Embedder, e.Err)
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Retryable tells whether asking again may help.
func (e *Error) Retryable() bool { return e.Again }

// TimeoutError says that an answer was late, and after how long. It is
// context.DeadlineExceeded to errors.Is.
type TimeoutError struct {
	What  string
	After time.Duration
}

// Error implements error.
func (e *TimeoutError) Error() string {
	return fmt.Sprintf("wait for %s: timed out after %s", e.What, e.After)
}

// Is makes the error a context.DeadlineExceeded.
func (e *TimeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// DimensionError means that a server gives vectors of another length than it
// was asked for, or than it gave before. They cannot be compared.
type DimensionError struct {
	Embedder string // that was asked
	Dim      int    // that it has
	Model    string // that answered, in the server's words; may be empty
	Got      int    // the length of its vectors
}

// Error names both sides and the way out.
func (e *DimensionError) Error() string {
	model := e.Model
	if model == "" {
		model = "the server"
	}
	return fmt.Sprintf("embedder %s has %d dimensions, %s answered with %d: set options.dim to %d and push the bases again, or point base_url at the model that embedded them",
		e.Embedder, e.Dim, model, e.Got, e.Got)
}

// CountError means that a server gave another number of vectors than it was
// sent texts, or named a text that it was not sent.
type CountError struct {
	Embedder string
	Texts    int
	Vectors  int
}

// Error names both numbers.
func (e *CountError) Error() string {
	return fmt.Sprintf("embedder %s was sent %d texts and gave %d vectors, not one for each: point base_url at a server that answers a batch whole, or lower options.max_inputs",
		e.Embedder, e.Texts, e.Vectors)
}

// What a body may be short of.
var (
	errGarbage   = errors.New("answer is no list of vectors")
	errTooLarge  = errors.New("answer is larger than its vectors could be")
	errNotFinite = errors.New("vector is not finite")
)

// retryableStatus tells whether an HTTP status is worth asking again: 408, 409,
// 429 and every 5xx.
func retryableStatus(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return true
	}
	return status >= http.StatusInternalServerError
}
