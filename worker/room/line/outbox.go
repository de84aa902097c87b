package line

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"headstart/turn/crew"
)

// ErrFull says that a letter was not even begun, because those before it wait.
var ErrFull = errors.New("the outbox is full")

// errHangs says that the SDK did not come back.
var errHangs = fmt.Errorf("not written after %v", Write)

// Outbox sends one thing after the other, so that a write that hangs holds up
// nobody for longer than a write may take. Then it is left to itself, and
// counted; should it come back to life, it may overtake what was sent since.
type Outbox struct {
	letters   chan letter
	closed    <-chan struct{}
	abandoned atomic.Int64
}

type letter struct {
	send    func() error
	after   func(error) // hears how it went
	awaited func() bool // somebody still wants it sent
}

// NewOutbox makes an outbox that takes letters until closed closes.
func NewOutbox(closed <-chan struct{}) *Outbox {
	return &Outbox{letters: make(chan letter, 64), closed: closed}
}

// Abandoned is how many writes were left to themselves.
func (o *Outbox) Abandoned() int64 { return o.abandoned.Load() }

// Run sends until ctx ends, and the write that is on its way has ended or been
// abandoned. A write that panicked ends it, too, and is its error.
func (o *Outbox) Run(ctx context.Context) error {
	deadline := time.NewTimer(Write)
	defer deadline.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case l := <-o.letters:
			if !l.awaited() {
				break
			}
			deadline.Reset(Write)
			err := o.send(l.send, deadline.C)
			l.after(err)
			if crew.In(err) != nil {
				return err
			}
		}
	}
}

// send writes in a goroutine of its own: the SDK's calls know no deadline, and
// nothing ends one that hangs.
func (o *Outbox) send(send func() error, deadline <-chan time.Time) error {
	sent := make(chan error, 1)
	go func() { sent <- crew.Guard(send) }()
	select {
	case err := <-sent:
		return err
	case <-deadline:
		o.abandoned.Add(1)
		return errHangs
	}
}

// Post puts a letter in and does not wait; after hears how it went.
func (o *Outbox) Post(send func() error, after func(error)) {
	select {
	case o.letters <- letter{send: send, after: after, awaited: func() bool { return true }}:
	default:
		after(ErrFull)
	}
}

// Deliver sends in the order of the calls and waits until it is done, 2 s at
// most; what has not begun by then is never sent. what names it in the error.
func (o *Outbox) Deliver(ctx context.Context, what string, send func() error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, Write, errHangs)
	defer cancel()
	done := make(chan error, 1)
	err := o.put(ctx, letter{send: send, after: func(err error) { done <- err }, awaited: func() bool { return ctx.Err() == nil }})
	if err == nil {
		err = o.wait(ctx, done)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

func (o *Outbox) put(ctx context.Context, l letter) error {
	select {
	case <-o.closed:
		return ErrLeft
	default:
	}
	select {
	case o.letters <- l:
		return nil
	case <-o.closed:
		return ErrLeft
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (o *Outbox) wait(ctx context.Context, done <-chan error) error {
	select {
	case err := <-done:
		return err
	case <-o.closed:
		return ErrLeft
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
