package turn

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"headstart/turn/llm"
)

// toolCall is one call of a tool, from the model's wish to the result that it reads.
type toolCall struct {
	id      int
	made    llm.ToolCall // with an id of its own within the call
	tool    *tool        // nil when the app has none of this name
	speech  SpeechID
	began   time.Duration
	ran     bool // the app was asked, or the search begun
	running bool // and is not back
	out     ToolOutput

	searching *searching // of the tool search, nil of the app's

	receipt   string // to be said, empty when there is none
	receipted bool   // it was begun
	said      string // what was heard of it
	kept      int    // where its result stands in the history, 0 while it does not: the caller's words are before it
}

// call makes one call. One that cannot be made has its result at once: an error.
func (s *state) call(d *debt, made llm.ToolCall) *toolCall {
	if len(bytes.TrimSpace(made.Arguments)) == 0 {
		made.Arguments = json.RawMessage("{}")
	}
	made.ID = s.ownID(made.ID)
	c := &toolCall{made: made, speech: d.id, began: s.now}
	if t, ok := s.tools[made.Name]; ok {
		c.tool = &t
	}
	s.record(ToolCalled{SpeechID: d.id, CallID: made.ID, Name: made.Name, Arguments: c.shown()})
	if refusal := s.refusal(c); refusal != "" {
		s.resolve(c, ToolOutput{Error: refusal})
		return c
	}
	if made.Name == search.String() {
		s.searchFor(c, d)
		return c
	}
	s.made.calls++
	c.id, c.ran, c.running = s.made.calls, true, true
	s.running = append(s.running, c)
	s.do(run{c.id, made, c.tool.Timeout})
	return c
}

// ownID makes the id of a call unique: some servers count from 0 in each answer.
func (s *state) ownID(id string) string {
	s.callIDs[id]++
	if n := s.callIDs[id]; n > 1 || id == "" {
		return s.ownID(fmt.Sprintf("%s-%d", id, n))
	}
	return id
}

// refusal is why a call is not made, empty when it is.
func (s *state) refusal(c *toolCall) string {
	if c.made.Name == endCall && s.cfg.Hangup != nil {
		return "the call was not ended: call " + endCall + " alone, once the other tools have answered"
	}
	if c.tool == nil || s.unseen[c.made.Name] {
		return "no tool is named " + c.made.Name
	}
	if err := c.tool.schema.check(c.made.Arguments); err != nil {
		return err.Error()
	}
	if c.tool.SideEffect.Writes() && slices.ContainsFunc(s.running, c.same) {
		return "the same call is still running: wait for its result"
	}
	return ""
}

// same tells whether another call asks for the same.
func (c *toolCall) same(other *toolCall) bool {
	return c.made.Name == other.made.Name && bytes.Equal(canonical(c.made.Arguments), canonical(other.made.Arguments))
}

// canonical writes JSON with its keys in order.
func canonical(text json.RawMessage) []byte {
	value, err := decode(text)
	if err != nil {
		return text
	}
	b, _ := json.Marshal(value) // it was JSON
	return b
}

// decode reads JSON and keeps its numbers as they are written.
func decode(text json.RawMessage) (value any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err = d.Decode(&value)
	return value, err
}

// onReturned takes what came back from a tool. Of one that was given up nothing is taken.
func (s *state) onReturned(r returned) {
	i := slices.IndexFunc(s.running, func(c *toolCall) bool { return c.searching == nil && c.id == r.id })
	if i < 0 {
		return
	}
	c := s.running[i]
	switch {
	case r.err == nil:
		s.resolve(c, checked(r.out))
	case s.now >= c.dueAt():
		s.resolve(c, ToolOutput{Error: c.late()})
	default:
		s.resolve(c, ToolOutput{Error: c.made.Name + " could not be run: " + r.err.Error()})
	}
}

// mostOutput is how long the output of a tool may be, in bytes: it stays in every later
// request of the call.
const mostOutput = 64 << 10

