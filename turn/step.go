package turn

import (
	"strings"
	"time"

	"headstart/turn/stt"
)

// step takes one occurrence and returns what is to be done. An answer and a
// deadline of the same instant are read in that order, so an answer that is
// just in time counts.
func (s *state) step(now time.Duration, o occurrence) []action {
	s.now, s.actions = now, nil
	if s.left {
		return nil
	}
	s.apply(o)
	s.expire()
	s.advance()
	s.settleStates()
	if s.left {
		s.do(leave{*s.closing}) // last, after all that is still to be told
	}
	return s.actions
}

func (s *state) apply(o occurrence) {
	switch o := o.(type) {
	case progressed:
		s.onProgress(o)
	case finished:
		s.onFinished(o)
	case returned:
		s.onReturned(o)
	case burst:
		s.record(Failure{Code: CodePanic, Message: "internal error", SpeechID: s.currentSpeech()})
		s.close(End{Reason: "error", By: "platform"})
	case closed:
		s.close(o.end)
	default:
		if s.closing == nil {
			s.applyOpen(o)
		}
	}
}

// applyOpen takes what matters only while the conversation is not on its way out.
func (s *state) applyOpen(o occurrence) {
	switch o := o.(type) {
	case began:
		s.begin()
	case voiced:
		s.onVoice(o)
	case paused:
		if s.turn != nil && s.speaking {
			s.turn.quiet, s.turn.ended = true, o.at
		}
	case spokeOn:
		s.onSpokeOn()
	case lasted:
		if s.turn != nil {
			s.turn.long = true
		}
	case heard:
		s.onHeard(o.Event)
	case deafened:
		s.deaf = true
		s.record(Failure{Code: CodeSTT, Message: o.err.Error(), Recoverable: true, SpeechID: s.currentSpeech()})
	case typed:
		s.onTyped(o.text)
	case pressed:
		s.onKey(o.digit)
	case offering:
		s.onOffered(o.tools)
	case dismissed:
		s.sayGoodbye(o.end)
	case handedOver:
		s.onHandedOver(o)
	case kept:
		s.onKept()
	case found:
		s.onFound(o)
	case called:
		s.onCalled(o)
	}
}

// expire acts on every deadline that has come.
func (s *state) expire() {
	if s.now >= s.commitAt() {
		s.endTurn()
	}
	if s.now >= s.bargeAt() {
		s.barge()
	}
	if s.now >= s.resumeAt() {
		s.falseAlarm()
	}
	if s.now >= s.keysAt() {
		s.commitKeys()
	}
	if s.now >= s.budgetAt() {
		s.spendBudget()
	}
	if s.now >= s.patienceAt() {
		s.losePatience()
	}
	if s.now >= s.toolAt() {
		s.expireTools()
	}
	if s.now >= s.awayAt() {
		s.userState = "away"
		s.record(UserState{State: "away"})
	}
	if s.now >= s.ceilingAt() {
		s.sayGoodbye(End{Reason: "timeout", By: "platform"})
	}
}

// advance starts the reply that is owed, once nothing stands in its way, and
// leaves once nothing is left to wait for.
func (s *state) advance() {
	if s.closing != nil {
		if s.reply == nil {
			s.left = true
		}
		return
	}
	switch {
	case s.reply != nil || !s.started && s.farewell == nil: // nobody would hear an answer yet
	case s.farewell != nil:
		s.goodbye()
		if s.closing != nil {
			s.advance()
		}
	case s.handover != nil:
		s.passOn()
	case s.owed != nil && s.owed.lookups.settled():
		s.settleOwed()
	case s.errand != nil:
		s.pursue()
	default:
		s.beginDraft()
	}
}

// settleOwed answers the turn that is owed, whose lookups are in, once no tool of an
// earlier turn is writing, or that takes too long.
func (s *state) settleOwed() {
	if s.owed.settled == 0 {
		s.owed.settled = s.now
	}
	if s.awaitsWriting() {
		return
	}
	s.answer()
	if s.reply == nil { // it was a draft that only calls tools
		s.advance()
	}
}

// begin opens the call once the caller hears us.
func (s *state) begin() {
	if s.started {
		return
	}
	s.started = true
	s.do(warm{})
	greeting := s.cfg.Greeting
	switch {
	case s.handover != nil: // somebody else will greet them
	case greeting.Say != "":
		s.startReply(&reply{kind: KindGreeting, interruptible: greeting.Interruptible}, speak{say: greeting.Say, clip: s.cfg.Clips.Greeting})
	case greeting.Reply != "":
		s.startReply(&reply{kind: KindGreeting, interruptible: greeting.Interruptible}, speak{request: s.opening(greeting.Reply)})
	}
}

func (s *state) onVoice(v voiced) {
	s.record(VAD{Speaking: v.speaking, AtMS: ms(v.at)})
	s.speaking = v.speaking
	if v.speaking {
		s.do(warm{})
		t := s.openTurn(v.at)
		t.voiced, t.over, t.endpoint, t.quiet = true, false, false, false
		return
	}
	if s.turn == nil {
		return
	}
	s.turn.ended = v.at
	s.do(flush{})
}

// onSpokeOn takes a pause back. When the turn was committed in it, what is said
// now is another.
func (s *state) onSpokeOn() {
	if s.turn != nil {
		s.turn.quiet = false
		return
	}
	s.onVoice(voiced{speaking: true, at: s.now})
}

