// Package provider owns what is alike in every provider that answers a request,
// a model's or a voice's: how it is connected to, how long its next piece may take,
// and why an answer is not whole. It asks nobody, decides nothing and knows nothing of turns.
package provider

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// Error is why a provider gave no whole answer. It never holds words of the
// conversation.
type Error struct {
	Op     string // what was being done: "ask model", "read answer"
	Status int    // the HTTP status of a refusal, 0 when no answer came or it was 200
	Again  bool   // whether the same request may go through next time
	Err    error
}

// Error implements error.
func (e *Error) Error() string { return e.Op + ": " + e.Err.Error() }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Retryable tells whether asking again may help.
func (e *Error) Retryable() bool { return e.Again }

// RetryableStatus tells whether an HTTP status is worth asking again: 408, 409,
// 429 and every 5xx, the same set that OpenAI's own SDK asks again on.
func RetryableStatus(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return true
	}
	return status >= http.StatusInternalServerError
}

// TimeoutError says what was waited for, and for how long. It is
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

// Timeout implements net.Error's half that callers look at.
func (e *TimeoutError) Timeout() bool { return true }

// Watch cancels a context, with a TimeoutError as its cause, when the next
// thing is late. One goroutine calls its methods.
type Watch struct {
	cancel context.CancelCauseFunc
	timer  *time.Timer
	late   *TimeoutError
	began  time.Time     // when the clock last ran
	left   time.Duration // what it had left then
}

// NewWatch derives the context that it will cancel. Nothing is awaited yet.
func NewWatch(ctx context.Context) (context.Context, *Watch) {
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, &Watch{cancel: cancel}
}

// Await starts a new clock, in place of the one before.
func (w *Watch) Await(what string, after time.Duration) {
	w.Pause()
	w.late, w.left = &TimeoutError{What: what, After: after}, after
	w.Resume()
}

// Pause stops the clock: the next wait is ours, not the provider's.
func (w *Watch) Pause() {
	if w.timer == nil {
		return
	}
	w.timer.Stop()
	w.timer = nil
	w.left = max(0, w.left-time.Since(w.began))
}

// Resume runs a paused clock on with what it had left.
func (w *Watch) Resume() {
	if w.timer != nil || w.late == nil {
		return
	}
	late := w.late
	w.began = time.Now()
	w.timer = time.AfterFunc(w.left, func() { w.cancel(late) })
}

// Stop ends the watch and releases its context.
func (w *Watch) Stop() {
	w.Pause()
	w.cancel(nil)
}
