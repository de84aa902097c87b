package worker

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"

	"headstart/turn"
	"headstart/worker/dispatch"
)

// Serve registers the worker with LiveKit and takes calls until accept ends.
// Then it refuses new ones and lets every call finish, for drain at most or
// until now ends; what is left is ended with reason drained. It returns when no
// call is left, or an error of dispatch when LiveKit refused us.
func (w *Worker) Serve(accept, now context.Context, client *dispatch.Client, drain time.Duration) error {
	// Draining cancels accepting, never a call: each has a context of its own.
	taking, stopTaking := context.WithCancelCause(context.WithoutCancel(accept))
	calls, endCalls := context.WithCancelCause(context.WithoutCancel(accept))
	defer endCalls(nil)
	defer context.AfterFunc(calls, func() { // for the calls whose own context has ended already
		w.why = context.Cause(calls)
		close(w.ending)
	})()
	defer stopTaking(nil)
	// What dead workers left is remembered beside the calls; the next start goes
	// on with what is not done when we end.
	remembering, stopRemembering := context.WithCancelCause(calls)
	left := make(chan struct{})
	go func() { defer close(left); w.rememberLeft(remembering) }()
	defer func() { stopRemembering(errNow); <-left }()
	served := make(chan error, 1)
	go func() { served <- client.Run(taking, calls) }()

	select {
	case err := <-served:
		return err
	case <-accept.Done():
	}
	w.Drain()
	stopTaking(dispatch.ErrDraining)
	if left := w.Calls(); left > 0 {
		w.log.Info("draining", zap.Int("calls", left), zap.Duration("at_most", drain))
	}
	patience := time.NewTimer(drain)
	defer patience.Stop()
	select {
	case err := <-served:
		return err
	case <-patience.C:
		w.log.Warn("drain timeout: saying goodbye to the calls that are left", zap.Int("calls", w.Calls()))
		endCalls(endDrained)
	case <-now.Done():
		w.log.Warn("told to end now", zap.Int("calls", w.Calls()))
		endCalls(errNow)
	}
	select {
	case err := <-served:
		return err
	case <-now.Done():
		endCalls(errNow) // no effect on a call that says goodbye already: that is bounded
	}
	return <-served
}

// errNow ends a call as drained, without a goodbye.
var errNow = fmt.Errorf("told to end now: %w", endDrained)

// Prepare synthesises the phrases that a call may need when its voice is dead.
// What the agent's own voice cannot say now, the spare voice says; the greeting
// is then left to the moment.
func (s *Served) Prepare(ctx context.Context, spare turn.Voice, log *zap.Logger) error {
	cfg := s.Agent.conversation()
	if cfg.Greeting.Say != "" {
		clip, err := turn.Synthesise(ctx, s.Voice, cfg.Greeting.Say, cfg.Says)
		if err != nil {
			log.Warn("greeting not synthesised; it will be when a call begins", zap.String("agent", s.Agent.Name), zap.Error(err))
		}
		s.Clips.Greeting = clip
	}
	for _, p := range []struct {
		phrase turn.Phrase
		clip   **turn.Clip
	}{{turn.PhraseFallback, &s.Clips.Fallback}, {turn.PhraseUnheard, &s.Clips.Unheard}, {turn.PhraseGoodbye, &s.Clips.Goodbye},
		{turn.PhraseHandover, &s.Clips.Handover}, {turn.PhraseKept, &s.Clips.Kept}} {
		text := p.phrase.In(s.Agent.Language)
		clip, err := turn.Synthesise(ctx, s.Voice, text, cfg.Says)
		if err != nil {
			log.Warn("agent's voice failed; a phrase is spoken by the built-in one", zap.String("agent", s.Agent.Name), zap.Error(err))
			clip, err = turn.Synthesise(ctx, spare, text, cfg.Says)
		}
		if err != nil {
			return fmt.Errorf("prepare agent %s: %w", s.Agent.Name, err)
		}
		*p.clip = clip
	}
	return nil
}
