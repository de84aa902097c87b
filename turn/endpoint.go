package turn

import "time"

// commitAt is when the caller's turn is over, as far as is known now.
//
//	the recogniser ended it              at once
//	silent, final, can end there         the minimum after the end of speech;
//	                                     a pause is silence when the recogniser
//	                                     heard its endpoint too
//	silent, final, sounds unfinished     the maximum after the end of speech
//	silent, a final still owed           the maximum after the end of speech
//	silent, not a word                   the maximum: then it was no turn
//	noise never stops, but the
//	recogniser heard its endpoint        the maximum after the last words
func (s *state) commitAt() time.Duration {
	t := s.turn
	if t == nil || s.closing != nil {
		return never
	}
	timing := s.cfg.Timing
	switch {
	case t.over:
		return s.now
	case s.speaking && t.quiet && t.endpoint: // both have heard the end
	case s.speaking && t.endpoint && t.text() != "":
		return t.wordsAt + timing.MaxEndpointing
	case s.speaking:
		return never
	}
	switch {
	case len(t.finals) > 0 && t.interim == "" && !s.unfinished(t.text()):
		return t.ended + timing.MinEndpointing
	}
	return t.ended + timing.MaxEndpointing
}

// endTurn commits the turn being spoken, or forgets it when no word came, or
// none but the sounds of somebody who listens.
func (s *state) endTurn() {
	t := s.turn
	s.turn = nil
	if t.quiet {
		s.speaking = false // sooner than the detector says so
	}
	text := t.text()
	switch {
	case text == "":
		s.forget(t)
		s.onWordless(t)
	case (s.talkingOver() || s.errand != nil) && isBackchannel(text, s.cfg.Language):
		s.forget(t)
		s.resume()
	default:
		s.commit(&debt{
			id: t.id, text: text, ended: min(t.ended, s.now), finalAt: t.finalAt, medium: mediumVoice,
			lookups: t.lookups, unsaid: t.unsaid, withheld: t.withheld, late: t.late,
		}, t.language)
	}
}

// forget drops what was begun for a turn that is none.
func (s *state) forget(t *callerTurn) {
	t.lookups.drop(s, ErrSuperseded)
	s.dropDraft("it was no turn")
}

// unheard is how long speech must last before no word of it is worth an apology:
// anything shorter is a cough.
const unheard = time.Second

// onWordless apologises, once, for speech that nothing was understood of.
func (s *state) onWordless(t *callerTurn) {
	if s.reply != nil {
		s.resume()
		return
	}
	long := t.ended-t.began >= unheard
	if s.unheardSaid || s.owed != nil || s.errand != nil || !s.started || s.farewell != nil || s.handover != nil || !(long || s.deaf) {
		return
	}
	s.unheardSaid = s.sayClip(&reply{kind: KindFallback, speech: t.id, interruptible: true}, s.cfg.Clips.Unheard)
}

// The media of a turn.
const (
	mediumVoice = "voice"
	mediumText  = "text"
	mediumKeys  = "dtmf"
)

// commit closes a turn: from here its budget counts, and an answer is owed.
func (s *state) commit(d *debt, language string) {
	d.committed, s.saidAt, d.before = s.now, s.now, s.before()
	defer s.keepSaid(d) // not before its own lookups have begun
	user := TurnUser{SpeechID: d.id, Text: d.text, Medium: d.medium, Language: language, Supersedes: d.late}
	if s.tooShort(d) {
		d.lookups.drop(s, ErrSuperseded)
		s.dropDraft("too few words")
		s.record(user)
		s.remember(userMessage(d.text))
		s.record(TurnRefused{SpeechID: d.id, Outcome: "refused", Reason: "too few words to interrupt the agent"})
		s.resume()
		return
	}
	if old := s.refuseOwed("superseded", "the caller spoke again", ErrSuperseded); old != "" {
		user.Supersedes = old
	}
	s.record(user)
	if s.farewell != nil {
		d.lookups.drop(s, *s.farewell)
		s.record(TurnRefused{SpeechID: d.id, Outcome: "refused", Reason: s.farewell.Error()})
		return
	}
	if s.reply != nil && s.reply.interruptible {
		s.stopReply(ErrInterrupted)
	}
	s.owed = d
	s.lookAtCommit(d)
}

// reopens tells whether words that come now belong to the turn that was just
// committed: a late final of speech that was over, while the caller has heard
// nothing of the answer yet.
func (s *state) reopens() bool {
	if s.turn != nil || s.speaking {
		return false
	}
	d := s.unanswered()
	return d != nil && d.medium == mediumVoice
}

// unanswered is the committed turn of which the caller has heard no answer yet, and for
// which no tool wrote anything.
func (s *state) unanswered() *debt {
	var d *debt
	switch r, e := s.reply, s.errand; {
	case s.owed != nil:
		d = s.owed
	case r != nil && r.debt != nil && !r.stopping:
		d = r.debt
	case r == nil && e != nil && e.over == nil:
		d = e.debt
	}
	if d == nil || d.heard || d.wrote {
		return nil
	}
	return d
}

// lateWords is why a turn that is taken back was not answered.
const lateWords = "more of its words came late"

// reopen takes a committed turn back, as the beginning of one that goes on.
func (s *state) reopen() *callerTurn {
	d := s.unanswered()
	t := &callerTurn{
		id: s.newSpeech(), began: d.ended, ended: d.ended, finals: []string{d.text}, finalAt: d.finalAt, wordsAt: s.now,
		lookups: lookups{}, late: d.id,
	}
	d.lookups.drop(s, ErrSuperseded)
	s.takeBackSaid(d)
	s.record(TurnRefused{SpeechID: d.id, Outcome: "superseded", Reason: lateWords})
	s.takeBackErrand(d)
	if s.owed == d {
		s.owed = nil
	} else if s.reply != nil {
		s.reply.merged = true
		s.stopReply(ErrSuperseded)
	}
	s.turn = t
	return t
}
