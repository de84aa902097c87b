package line

import (
	"context"
	"errors"
	"fmt"
)

// ErrFull says that a letter was not even begun, because those before it wait.
var ErrFull = errors.New("the outbox is full")

// Outbox sends one thing after the other, from the goroutine of Run, so that a
// write that hangs holds up nobody for longer than a write may take.
type Outbox struct {
	letters chan letter
	closed  <-chan struct{}
}

type letter struct {
	send func() error
	done chan error // one place
}

// NewOutbox makes an outbox that takes letters until closed closes.
func NewOutbox(closed <-chan struct{}) *Outbox {
	return &Outbox{letters: make(chan letter, 64), closed: closed}
}

// Run sends until ctx ends.
func (o *Outbox) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case l := <-o.letters:
			l.done <- l.send()
		}
	}
}

// Post puts a letter in and does not wait; after hears how it went.
func (o *Outbox) Post(send func() error, after func(error)) {
	l := letter{done: make(chan error, 1), send: func() error {
		err := send()
		after(err)
		return err
	}}
	select {
	case o.letters <- l:
	default:
		after(ErrFull)
	}
}

// Deliver sends in the order of the calls and waits until it is done, 2 s at
// most. what names it in the error.
func (o *Outbox) Deliver(ctx context.Context, what string, send func() error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, Write, fmt.Errorf("not written after %v", Write))
	defer cancel()
	l := letter{send: send, done: make(chan error, 1)}
	err := o.put(ctx, l)
	if err == nil {
		err = o.wait(ctx, l)
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

func (o *Outbox) wait(ctx context.Context, l letter) error {
	select {
	case err := <-l.done:
		return err
	case <-o.closed:
		return ErrLeft
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
