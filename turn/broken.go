package turn

import (
	"fmt"
	"time"
)

// mostFailures is how many answers in a row may break before the call is ended:
// there is no use in apologising for ever.
const mostFailures = 3

// onBroken lets the caller hear that something of ours broke.
func (s *state) onBroken(r *reply) {
	if r.kind == KindReply {
		s.failures++
	}
	if s.failures >= mostFailures {
		s.sayGoodbye(End{Reason: "error", By: "platform"})
		return
	}
	if r.kind != KindFallback && s.handover == nil { // who is passed on is told nothing else
		s.sayClip(&reply{kind: KindFallback, speech: r.speech, interruptible: true}, s.cfg.Clips.Fallback)
	}
}

// sayGoodbye says the closing phrase and ends the conversation after it. What
// is owed is not answered any more.
func (s *state) sayGoodbye(end End) {
	if s.farewell != nil || s.closing != nil {
		return
	}
	s.farewell = &end
	s.dropDraft("the call is being ended")
	s.refuseOwed("refused", end.Error(), end)
	if s.reply != nil {
		s.stopReply(end) // advance goes on once it has stopped
	}
}

// goodbye speaks the closing phrase; without one the conversation just ends.
func (s *state) goodbye() {
	if !s.started || !s.sayClip(&reply{kind: KindGoodbye}, s.cfg.Clips.Goodbye) {
		s.close(*s.farewell)
	}
}

// patienceAt is when an answer that makes no sound is given up: the caller hears
// a fallback instead of silence.
func (s *state) patienceAt() time.Duration {
	r := s.reply
	if r == nil || r.debt == nil || r.sounding || r.stopping || r.paused || s.closing != nil || s.cfg.Clips.Fallback == nil {
		return never
	}
	return max(r.began, r.debt.settled) + s.cfg.Timing.Patience
}

// losePatience stops an answer that nothing is heard of.
func (s *state) losePatience() {
	waited := s.now - s.reply.debt.settled
	s.reply.late = fmt.Errorf("nothing of the answer was heard %v after it was due", waited.Round(time.Millisecond))
	s.reply.lateCode = CodeTTS
	if s.reply.marks[stageClause] == 0 {
		s.reply.lateCode = CodeLLM
	}
	s.stopReply(s.reply.late)
}
