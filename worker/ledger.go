package worker

import (
	"sync"
	"time"

	"go.uber.org/zap"

	"headstart/memory"
	"headstart/turn"
	"headstart/worker/calllog"
)

// ledger is a call's log as the call writes it: each event goes to the log
// first, then to the captions, and is counted for the summary.
type ledger struct {
	journal notes
	log     *zap.Logger
	show    *captions // nil before the room is joined
	tally   tally
}

func newLedger(journal notes, log *zap.Logger) *ledger { return &ledger{journal: journal, log: log} }

// Append implements turn.Log.
func (l *ledger) Append(ev turn.Event) {
	l.journal.Append(ev)
	if l.show != nil {
		l.show.add(ev)
	}
	l.tally.count(ev)
	if m, ok := ev.(turn.MetricsTurn); ok {
		l.log.Info("turn", zap.String("speech", string(m.SpeechID)), zap.Float64("endpointing_ms", m.EndpointingMS),
			zap.Float64("lookup_wait_ms", m.LookupWaitMS), zap.Float64("first_audio_ms", m.FirstAudioMS))
	}
}

// Remember implements notes.
func (l *ledger) Remember(ops turn.MemoryOps, w memory.Writing) {
	l.journal.Remember(ops, w)
	l.tally.count(ops)
}

// observedBook begins logs whose events the worker's observer is told of too.
type observedBook struct {
	*calllog.Book
	observe func(turn.Event)
}

// Begin is calllog.Book's.
func (b observedBook) Begin(call, agent string) (observedLog, error) {
	l, err := b.Book.Begin(call, agent)
	return observedLog{l, b.observe}, err
}

// observedLog is a call's log; its ledger writes it.
type observedLog struct {
	*calllog.Log
	observe func(turn.Event)
}

// Append implements turn.Log: the log has the event first.
func (l observedLog) Append(ev turn.Event) {
	l.Log.Append(ev)
	l.observe(ev)
}

// Remember is calllog.Log's.
func (l observedLog) Remember(ops turn.MemoryOps, w memory.Writing) {
	l.Log.Remember(ops, w)
	l.observe(ops)
}

// tally counts a call for its summary.
type tally struct {
	mu  sync.Mutex // guards sum
	sum turn.CallSummary
}

func (t *tally) count(ev turn.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := &t.sum
	switch ev := ev.(type) {
	case turn.TurnUser:
		s.Turns++
	case turn.TurnAgent:
		if ev.Kind == turn.KindReply {
			s.Answered++
		}
		if ev.Interrupted {
			s.Interrupted++
		}
	case turn.DocsSources:
		s.Lookups++
	case turn.MemoryOps:
		if ev.Op == "recall" {
			s.Lookups++
		}
	case turn.Failure:
		s.Errors++
		if ev.Code == turn.CodeSearchSkipped || ev.Code == turn.CodeRecallSkipped {
			s.Skipped++
		}
	}
}

func (t *tally) dropped(frames int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sum.DroppedAudio += frames
}

func (t *tally) frames(heard, said, lost, dropped int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sum.FramesHeard, t.sum.FramesSaid, t.sum.FramesLost = heard, said, lost
	t.sum.DroppedAudio += dropped
}

func (t *tally) summary(lasted time.Duration) turn.CallSummary {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sum.DurationS = lasted.Seconds()
	return t.sum
}
