package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"headstart/turn"
	"headstart/worker/room"
	"headstart/worker/transfer"
)

// modeCold: the caller is sent on by a REFER on their telephone's leg, and the call
// ends here.
const modeCold = "cold"

const (
	// ringing is how long the other side may take to pick up.
	ringing = 30 * time.Second
	// handoverWithin bounds the phrase that tells the caller.
	handoverWithin = 10 * time.Second
	// leftWithin is how long a caller who is gone is taken to be on their way to the
	// other side, while the SIP service has not said so.
	leftWithin = 5 * time.Second
)

// passing is one attempt to pass the caller on.
type passing struct {
	to      string     // a transfer.Address
	outcome chan error // one place: nil, or why the caller was kept
}

// Transfer passes the caller of a call that is on to another telephone or SIP
// address, and returns once somebody there has answered: the call then ends with
// reason transferred. The agent says first that it does. An error, always a
// *transfer.Error, says why the caller was kept. Of a ctx that ends only the wait
// ends: what was begun goes on.
func (w *Worker) Transfer(ctx context.Context, call, to string) error {
	address, err := transfer.Address(to, w.cfg.Region)
	if err != nil {
		return err
	}
	c := w.callOf(call)
	if c == nil {
		return transfer.New(transfer.NoCall, "No such call is on in this process.")
	}
	p := &passing{to: address, outcome: make(chan error, 1)}
	select {
	case c.passings <- p:
	case <-c.over:
		return transfer.New(transfer.NoCall, "The call is over.")
	case <-ctx.Done():
		return transfer.New(transfer.Busy, "The call does not listen: %v.", context.Cause(ctx))
	}
	select {
	case err := <-p.outcome:
		return err
	case <-ctx.Done():
		return transfer.New(transfer.Late, "It is not known yet whether the caller was taken: %v.", context.Cause(ctx))
	case <-c.over:
	}
	select {
	case err := <-p.outcome: // told just before the end
		return err
	default:
		return transfer.New(transfer.Left, "The call ended before the other side answered.")
	}
}

// callOf is a call that is on in this process, nil when there is none.
func (w *Worker) callOf(id string) *call {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls[id]
}

// enter makes the call known until leave is called.
func (w *Worker) enter(c *call) (leave func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls[c.id] = c
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.calls, c.id)
		close(c.over)
	}
}

// passOn begins to pass the caller on: the agent tells them, then the SIP service is
// asked.
func (c *call) passOn(ctx context.Context, p *passing) {
	if err := c.mayPassOn(); err != nil {
		p.outcome <- err
		return
	}
	c.passing = p
	c.book.Append(turn.CallTransfer{To: p.to, Mode: modeCold, Outcome: "begun"})
	said := make(chan struct{})
	c.send(turn.HandOver{Said: said})
	asking, stop := context.WithCancelCause(context.WithoutCancel(ctx)) // the call's end stops it
	c.stopPassing = stop
	identity := c.caller.Identity
	c.beside("transfer", func() { c.passed <- c.refer(asking, said, identity, p.to) })
}

// mayPassOn says why the caller cannot be passed on now.
func (c *call) mayPassOn() error {
	switch {
	case c.passing != nil:
		return transfer.New(transfer.Busy, "The caller is being passed on already.")
	case c.ordered != nil:
		return transfer.New(transfer.Busy, "The call is being ended.")
	case c.caller == nil || !c.talking || c.gone || c.dialling():
		return transfer.New(transfer.Busy, "The caller is not on the line.")
	case c.caller.Kind != kindSIP:
		return transfer.New(transfer.NoPhone, "The caller came by no telephone, and cannot be sent to one.")
	}
	return nil
}

// refer waits until the caller has been told, and asks the SIP service.
func (c *call) refer(ctx context.Context, said <-chan struct{}, identity, to string) error {
	late := time.NewTimer(handoverWithin)
	defer late.Stop()
	select {
	case <-said:
	case <-late.C: // they learn of it as it happens
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return c.room.Refer(ctx, identity, to, ringing)
}

// onPassed ends the call whose caller was taken; it goes on with one who was not,
// unless they have left meanwhile.
func (c *call) onPassed(err error) *turn.End {
	p := c.passing
	c.passing = nil
	c.stopPassing(nil)
	if err == nil {
		c.book.Append(turn.CallTransfer{To: p.to, Mode: modeCold, Outcome: "transferred"})
		p.outcome <- nil
		return new(endTransferred)
	}
	why := whyKept(err)
	c.log.Warn("caller not passed on", zap.String("code", string(why.Code)), zap.Error(err))
	c.book.Append(turn.CallTransfer{To: p.to, Mode: modeCold, Outcome: "failed"})
	c.book.Append(turn.Failure{Code: turn.CodeTransfer, Message: why.Sentence, Recoverable: true})
	p.outcome <- why
	if c.gone {
		return new(endHungUp)
	}
	c.send(turn.Keep{})
	return nil
}

// whyKept reads why the SIP service did not pass the caller on.
func whyKept(err error) *transfer.Error {
	sip, ok := errors.AsType[*room.SIPFailure](err)
	switch {
	case !ok:
		return transfer.New(transfer.Failed, "The caller could not be passed on.")
	case sip.Status != 0:
		return transfer.New(transfer.Refused, "The other side did not take the call: %s.", fmt.Sprintf("SIP %d %s", sip.Status, sip.Reason))
	case sip.Late:
		return transfer.New(transfer.Late, "Nobody there answered within %v.", ringing)
	case sip.Service:
		return transfer.New(transfer.NoService, "LiveKit has no SIP service that could pass the caller on.")
	}
	return transfer.New(transfer.Refused, "The caller could not be passed on: %s.", sip.Reason)
}
