package turn

import (
	"encoding/json"
	"strings"

	"headstart/memory"
	"headstart/retrieval"
	"headstart/turn/llm"
)

// The kinds of a TurnAgent.
const (
	KindReply    = "reply"
	KindAnnounce = "announce" // with a call of a tool: the answer is still to come
	KindReceipt  = "receipt"  // a tool's Confirm: the answer is still to come
	KindGreeting = "greeting"
	KindFallback = "fallback"
	KindGoodbye  = "goodbye"
	KindHandover = "handover"
)

// answer gives the turn that is owed its reply: the draft that was begun for
// it, when that still fits, or a new one.
func (s *state) answer() {
	d := s.owed
	s.owed = nil
	d.material = s.recordLookups(d)
	kept := s.adoptDraft(d)
	if kept == nil {
		s.startReply(&reply{kind: KindReply, interruptible: true, debt: d, speech: d.id}, speak{request: s.request(d)})
		return
	}
	kept.debt, s.reply = d, kept.reply
	if kept.done == nil {
		s.do(release{kept.id})
	}
	if kept.called != nil {
		s.onCalled(*kept.called)
	}
	if kept.done != nil {
		s.onFinished(*kept.done)
	}
}

// request is what the model is asked: the static prompt, the history, the
// caller's words, what was looked up for this turn as tool results, and what the
// tools that the model called in it returned. Nothing found is nothing in the request.
func (s *state) request(d *debt) llm.Request {
	id, text, m := d.id, d.text, d.material
	messages := appendMessage(s.prompt(), userMessage(text))
	if len(m.passages) > 0 {
		messages = append(messages, toolPair(string(id)+"-search", "search", text, retrieval.ToolResult(m.passages))...)
	}
	if len(m.facts) > 0 {
		messages = append(messages, toolPair(string(id)+"-recall", "recall", text, memory.ToolResult(m.facts))...)
	}
	req := llm.Request{Messages: append(messages, d.exchange...)}
	if d.rounds < mostRounds {
		req.Tools = s.offered()
	}
	return req
}

// offered are the tools that the model may call: the app's, and the platform's.
func (s *state) offered() []llm.Tool {
	var list []llm.Tool
	for _, t := range s.cfg.Tools {
		if !s.unseen[t.Name] {
			list = append(list, t.offered())
		}
	}
	list = append(list, s.offeredSearch()...)
	if s.cfg.Hangup == nil {
		return list
	}
	description := "End the call. Say goodbye in the same answer. Use it when the caller is clearly done, never when their intent is unclear."
	if s.cfg.Hangup.When != "" {
		description += " " + s.cfg.Hangup.When
	}
	return append(list, llm.Tool{Name: endCall, Description: description, Parameters: json.RawMessage(`{"type":"object","properties":{}}`)})
}

// finishCalls does what the model asked for in a reply that was heard to its end and
// began no errand: it may end the call. A tool that was not offered is told in the log,
// and does nothing.
func (s *state) finishCalls(r *reply, calls []llm.ToolCall) {
	for _, made := range calls {
		made.ID = s.ownID(made.ID)
		c := &toolCall{made: made, speech: r.speech, began: s.now}
		if t, ok := s.tools[made.Name]; ok {
			c.tool = &t
		}
		s.record(ToolCalled{SpeechID: c.speech, CallID: made.ID, Name: made.Name, Arguments: c.shown()})
		if made.Name != endCall || s.cfg.Hangup == nil {
			s.resolve(c, ToolOutput{Error: "no tool named " + made.Name + " is offered"})
			continue
		}
		s.resolve(c, ToolOutput{Output: json.RawMessage(`"the call is being ended"`)})
		s.close(End{Reason: "agent_hung_up", By: "agent"})
	}
}

// opening is what the model is asked when it finds its own greeting.
func (s *state) opening(instruction string) llm.Request {
	return llm.Request{Messages: append(s.prompt(), llm.Message{Role: llm.System, Content: instruction})}
}

// prompt is the part of a request that two consecutive ones share.
func (s *state) prompt() []llm.Message {
	messages := make([]llm.Message, 0, len(s.history)+5)
	if s.cfg.Prompt != "" {
		messages = append(messages, llm.Message{Role: llm.System, Content: s.cfg.Prompt})
	}
	return append(messages, s.history...)
}

func toolPair(id, name, query string, result json.RawMessage) []llm.Message {
	arguments, _ := json.Marshal(map[string]string{"query": query}) // strings always marshal
	return []llm.Message{
		{Role: llm.Assistant, ToolCalls: []llm.ToolCall{{ID: id, Name: name, Arguments: arguments}}},
		{Role: llm.ToolRole, ToolCallID: id, Content: string(result)},
	}
}

func userMessage(text string) llm.Message { return llm.Message{Role: llm.User, Content: text} }

// remember appends to the history.
func (s *state) remember(m llm.Message) {
	if strings.TrimSpace(m.Content) != "" {
		s.history = appendMessage(s.history, m)
	}
}

// appendMessage adds a message. Two of one side become one, since providers
// demand that the sides alternate. The list that was given is left as it is.
func appendMessage(list []llm.Message, m llm.Message) []llm.Message {
	last := len(list) - 1
	if last < 0 || list[last].Role != m.Role {
		return append(list[:len(list):len(list)], m)
	}
	joined := list[last]
	joined.Content += "\n" + m.Content
	return append(list[:last:last], joined)
}

