// Package aura says clauses with Deepgram's Aura over its socket (v1/speak). It
// owns the connections, kept open between turns, the order of the audio and the
// deadlines, and never changes the words.
//
// A turn has a connection to itself: a Speak for each clause, one Flush at its
// end (Deepgram takes 20 a minute), and a Clear when the caller breaks in, after
// which the connection is used again if the answer comes within a second.
// Clearing goes on after Speak has returned; Close waits for it.
//
//	        take            Flush, Flushed
//	idle ---------> in turn ---------------> idle --- 60 s ---> closed
//	                  |  barge-in    Cleared  ^
//	                  +----------> clearing --+
//	                  | error, late     | late
//	                  v                 v
//	                closed            closed
//
// The audio comes in one stream that does not tell clauses apart. It is shared
// out by their characters, at the pace that this voice was heard to have in
// earlier turns (14 characters a second before the first): so which clause a
// piece of audio says is an estimate, but the last of them ends exactly with
// the audio.
//
// It fails with a *provider.Error that tells whether asking again may help, after the
// audio that came before it was played, and with the cause of its context when
// it was cancelled. A connection that had died while it was kept is replaced
// once, unheard; else it asks once.
package aura

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"go.uber.org/zap"

	"headstart/turn/crew"
	"headstart/turn/provider"
	"headstart/turn/tts"
)

// Voice is a voice of Aura. Any number of goroutines may have it speak.
type Voice struct {
	cfg  Config
	log  *zap.Logger
	pace *pace
	pool pool
	busy sync.WaitGroup // exchanges that still read, write or clear
}

// New makes a Voice. It connects to nothing yet.
func New(cfg Config, log *zap.Logger) (*Voice, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("configure aura voice: %w", err)
	}
	cfg = cfg.withDefaults()
	v := &Voice{cfg: cfg, log: log.Named("voice"), pace: newPace(cfg.Rate)}
	v.pool.keepFor = cfg.Idle
	return v, nil
}

// Name is the model that speaks.
func (v *Voice) Name() string { return v.cfg.Model }

// Rate is the sample rate of the audio, in hertz.
func (v *Voice) Rate() int { return v.cfg.Rate }

// Fragments implements tts.Fragmented: all clauses of a turn are one text to
// Aura, so where it is cut does not matter.
func (v *Voice) Fragments() bool { return true }

// Close waits for what is being cleared and closes the kept connections. No
// Speak may be running or follow.
func (v *Voice) Close() {
	v.busy.Wait()
	v.pool.close()
}

// Speak implements turn.Voice.
func (v *Voice) Speak(ctx context.Context, clauses <-chan string, play func(tts.Audio) error) error {
	text := newScript(clauses, v.pace)
	for fresh := false; ; fresh = true {
		link, kept, err := v.take(ctx, fresh)
		if err != nil {
			return err
		}
		err = v.speak(ctx, link, text, play)
		if !kept || !diedInThePool(ctx, text, err) {
			return err
		}
		v.log.Debug("a kept connection had died", zap.Error(err))
	}
}

// diedInThePool tells a connection that was dead before the turn from one that
// was lost in it. One that was late has cost the caller enough already.
func diedInThePool(ctx context.Context, text *script, err error) bool {
	told, ok := errors.AsType[*provider.Error](err)
	return ok && told.Again && ctx.Err() == nil && !text.sounded() && !errors.Is(err, context.DeadlineExceeded)
}

// speak says one turn on one connection.
func (v *Voice) speak(ctx context.Context, link *link, text *script, play func(tts.Audio) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil) // a listener that failed is a barge-in to the connection
	x := newExchange(v.cfg, link, text)
	v.busy.Go(func() { v.exchange(ctx, x) })
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case pcm, ok := <-x.audio:
			if !ok {
				return v.finish(ctx, x, play)
			}
			if err := playAll(text.share(pcm), play); err != nil {
				return err
			}
		}
	}
}

// exchange runs one to its end, and keeps its connection if it may.
func (v *Voice) exchange(ctx context.Context, x *exchange) {
	defer close(x.audio)
	x.err = crew.Guard(func() error { return x.run(ctx, v.log) })
	if x.clean {
		v.pool.put(x.link)
	} else {
		_ = x.link.conn.CloseNow() // it has failed already
	}
}

// finish ends the clauses once all of their audio was played.
func (v *Voice) finish(ctx context.Context, x *exchange, play func(tts.Audio) error) error {
	switch {
	case crew.In(x.err) != nil:
		return crew.Hand(x.err)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case x.err != nil:
		return x.err
	}
	return playAll(x.text.finish(), play)
}

func playAll(pieces []tts.Audio, play func(tts.Audio) error) error {
	for _, piece := range pieces {
		if err := play(piece); err != nil {
			return err
		}
	}
	return nil
}
