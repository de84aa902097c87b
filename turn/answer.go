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
	KindGreeting = "greeting"
	KindFallback = "fallback"
)

// answer starts the reply to the turn that is owed.
func (s *state) answer() {
	d := s.owed
	s.owed = nil
	d.settled = s.now
	passages, facts := s.recordLookups(d)
	s.remember(userMessage(d.text))
	s.startReply(&reply{kind: KindReply, interruptible: true, debt: d, speech: d.id}, speak{request: s.request(d, passages, facts)})
}

// request is what the model is asked: the static prompt, the history, and what
// was looked up for this turn as tool results at its end. Nothing found is
// nothing in the request.
func (s *state) request(d *debt, passages []retrieval.Passage, facts []memory.Fact) llm.Request {
	messages := s.prompt()
	if len(passages) > 0 {
		messages = append(messages, toolPair(string(d.id)+"-search", "search", d.text, retrieval.ToolResult(passages))...)
	}
	if len(facts) > 0 {
		messages = append(messages, toolPair(string(d.id)+"-recall", "recall", d.text, memory.ToolResult(facts))...)
	}
	return llm.Request{Messages: messages}
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

// remember appends to the history. Two messages of one side become one, since
// providers demand that the sides alternate.
func (s *state) remember(m llm.Message) {
	if strings.TrimSpace(m.Content) == "" {
		return
	}
	if last := len(s.history) - 1; last >= 0 && s.history[last].Role == m.Role {
		joined := s.history[last]
		joined.Content += "\n" + m.Content
		s.history = append(s.history[:last:last], joined)
		return
	}
	s.history = append(s.history, m)
}

// startReply gives the agent the floor.
func (s *state) startReply(r *reply, a speak) {
	s.made.replies++
	r.id, a.id = s.made.replies, s.made.replies
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
func (s *state) sayClip(kind string, speech SpeechID, clip *Clip) {
	if clip == nil || s.closing != nil {
		return
	}
	s.startReply(&reply{kind: kind, speech: speech, interruptible: true}, speak{clip: clip})
}

func (s *state) onProgress(p progressed) {
	r := s.reply
	if r == nil || r.id != p.id {
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
	if p.stage == stageSounding {
		r.sounding = true
		s.recordMetrics(r)
	}
}

// onFinished closes a reply: history and log keep what was heard of it.
func (s *state) onFinished(f finished) {
	r := s.reply
	if r == nil || r.id != f.id {
		return
	}
	s.reply = nil
	out := f.out
	s.recordModel(r, out.model)
	if out.err != nil {
		s.record(Failure{SpeechID: r.speech, Code: out.code, Message: out.err.Error(), Recoverable: true})
	}
	if r.told {
		s.record(AgentTranscript{SpeechID: r.speech, Final: true})
	}
	if out.text != "" {
		s.record(TurnAgent{SpeechID: r.speech, Text: out.text, Interrupted: !out.whole, Kind: r.kind, HeardMS: ms(out.heard)})
		s.remember(llm.Message{Role: llm.Assistant, Content: out.text})
	}
	if r.debt != nil && out.text == "" {
		s.recordUnanswered(r, out)
	}
	if out.err != nil && r.kind != KindFallback && !r.stopping {
		s.sayClip(KindFallback, r.speech, s.cfg.Clips.Fallback)
	}
}

// recordUnanswered tells why a committed turn was not answered.
func (s *state) recordUnanswered(r *reply, out outcome) {
	refused := TurnRefused{SpeechID: r.speech, Outcome: "superseded", Reason: "the caller spoke again before anything was heard"}
	switch {
	case out.err != nil:
		refused.Outcome, refused.Reason = "refused", out.err.Error()
	case s.closing != nil:
		refused.Outcome, refused.Reason = "refused", s.closing.Error()
	}
	s.record(refused)
}

// recordMetrics measures an answered turn at its first sound. A stage that was
// not passed (a greeting asks no model) costs nothing.
func (s *state) recordMetrics(r *reply) {
	d := r.debt
	if d == nil {
		return
	}
	m := MetricsTurn{SpeechID: d.id, EndpointingMS: ms(d.committed - d.ended), LookupWaitMS: ms(d.settled - d.committed)}
	last := d.settled
	for _, part := range []struct {
		stage stage
		field *float64
	}{
		{stageToken, &m.FirstTokenMS}, {stageClause, &m.FirstClauseMS}, {stageByte, &m.FirstByteMS}, {stageSounding, &m.PlayoutMS},
	} {
		if at := r.marks[part.stage]; at > last {
			*part.field = ms(at - last)
			last = at
		}
	}
	m.FirstAudioMS = ms(last - d.ended)
	if d.finalAt > d.ended {
		m.TranscriptMS = ms(d.finalAt - d.ended)
	}
	s.record(m)
}

func (s *state) recordModel(r *reply, use *modelUse) {
	if use == nil {
		return
	}
	u := use.result.Usage
	s.record(MetricsLLM{
		SpeechID: r.speech, Model: use.result.Model,
		PromptTokens: u.PromptTokens, PromptCachedTokens: u.PromptCachedTokens, CompletionTokens: u.CompletionTokens,
		Estimated: use.estimated, TTFTMS: ms(use.ttft), DurationMS: ms(use.took), Cancelled: use.cancelled,
	})
}