// checked makes an error of an output that no model can be given.
func checked(out ToolOutput) ToolOutput {
	switch {
	case out.Error != "":
		out.Output = nil
	case len(out.Output) == 0:
		out.Output = json.RawMessage("null")
	case len(out.Output) > mostOutput:
		return ToolOutput{Error: fmt.Sprintf("the tool has run, but its output of %d bytes is more than can be read", len(out.Output)), Summary: out.Summary}
	case !json.Valid(out.Output):
		return ToolOutput{Error: "the tool has run, but its output is no JSON", Summary: out.Summary}
	}
	return out
}

// resolve gives a call its one result.
func (s *state) resolve(c *toolCall, out ToolOutput) {
	c.running, c.out = false, out
	s.running = slices.DeleteFunc(s.running, func(o *toolCall) bool { return o == c })
	result := ToolResulted{
		SpeechID: c.speech, CallID: c.made.ID, Name: c.made.Name,
		Error: out.Error, Summary: out.Summary, DurationS: (s.now - c.began).Seconds(),
	}
	if out.Error == "" {
		result.Output = out.Output
	}
	if out.Error == "" && c.tool != nil {
		c.receipt = receipt(c.tool.Confirm, c.made.Arguments, out.Output)
	}
	s.record(result)
	if c.kept > 0 {
		s.history[c.kept].Content = c.content()
	}
}

// withdraw cancels a call, whose result is the reason.
func (s *state) withdraw(c *toolCall, reason string, cause error) {
	switch {
	case c.searching == nil:
		s.do(quit{c.id, cause})
	case !c.searching.spent:
		s.do(drop{c.searching.id, cause})
	}
	s.resolve(c, ToolOutput{Error: reason})
}

// withdrawAll cancels what runs when the conversation is over.
func (s *state) withdrawAll(end End) {
	for _, c := range slices.Clone(s.running) {
		s.withdraw(c, "the call ended before the tool answered"+c.unknown(), end)
	}
}

func (c *toolCall) dueAt() time.Duration {
	if c.searching != nil && c.searching.spent {
		return c.began + c.tool.Timeout + lookupGrace
	}
	return c.began + c.tool.Timeout
}

// late is what the model is told of a tool that did not answer in time.
func (c *toolCall) late() string {
	return fmt.Sprintf("no result within %v", c.tool.Timeout) + c.unknown()
}

// unknown is what else is to be said of a call that did not come back.
func (c *toolCall) unknown() string {
	if c.tool.SideEffect.Writes() {
		return "; whether it was done is not known"
	}
	return ""
}

// toolAt is when the next tool is out of time.
func (s *state) toolAt() time.Duration {
	at := never
	for _, c := range s.running {
		at = min(at, c.dueAt())
	}
	return at
}

// expireTools gives up what is out of time.
func (s *state) expireTools() {
	for _, c := range slices.Clone(s.running) {
		switch {
		case s.now < c.dueAt():
		case c.searching != nil:
			s.expireSearch(c)
		default:
			s.withdraw(c, c.late(), errToolLate)
		}
	}
}

// content is what the model reads as the result: data, whatever it says.
func (c *toolCall) content() string {
	var value any = c.out.Output
	switch {
	case c.running:
		value = map[string]string{"running": "the tool has not answered yet; do not call it again for this"}
	case c.out.Error != "":
		value = map[string]string{"error": c.out.Error}
	case c.said != "":
		value = map[string]any{"output": c.out.Output, "said to the caller": c.said}
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // & as \u0026 costs tokens and helps nobody
	_ = e.Encode(value)    // strings, and what was JSON
	return strings.TrimSpace(b.String())
}

// shown is the arguments as the log keeps them.
func (c *toolCall) shown() any {
	if c.tool == nil || len(c.tool.PII) == 0 {
		if !json.Valid(c.made.Arguments) {
			return string(c.made.Arguments)
		}
		return c.made.Arguments
	}
	var arguments map[string]json.RawMessage
	if json.Unmarshal(c.made.Arguments, &arguments) != nil {
		return hidden
	}
	shown := make(map[string]any, len(arguments))
	for name, value := range arguments {
		shown[name] = value
		if slices.Contains(c.tool.PII, name) {
			shown[name] = hidden
		}
	}
	return shown
}

// hidden stands in the log where personal data was.
const hidden = "***"
