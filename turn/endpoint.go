package turn

import (
	"strings"
	"time"
)

// commitAt is when the caller's turn is over, as far as is known now.
//
//	the recogniser ended it          at once
//	silent, every word final         the minimum after the end of speech
//	silent, a final still owed       the maximum after the end of speech
//	silent, not a word               the maximum: then it was no turn
//	noise never stops, but the
//	recogniser heard its endpoint    the maximum after the last words
func (s *state) commitAt() time.Duration {
	t := s.turn
	if t == nil || s.closing != nil {
		return never
	}
	timing := s.cfg.Timing
	switch {
	case t.over:
		return s.now
	case s.speaking && t.endpoint && t.text() != "":
		return t.wordsAt + timing.MaxEndpointing
	case s.speaking:
		return never
	case len(t.finals) > 0 && t.interim == "":
		return t.ended + timing.MinEndpointing
	}
	return t.ended + timing.MaxEndpointing
}

// endTurn commits the turn being spoken, or forgets it when no word came.
func (s *state) endTurn() {
	t := s.turn
	s.turn = nil
	text := t.text()
	if text == "" {
		t.lookups.drop(s, ErrSuperseded)
		s.onWordless(t)
		return
	}
	s.commit(&debt{id: t.id, text: text, ended: min(t.ended, s.now), finalAt: t.finalAt, medium: "voice", lookups: t.lookups}, t.language)
}

// unheard is how long speech must last before no word of it is worth an apology:
// anything shorter is a cough.
const unheard = time.Second

// onWordless apologises, once, for speech that nothing was understood of.
func (s *state) onWordless(t *callerTurn) {
	long := t.ended-t.began >= unheard
	if s.unheardSaid || s.reply != nil || s.owed != nil || !s.started || !(long || s.deaf) {
		return
	}
	s.unheardSaid = true
	s.sayClip(KindFallback, t.id, s.cfg.Clips.Unheard)
}

// commit closes a turn: from here its budget counts, and an answer is owed.
func (s *state) commit(d *debt, language string) {
	d.committed = s.now
	if s.tooShort(d) {
		d.lookups.drop(s, ErrSuperseded)
		s.record(TurnUser{SpeechID: d.id, Text: d.text, Medium: d.medium, Language: language})
		s.remember(userMessage(d.text))
		s.record(TurnRefused{SpeechID: d.id, Outcome: "refused", Reason: "too few words to interrupt the agent"})
		return
	}
	supersedes := s.refuseOwed("superseded", "the caller spoke again", ErrSuperseded)
	s.record(TurnUser{SpeechID: d.id, Text: d.text, Medium: d.medium, Language: language, Supersedes: supersedes})
	if s.reply != nil && s.reply.interruptible {
		s.stopReply(ErrInterrupted)
	}
	s.owed = d
	s.lookAtCommit(d)
}

// tooShort tells whether a turn spoken over the agent has too few words to stop it.
func (s *state) tooShort(d *debt) bool {
	over := s.reply != nil && s.reply.sounding && !s.reply.stopping
	return over && d.medium == "voice" && len(strings.Fields(d.text)) < s.cfg.Timing.MinInterruptionWords
}

// bargeAt is when the caller's speech over the agent becomes an interruption.
func (s *state) bargeAt() time.Duration {
	t := s.turn
	if t == nil || !s.speaking || s.closing != nil || !s.canInterrupt() {
		return never
	}
	if len(strings.Fields(t.text())) < s.cfg.Timing.MinInterruptionWords {
		return never
	}
	return t.began + s.cfg.Timing.MinInterruption
}

// canInterrupt tells whether anything of ours would stop for the caller.
func (s *state) canInterrupt() bool {
	if s.reply != nil {
		return s.reply.interruptible && !s.reply.stopping
	}
	return s.owed != nil
}

// interrupt stops the agent for the caller who speaks over it, or who speaks
// on before an answer was begun.
func (s *state) interrupt() {
	s.refuseOwed("superseded", "the caller spoke again", ErrSuperseded)
	s.stopReply(ErrInterrupted)
}

// refuseOwed closes the committed turn that has no reply yet.
func (s *state) refuseOwed(outcome, reason string, cause error) SpeechID {
	d := s.owed
	if d == nil {
		return ""
	}
	s.owed = nil
	d.lookups.drop(s, cause)
	s.remember(userMessage(d.text))
	s.record(TurnRefused{SpeechID: d.id, Outcome: outcome, Reason: reason})
	return d.id
}