// startReply gives the agent the floor.
func (s *state) startReply(r *reply, a speak) {
	s.made.replies++
	r.id, a.id, r.began = s.made.replies, s.made.replies, s.now
	if r.speech == "" {
		r.speech = s.newSpeech()
	}
	s.reply = r
	s.do(a)
}

// stopReply takes the floor from the agent. What was heard is recorded once
// the reply has stopped.
func (s *state) stopReply(cause error) {
	if s.reply == nil || s.reply.stopping {
		return
	}
	s.reply.stopping = true
	s.do(hush{s.reply.id, cause})
}

// sayClip speaks a phrase that was synthesised before it was needed.
func (s *state) sayClip(r *reply, clip *Clip) bool {
	if clip == nil || s.closing != nil {
		return false
	}
	s.startReply(r, speak{clip: clip})
	return true
}

func (s *state) onProgress(p progressed) {
	r := s.replyOf(p.id)
	if r == nil {
		return
	}
	if p.stage == stageWords {
		r.told = true
		s.record(AgentTranscript{SpeechID: r.speech, Delta: p.delta})
		return
	}
	if r.marks[p.stage] == 0 {
		r.marks[p.stage] = s.now
	}
	if p.stage == stageSounding && !r.sounding {
		r.sounding = true
		if r.debt != nil {
			r.debt.heard = true
		}
		s.recordMetrics(r)
	}
}

// replyOf is the reply of this id, or the draft of it.
func (s *state) replyOf(id int) *reply {
	if s.reply != nil && s.reply.id == id {
		return s.reply
	}
	if s.draft != nil && s.draft.id == id {
		return s.draft.reply
	}
	return nil
}

// onFinished closes a reply: history and log keep what was heard of it.
func (s *state) onFinished(f finished) {
	if s.draft != nil && s.draft.id == f.id {
		s.onDraftFinished(f)
		return
	}
	r := s.reply
	if r == nil || r.id != f.id {
		s.recordModel(&reply{}, f.out.model) // of a draft that was thrown away
		return
	}
	s.reply = nil
	out := f.out
	if r.late != nil {
		out.err, out.code = r.late, r.lateCode
	}
	s.recordModel(r, out.model)
	broken := out.err != nil && out.code != CodeRoom // a room that is gone ends the call, and is no failure of it
	if broken {
		s.record(Failure{SpeechID: r.speech, Code: out.code, Message: out.err.Error(), Recoverable: true})
	}
	if s.serves(r) {
		s.keepErrandWords(r, out)
		return
	}
	s.keepHeard(r, out)
	switch {
	case s.farewell != nil && r.kind == KindGoodbye:
		s.close(*s.farewell)
	case r.kind == KindHandover:
		s.onHandoverSaid(r)
	case broken && r.kind != KindGoodbye && (!r.stopping || r.late != nil):
		s.onBroken(r)
	case r.kind == KindReply && !r.stopping:
		s.failures = 0
		s.finishCalls(r, out.calls)
	}
}

// keepHeard records what came of a reply: in the log, and in the history, where
// the caller's words go before it.
func (s *state) keepHeard(r *reply, out outcome) {
	if r.debt != nil && !r.merged {
		s.keepTurn(r.debt)
	}
	if r.told {
		s.record(AgentTranscript{SpeechID: r.speech, Final: true})
	}
	if out.text != "" {
		s.record(TurnAgent{SpeechID: r.speech, Text: out.text, Interrupted: !out.whole, Kind: r.kind, HeardMS: ms(out.heard)})
		s.remember(llm.Message{Role: llm.Assistant, Content: out.text})
		return
	}
	if r.debt != nil && !r.merged {
		s.recordUnanswered(r, out)
	}
}

// onDraftFinished takes a draft that ended before its turn was committed. One that only
// calls tools is ready; any other has failed, and is begun anew at the commit.
func (s *state) onDraftFinished(f finished) {
	out := f.out
	s.recordModel(s.draft.reply, out.model)
	if s.draft.called != nil && out.err == nil {
		f.out.model = nil // it is recorded
		s.draft.done = &f
		return
	}
	if s.turn != nil {
		s.turn.unsaid, s.turn.undrafted = "it failed: "+errorText(out.err), true
	}
	s.draft = nil
}

// recordUnanswered tells why a committed turn was not answered.
func (s *state) recordUnanswered(r *reply, out outcome) {
	refused := TurnRefused{SpeechID: r.speech, Outcome: "superseded", Reason: "the caller spoke again before anything was heard"}
	switch {
	case len(out.calls) > 0 && !r.stopping:
		refused.Outcome, refused.Reason = "refused", "the model called a tool and said nothing"
	case out.err != nil:
		refused.Outcome, refused.Reason = "refused", out.err.Error()
	case s.closing != nil:
		refused.Outcome, refused.Reason = "refused", s.closing.Error()
	case s.handover != nil:
		refused.Outcome, refused.Reason = "refused", ErrPassedOn.Error()
	}
	s.record(refused)
}
