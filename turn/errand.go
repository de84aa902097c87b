package turn

import (
	"slices"
	"strings"
	"time"

	"headstart/turn/llm"
)

// This file is how a committed turn has tools do something: the app's, and the platform's
// search (searching.go). The model's answer calls them; while they run the caller hears
// what the model said with them, or else what the tool announces; then the receipts; then
// the model is asked again, with the results, until it answers in words.
//
//	thinking -- calls --> errand -- all back, nothing being said --> receipts --> thinking
//	                        | the caller speaks on, hangs up
//	                        v
//	                      over: calls that read are cancelled, those that write run on,
//	                      and history keeps each with its result
type errand struct {
	debt     *debt
	calls    []*toolCall   // in the model's order
	announce string        // to be said, empty once it is
	silent   time.Duration // when what was said last in it ended
	words    string        // heard of the answer that called, or of the announcement
	over     *TurnRefused
}

// mostRounds is how many answers of one turn may call tools. After that they are no
// longer offered, so that the model has to answer.
const mostRounds = 5

// done tells whether every call has its result.
func (e *errand) done() bool {
	return !slices.ContainsFunc(e.calls, func(c *toolCall) bool { return c.running })
}

// writes tells whether a call was made that must not be made again.
func (e *errand) writes() bool {
	return slices.ContainsFunc(e.calls, func(c *toolCall) bool { return c.ran && c.tool.SideEffect.Writes() })
}

// messages are the calls and their results, as requests carry them.
func (e *errand) messages() []llm.Message {
	call := llm.Message{Role: llm.Assistant, Content: e.words}
	list := []llm.Message{call}
	for _, c := range e.calls {
		list[0].ToolCalls = append(list[0].ToolCalls, c.made)
		list = append(list, llm.Message{Role: llm.ToolRole, ToolCallID: c.made.ID, Content: c.content()})
	}
	return list
}

// onCalled begins an errand for an answer that called tools. Those of an answer begun
// before its turn was committed wait for the commit.
func (s *state) onCalled(c called) {
	if s.draft != nil && s.draft.id == c.id {
		s.draft.called = &c
		return
	}
	r := s.reply
	if r == nil || r.id != c.id || r.stopping || s.closing != nil || s.farewell != nil || !s.isErrand(r, c.calls) {
		return
	}
	r.kind = KindAnnounce
	r.debt.rounds++
	s.errand = &errand{debt: r.debt}
	for _, made := range c.calls {
		s.errand.calls = append(s.errand.calls, s.call(r.debt, made))
	}
	if !c.said {
		s.errand.announce = announcement(s.errand.calls)
	}
	r.debt.wrote = r.debt.wrote || s.errand.writes()
}

// isErrand tells whether calls are more than the end of the call. The model of an agent
// without tools is told nothing of those that it made up.
func (s *state) isErrand(r *reply, calls []llm.ToolCall) bool {
	if r.debt == nil || len(s.tools) == 0 || r.debt.rounds >= mostRounds {
		return false
	}
	return slices.ContainsFunc(calls, func(c llm.ToolCall) bool { return c.Name != endCall || s.cfg.Hangup == nil })
}

// announcement is what the first tool that runs and has one says as it starts.
func announcement(calls []*toolCall) string {
	for _, c := range calls {
		if c.ran && strings.TrimSpace(c.tool.Announce) != "" {
			return c.tool.Announce
		}
	}
	return ""
}

// pursue goes on with the errand, once nothing is being said.
func (s *state) pursue() {
	e := s.errand
	waits := s.wordsAt() != never
	if e.announce != "" && !waits {
		words := e.announce
		e.announce = ""
		s.sayFor(e.debt, KindAnnounce, words)
		return
	}
	if !e.done() || waits {
		return
	}
	for _, c := range e.calls {
		if c.receipt != "" && !c.receipted {
			c.receipted = true
			s.sayFor(e.debt, KindReceipt, c.receipt)
			return
		}
	}
	s.errand = nil
	d := e.debt
	d.exchange = append(d.exchange, e.messages()...)
	s.startReply(&reply{kind: KindReply, interruptible: true, debt: d, speech: d.id}, speak{request: s.request(d)})
}