func (s *state) onHeard(ev stt.Event) {
	switch ev.Kind {
	case stt.Interim, stt.Final, stt.EndOfTurn, stt.EagerEndOfTurn:
		s.onWords(ev)
	case stt.SpeechStarted:
		s.deaf = false
	case stt.TurnResumed:
		if t := s.turn; t != nil && t.eager {
			t.eager, t.interim, t.finals = false, t.text(), nil // its next interim carries the whole turn again
			s.dropDraft("the caller spoke on")
		}
	case stt.EndOfSpeech:
		if s.turn != nil {
			s.turn.endpoint = true
		}
	case stt.Reconnected:
		s.deaf = false
		s.record(Failure{Code: CodeSTT, Message: "reconnected after: " + errorText(ev.Err), Recoverable: true, SpeechID: s.currentSpeech()})
	}
}

func (s *state) onWords(ev stt.Event) {
	text := strings.TrimSpace(ev.Text)
	if text == "" && s.turn == nil {
		return
	}
	s.deaf, s.unheardSaid = false, false
	t := s.turn
	if s.reopens() {
		t = s.reopen()
	} else if t == nil {
		t = s.openTurn(s.now)
	}
	before := t.text()
	switch ev.Kind {
	case stt.Interim:
		t.interim, t.endpoint = text, false
	case stt.Final:
		t.interim = ""
		if text != "" {
			t.finals = append(t.finals, text)
		}
		t.finalAt = s.now
	default: // the recogniser's turns carry the whole of it
		t.finals, t.interim, t.finalAt = []string{text}, "", s.now
		t.over, t.eager = ev.Kind == stt.EndOfTurn, ev.Kind == stt.EagerEndOfTurn
	}
	if ev.Language != "" {
		t.language = ev.Language
	}
	if t.late == "" && (!t.voiced || t.over && s.speaking) {
		t.ended = s.now // the detector does not know better yet
	}
	final := t.interim == ""
	if t.text() == before && !final {
		return
	}
	if s.draft != nil && !sameWords(s.draft.text, t.text()) {
		s.dropDraft("the words changed")
	}
	t.wordsAt = s.now
	s.record(UserTranscript{SpeechID: t.id, Text: t.text(), Final: final, Language: t.language})
	s.lookEarly(t)
	s.confirm(t)
}

// openTurn is the turn being spoken; it is made, with its id, at the first sound.
func (s *state) openTurn(at time.Duration) *callerTurn {
	if s.turn == nil {
		s.turn = &callerTurn{id: s.newSpeech(), began: at, ended: at, wordsAt: s.now, lookups: lookups{}}
	}
	return s.turn
}

func (s *state) currentSpeech() SpeechID {
	switch {
	case s.turn != nil:
		return s.turn.id
	case s.owed != nil:
		return s.owed.id
	case s.reply != nil:
		return s.reply.speech
	}
	return ""
}

// onTyped commits a written message at once; it stops the agent as speech would.
func (s *state) onTyped(text string) {
	text = strings.TrimSpace(text)
	if text == "" {
		return
	}
	s.commit(&debt{id: s.newSpeech(), text: text, ended: s.now, finalAt: s.now, medium: mediumText, lookups: lookups{}}, "")
}

// close stops everything on the way out; what was heard is still recorded.
func (s *state) close(end End) {
	if s.closing != nil {
		return
	}
	s.closing = &end
	s.dropDraft(end.Error())
	s.withdrawAll(end)
	if s.turn != nil {
		s.turn.lookups.drop(s, end)
		s.abandonWords()
	}
	s.refuseOwed("refused", end.Error(), end)
	s.stopReply(end)
}

// abandonWords keeps the words of a caller who left before the turn was over.
func (s *state) abandonWords() {
	if text := s.turn.text(); text != "" {
		s.record(TurnUser{SpeechID: s.turn.id, Text: text, Medium: mediumVoice, Language: s.turn.language})
		s.record(TurnRefused{SpeechID: s.turn.id, Outcome: "refused", Reason: s.closing.Error()})
	}
	s.turn = nil
}

// settleStates records the states that the occurrence led to, each once.
func (s *state) settleStates() {
	user := "listening"
	switch {
	case s.speaking || (s.turn != nil && s.turn.interim != ""):
		user = "speaking"
	case s.userState == "away" && s.turn == nil:
		user = "away"
	}
	agent := "initializing"
	switch {
	case s.reply != nil && s.reply.sounding && !s.reply.paused:
		agent = "speaking"
	case s.owed != nil || s.errand != nil || s.reply != nil && s.reply.kind != KindGreeting && !s.reply.paused:
		agent = "thinking"
	case s.started:
		agent = "listening"
	}
	s.noteQuiet(user == "speaking" || agent == "speaking" || agent == "thinking")
	if s.userState != user {
		s.userState = user
		s.record(UserState{State: user, SpeechID: s.currentSpeech()})
	}
	if s.agentState != agent {
		s.agentState = agent
		s.record(AgentState{State: agent, SpeechID: s.currentSpeech()})
	}
}

func (s *state) noteQuiet(busy bool) {
	switch {
	case busy || !s.started || s.turn != nil:
		s.quietSince = never
	case s.quietSince == never:
		s.quietSince = s.now
	}
}

func (s *state) awayAt() time.Duration {
	if s.quietSince == never || s.userState == "away" || s.closing != nil {
		return never
	}
	return s.quietSince + s.cfg.Timing.Away
}

func (s *state) ceilingAt() time.Duration {
	if s.closing != nil || s.farewell != nil || s.handover != nil { // who passes the caller on has a clock of their own
		return never
	}
	if s.cfg.Written {
		return s.saidAt + s.cfg.Timing.Idle
	}
	return s.cfg.Timing.MaxDuration
}

func errorText(err error) string {
	if err == nil {
		return "unknown reason"
	}
	return err.Error()
}
