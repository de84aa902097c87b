package turn

import (
	"strings"
	"time"
)

// This file decides who has the floor while both sides speak.
//
//	the caller speaks over the agent
//	  for the minimum, words in hand -------------> interrupted
//	  for the minimum, not a word yet ------------> paused
//	      words come, no mere "ajá" --------------> interrupted
//	      silent, and no words for 2 s,
//	      or only an "ajá" -----------------------> goes on from where it stopped

// talkingOver tells whether the agent is speaking, or was when the caller cut in.
func (s *state) talkingOver() bool {
	return s.reply != nil && !s.reply.stopping && (s.reply.sounding || s.reply.paused)
}

// tooShort tells whether a turn spoken over the agent has too few words to stop it.
func (s *state) tooShort(d *debt) bool {
	return s.talkingOver() && d.medium == mediumVoice && len(strings.Fields(d.text)) < s.cfg.Timing.MinInterruptionWords
}

// bargeAt is when the caller's speech over the agent stops it, for now at least.
func (s *state) bargeAt() time.Duration {
	t, r := s.turn, s.reply
	if t == nil || !t.long || !s.speaking || s.closing != nil || t.barged {
		return never
	}
	if (r == nil || !r.interruptible || r.stopping || r.paused) && s.owed == nil && s.errand == nil {
		return never
	}
	return s.now
}

// barge stops the agent for a caller who has spoken over it long enough: for
// good when there are words, else until it is known what it was.
func (s *state) barge() {
	s.turn.barged = true
	if s.interrupts(s.turn.text()) {
		s.interrupt()
		return
	}
	if r := s.reply; r != nil && r.interruptible && !r.stopping && isBackchannel(s.turn.text(), s.cfg.Language) {
		return // the caller listens, at length
	}
	s.pause()
}

// interrupts tells whether words are reason enough to stop the agent.
func (s *state) interrupts(text string) bool {
	words := len(strings.Fields(text))
	return words > 0 && words >= s.cfg.Timing.MinInterruptionWords && !isBackchannel(text, s.cfg.Language)
}

func (s *state) pause() {
	if s.reply == nil || !s.reply.interruptible || s.reply.stopping || s.reply.paused {
		return
	}
	s.reply.paused = true
	s.do(hold{s.reply.id})
}

// resume lets a paused reply go on from where the caller stopped hearing it.
func (s *state) resume() {
	if s.reply == nil || !s.reply.paused || s.reply.stopping {
		return
	}
	s.reply.paused = false
	s.do(release{s.reply.id})
}

// confirm makes an interruption of words that came while the caller was, or had
// been, speaking long enough over the agent.
func (s *state) confirm(t *callerTurn) {
	if t.barged && s.interrupts(t.text()) {
		s.interrupt()
	}
}

// resumeAt is when a sound over the agent is known to have been none of our
// business: silence since, and no words.
func (s *state) resumeAt() time.Duration {
	if s.reply == nil || !s.reply.paused || s.reply.stopping || s.speaking || s.turn == nil || s.closing != nil {
		return never
	}
	return s.turn.ended + s.cfg.Timing.FalseInterruption
}

// falseAlarm goes on after a sound that was no interruption.
func (s *state) falseAlarm() {
	t := s.turn
	if t.text() != "" && !isBackchannel(t.text(), s.cfg.Language) {
		s.resume() // words, but too few to stop the agent: they wait for the end of the turn
		return
	}
	s.turn = nil
	s.forget(t)
	s.resume()
}

// interrupt stops the agent for the caller who speaks over it, or who speaks
// on before an answer was begun.
func (s *state) interrupt() {
	s.refuseOwed("superseded", "the caller spoke again", ErrSuperseded)
	if s.reply != nil && s.reply.interruptible {
		s.stopReply(ErrInterrupted)
	}
}

// refuseOwed closes the committed turn that has no reply yet, or whose tools run.
func (s *state) refuseOwed(outcome, reason string, cause error) SpeechID {
	d := s.owed
	if d == nil {
		return s.dropErrand(outcome, reason, cause)
	}
	s.owed = nil
	d.lookups.drop(s, cause)
	s.keepTurn(d)
	s.record(TurnRefused{SpeechID: d.id, Outcome: outcome, Reason: reason})
	return d.id
}

// keys are digits that the caller pressed and that are no turn yet.
type keys struct {
	digits string
	last   time.Duration
}

// onKey collects digits until "#", a pause, or enough of them. A key stops the
// agent as speech does.
func (s *state) onKey(digit string) {
	s.record(DTMF{Digit: digit})
	if digit == "#" {
		s.commitKeys()
		return
	}
	if s.reply != nil && s.reply.interruptible {
		s.stopReply(ErrInterrupted)
	}
	s.keys = keys{digits: s.keys.digits + digit, last: s.now}
	if n := s.cfg.KeysLength; n > 0 && len(s.keys.digits) >= n {
		s.commitKeys()
	}
}

func (s *state) keysAt() time.Duration {
	if s.keys.digits == "" || s.closing != nil {
		return never
	}
	return s.keys.last + s.cfg.Timing.Keys
}

// commitKeys makes the digits a turn.
func (s *state) commitKeys() {
	digits := s.keys.digits
	s.keys = keys{}
	if digits != "" {
		s.commit(&debt{id: s.newSpeech(), text: digits, ended: s.now, finalAt: s.now, medium: mediumKeys, lookups: lookups{}}, "")
	}
}