// wordsAt is until when an errand waits for words that the caller is saying: what would be
// said for it now is superseded at their commit.
func (s *state) wordsAt() time.Duration {
	t := s.turn
	if s.errand == nil || t == nil || t.text() == "" || isBackchannel(t.text(), s.cfg.Language) {
		return never
	}
	if at := t.wordsAt + s.cfg.Timing.MaxEndpointing; s.now < at {
		return at
	}
	return never
}

// sayFor says words that are given, in the turn of an errand.
func (s *state) sayFor(d *debt, kind, words string) {
	s.startReply(&reply{kind: kind, interruptible: true, debt: d, speech: d.id}, speak{say: words})
}

// serves tells whether a reply is of the errand in hand: it closes no turn.
func (s *state) serves(r *reply) bool {
	return s.errand != nil && r.debt == s.errand.debt
}

// keepErrandWords records what was heard of a reply that serves the errand.
func (s *state) keepErrandWords(r *reply, out outcome) {
	e := s.errand
	if r.told {
		s.record(AgentTranscript{SpeechID: r.speech, Final: true})
	}
	if out.text != "" {
		e.silent = s.now
		s.record(TurnAgent{SpeechID: r.speech, Text: out.text, Interrupted: !out.whole, Kind: r.kind, HeardMS: ms(out.heard)})
		e.heard(r.kind, out.text)
	}
	if e.over != nil {
		s.closeErrand()
	}
}

// heard keeps words for the model: with the calls, or with the result that they tell of.
func (e *errand) heard(kind, words string) {
	if kind == KindAnnounce {
		e.words = words
		return
	}
	for _, c := range slices.Backward(e.calls) {
		if c.receipted {
			c.said = words
			return
		}
	}
}

// dropErrand gives up the errand in hand. What only reads is cancelled; what writes runs
// on, and its result is there for the next request.
func (s *state) dropErrand(outcome, reason string, cause error) SpeechID {
	e := s.errand
	if e == nil || e.over != nil {
		return ""
	}
	e.over, e.announce = &TurnRefused{SpeechID: e.debt.id, Outcome: outcome, Reason: reason}, ""
	s.cancelReads(e, reason, cause)
	if s.reply == nil || s.reply.debt != e.debt {
		s.closeErrand()
	}
	return e.debt.id
}

func (s *state) cancelReads(e *errand, reason string, cause error) {
	for _, c := range e.calls {
		if c.running && !c.tool.SideEffect.Writes() {
			s.withdraw(c, "not finished: "+reason, cause)
		}
	}
}

// closeErrand closes the turn of an errand that was given up.
func (s *state) closeErrand() {
	e := s.errand
	s.errand = nil
	e.debt.exchange = append(e.debt.exchange, e.messages()...)
	s.keepTurn(e.debt)
	for i, c := range e.calls {
		c.kept = len(s.history) - len(e.calls) + i
	}
	s.record(*e.over)
}

// takeBackErrand forgets the errand of a turn that goes on in another. None of its calls
// wrote anything.
func (s *state) takeBackErrand(d *debt) {
	if s.errand == nil || s.errand.debt != d {
		return
	}
	s.cancelReads(s.errand, lateWords, ErrSuperseded)
	s.errand = nil
}

// keepTurn puts a turn into the history: the caller's words, and what tools that the
// model called were asked and returned.
func (s *state) keepTurn(d *debt) {
	s.remember(userMessage(d.text))
	s.history = append(s.history[:len(s.history):len(s.history)], d.exchange...)
}

// writeWait is how long a committed turn waits, from its commit, for a tool of an earlier
// turn that writes: a model that is asked sooner would not know what came of it.
const writeWait = 3 * time.Second

// writing is the oldest call that writes and is not back, nil when there is none.
func (s *state) writing() *toolCall {
	for _, c := range s.running {
		if c.tool.SideEffect.Writes() {
			return c
		}
	}
	return nil
}

// writeAt is when the turn that is owed goes on without the tool that writes.
func (s *state) writeAt() time.Duration {
	if s.owed == nil || s.writing() == nil || s.now >= s.owed.committed+writeWait {
		return never
	}
	return s.owed.committed + writeWait
}

func (s *state) awaitsWriting() bool { return s.writeAt() != never }
