// Package line is the line between one call's audio and a recogniser behind a
// websocket. It owns the connection, the audio kept until its text is final, the
// clock that events are told on, and every deadline of the wire. What the
// messages mean is the vendor's adapter's: line never reads one.
//
// A connection that breaks, closes (1011 included), goes mute while audio flows
// or does not take a message within the write deadline is made anew, after a
// growing wait; the audio since the last final is sent again on it, and
// Reconnected says so. Listen fails with a Refusal, a Closure or a vendor's own
// error that another try cannot cure (a wrong key, options, audio), with the
// last error after a minute of failures, and with a Timeout when the last
// results don't come.
package line

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"go.uber.org/zap"

	"headstart/turn/crew"
	"headstart/turn/stt"
)

// Vendor is how one vendor is reached and spoken to, as far as a line has to know.
type Vendor struct {
	Name    string      // "deepgram": of errors
	Address string      // the whole URL of the socket
	Header  http.Header // of the handshake
	Timing  Timing      // whole: see WithDefaults
	// HTTPClient makes the connections.
	HTTPClient *http.Client

	// Reader makes the reader of one connection. at places a time of the
	// connection's audio, in seconds, in the call's.
	Reader func(at func(seconds float64) time.Duration) Reader

	Flush string // the text message that asks for the final; empty when there is none
	End   string // the text message that ends the stream

	// Idle is how long no audio may flow before KeepAlive is sent, or, where
	// that is empty, so much silence.
	Idle      time.Duration
	KeepAlive string
	// PingEvery is how often the connection is pinged; 0 is never.
	PingEvery time.Duration
}

// pause is the gap between two sounds that ends a flow of them.
func (v *Vendor) pause() time.Duration {
	if v.KeepAlive == "" {
		return 2 * v.Idle // the silence that fills a pause belongs to the flow
	}
	return v.Idle
}

// Reader understands the messages of one connection. Its methods are called
// from one goroutine.
type Reader interface {
	// Read understands one message. One that it does not know says nothing; an
	// error means that the message is not the protocol's, and it is skipped.
	Read(message []byte) (Heard, error)
	// Over tells what the connection's end makes of what it heard. whole says
	// that the audio had ended; else the connection was lost.
	Over(whole bool) []stt.Event
}

// Heard is what one message says.
type Heard struct {
	Events  []stt.Event
	Settles float64 // seconds of the connection's audio whose text is final; 0 = says nothing of it
	Trouble string  // the vendor's words, when it complained
	Hollow  bool    // the message comes whatever becomes of the audio, and proves nothing
	Fatal   error   // the vendor gave the connection up
}

// Line listens to calls, each by its own Listen. It has no state of its own.
type Line struct {
	vendor Vendor
	log    *zap.Logger
}

// New makes a line.
func New(vendor Vendor, log *zap.Logger) *Line { return &Line{vendor: vendor, log: log} }

// errBurst is the cause that stops what listens when a part of it panicked.
var errBurst = errors.New("panicked")

// Listen does what turn.Recogniser asks of Recognise. It takes audio from the
// channel as fast as it comes, whatever the network does, and calls hear from
// the calling goroutine.
func (l *Line) Listen(ctx context.Context, audio <-chan stt.Input, hear func(stt.Event)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	kept := newTape(l.vendor.Timing.KeepAudio)
	intake := crew.Crew{Stop: func() { cancel(errBurst) }}
	defer intake.Wait()
	defer cancel(nil)
	intake.Do(func() { l.keep(ctx, cancel, audio, kept) })
	return l.listen(ctx, kept, hear)
}

// keep takes the audio in, and bounds the time for the last results after its end.
func (l *Line) keep(ctx context.Context, cancel context.CancelCauseFunc, audio <-chan stt.Input, kept *tape) {
	for {
		select {
		case <-ctx.Done():
			return
		case in, ok := <-audio:
			if !ok {
				kept.finish()
				l.drain(ctx, cancel)
				return
			}
			kept.add(in)
		}
	}
}

func (l *Line) drain(ctx context.Context, cancel context.CancelCauseFunc) {
	limit := time.NewTimer(l.vendor.Timing.DrainTimeout)
	defer limit.Stop()
	select {
	case <-ctx.Done():
	case <-limit.C:
		cancel(&Timeout{What: "last results", After: l.vendor.Timing.DrainTimeout})
	}
}

// listen makes one connection after the other until the text is whole.
func (l *Line) listen(ctx context.Context, kept *tape, hear func(stt.Event)) error {
	var down outage
	giveUp := l.vendor.Timing.GiveUpAfter
	for {
		began := time.Now()
		s := &session{vendor: &l.vendor, log: l.log, kept: kept, hear: hear, down: down}
		err := s.run(ctx)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !retryable(err):
			return fmt.Errorf("listen with %s: %w", l.vendor.Name, err)
		}
		if s.steady() || time.Since(began) > giveUp {
			down = outage{}
		}
		down.add(err)
		l.log.Warn("connection lost", zap.Int("tries", down.tries), zap.Error(err))
		if time.Since(down.since) > giveUp {
			return fmt.Errorf("listen with %s, %d tries in %v: %w", l.vendor.Name, down.tries, giveUp, err)
		}
		if err := pause(ctx, l.wait(down.tries)); err != nil {
			return err
		}
	}
}

// outage is a run of failures without a steady connection in between.
type outage struct {
	since time.Time // the first failure
	tries int
	err   error // the last failure
}

func (o *outage) add(err error) {
	if o.tries == 0 {
		o.since = time.Now()
	}
	o.tries++
	o.err = err
}

// wait is the pause after so many failures.
func (l *Line) wait(tries int) time.Duration {
	backoff := l.vendor.Timing.Backoff
	return backoff[min(tries, len(backoff))-1]
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// bounded runs one operation against its own deadline, and tells the deadline
// as a Timeout.
func bounded(ctx context.Context, what string, limit time.Duration, do func(context.Context) error) error {
	late := &Timeout{What: what, After: limit}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, late)
	defer cancel()
	err := do(ctx)
	if err != nil && errors.Is(context.Cause(ctx), late) {
		return late
	}
	return err
}
