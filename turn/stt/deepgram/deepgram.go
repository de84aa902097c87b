// Package deepgram hears with Deepgram's streaming API (v1/listen, the Nova
// models). It owns one call's audio on the way there: the connection, the
// audio kept until its text is final, and the clock that events are told on.
// It never decides that a turn is over: it passes on what Deepgram heard.
//
// A connection that breaks, closes (1011 included), goes mute while audio flows
// or does not take a message within the write deadline is made anew, after a
// growing wait; the audio since the last final is sent again on it, and
// Reconnected says so. Recognise fails with a Refusal or a Closure that another
// try cannot cure (a wrong key, options, audio), with the last error after a
// minute of failures, and with a Timeout when the last results don't come.
package deepgram

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"headstart/turn/stt"
)

// Recogniser hears calls, each by its own Recognise. It has no state of its own.
type Recogniser struct {
	config Config
	log    *zap.Logger
}

// New makes a recogniser. It fails when the configuration does not validate.
func New(config Config, log *zap.Logger) (*Recogniser, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	return &Recogniser{config: config.withDefaults(), log: log.Named("deepgram")}, nil
}

// Recognise implements turn.Recogniser. It takes audio from the channel as fast
// as it comes, whatever the network does, and calls hear from the calling
// goroutine.
func (r *Recogniser) Recognise(ctx context.Context, audio <-chan stt.Input, hear func(stt.Event)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	kept := newTape(r.config.KeepAudio)
	var intake sync.WaitGroup
	defer intake.Wait()
	defer cancel(nil)
	intake.Go(func() { r.keep(ctx, cancel, audio, kept) })
	return r.listen(ctx, kept, hear)
}

// keep takes the audio in, and bounds the time for the last results after its end.
func (r *Recogniser) keep(ctx context.Context, cancel context.CancelCauseFunc, audio <-chan stt.Input, kept *tape) {
	for {
		select {
		case <-ctx.Done():
			return
		case in, ok := <-audio:
			if !ok {
				kept.finish()
				r.drain(ctx, cancel)
				return
			}
			kept.add(in)
		}
	}
}

func (r *Recogniser) drain(ctx context.Context, cancel context.CancelCauseFunc) {
	limit := time.NewTimer(r.config.DrainTimeout)
	defer limit.Stop()
	select {
	case <-ctx.Done():
	case <-limit.C:
		cancel(&Timeout{What: "last results", After: r.config.DrainTimeout})
	}
}

// listen makes one connection after the other until the text is whole.
func (r *Recogniser) listen(ctx context.Context, kept *tape, hear func(stt.Event)) error {
	var down outage
	for {
		began := time.Now()
		s := &session{config: r.config, log: r.log, kept: kept, hear: hear, down: down}
		err := s.run(ctx)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !retryable(err):
			return fmt.Errorf("listen with deepgram: %w", err)
		}
		if s.alive() || time.Since(began) > r.config.GiveUpAfter {
			down = outage{}
		}
		down.add(err)
		r.log.Warn("connection lost", zap.Int("tries", down.tries), zap.Error(err))
		if time.Since(down.since) > r.config.GiveUpAfter {
			return fmt.Errorf("listen with deepgram, %d tries in %v: %w", down.tries, r.config.GiveUpAfter, err)
		}
		if err := pause(ctx, r.wait(down.tries)); err != nil {
			return err
		}
	}
}

// outage is a run of failures without a message in between.
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
func (r *Recogniser) wait(tries int) time.Duration {
	return r.config.Backoff[min(tries, len(r.config.Backoff))-1]
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
