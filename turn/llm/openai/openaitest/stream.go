package openaitest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// complete answers one request.
func (s *Server) complete(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 16<<20))
	var asked struct {
		Model  string `json:"model"`
		Stream bool   `json:"stream"`
	}
	if err == nil {
		err = json.Unmarshal(body, &asked)
	}
	if err != nil || !asked.Stream || asked.Model == "" {
		refuse(w, http.StatusBadRequest, "invalid_request_error")
		return
	}
	faults, answer := s.begin(body)
	answer.Text += quoted(answer.Quote, body)
	switch faults.Fault {
	case Refuse:
		panic(http.ErrAbortHandler)
	case Failing:
		status := faults.Status
		if status == 0 {
			status = http.StatusInternalServerError
		}
		refuse(w, status, "server_error")
		return
	case Mute:
		<-r.Context().Done()
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	st := &stream{w: w, r: r, model: asked.Model, prompt: len(body) / 4, each: pace(s.Each, DefaultEach)}
	st.flush()
	if st.play(faults.Fault, answer, pace(s.First, DefaultFirst)) {
		s.mu.Lock()
		s.whole++
		s.mu.Unlock()
	}
}

// quoted is what an answer quotes of the last tool result of a request.
func quoted(quote string, body []byte) string {
	if quote == "" {
		return ""
	}
	var request struct {
		Messages []struct {
			Role    string `json:"role"`
			Content any    `json:"content"`
		} `json:"messages"`
	}
	_ = json.Unmarshal(body, &request) // it was JSON
	for _, m := range slices.Backward(request.Messages) {
		if m.Role == "tool" {
			return regexp.MustCompile(quote).FindString(fmt.Sprint(m.Content))
		}
	}
	return ""
}

func pace(d, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return max(d, 0)
}

func refuse(w http.ResponseWriter, status int, kind string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":{"message":"scripted","type":%q,"param":null,"code":null}}`, kind)
}

// stream writes the events of one answer.
type stream struct {
	w      http.ResponseWriter
	r      *http.Request
	model  string
	prompt int // tokens of the request, as the usage tells them: 4 bytes each
	each   time.Duration
	told   int // tokens sent
}

// play tells whether the answer was sent whole.
func (s *stream) play(fault Fault, answer Answer, first time.Duration) bool {
	if fault == Hang {
		<-s.r.Context().Done()
		return false
	}
	if !s.wait(first) {
		return false
	}
	if fault == Empty {
		s.end("stop")
		return true
	}
	if answer.Text == "" && len(answer.ToolCalls) == 0 {
		answer.Text = DefaultText
	}
	s.delta(map[string]any{"role": "assistant", "content": ""}, nil)
	if !s.text(fault, answer.Text) || !s.calls(answer.ToolCalls) {
		return false
	}
	finish := "stop"
	if len(answer.ToolCalls) > 0 {
		finish = "tool_calls"
	}
	if answer.Finish != "" {
		finish = answer.Finish
	}
	s.end(finish)
	return true
}

// text sends a word a token, the space before it included.
func (s *stream) text(fault Fault, text string) bool {
	for i, word := range Tokens(text) {
		if i == stallAfter && !s.broken(fault) {
			return false
		}
		if s.told > 0 && !s.wait(s.each) {
			return false
		}
		s.told++
		s.delta(map[string]any{"content": word}, nil)
	}
	return true
}

// broken does what the fault does after five words; true when it does nothing.
func (s *stream) broken(fault Fault) bool {
	switch fault {
	case Stall:
		<-s.r.Context().Done()
	case Drop:
		panic(http.ErrAbortHandler)
	case Garbage:
		s.event("{\x00 this is no JSON")
	default:
		return true
	}
	return false
}

// calls sends each tool call as OpenAI does: its head, then its arguments in
// two fragments that carry the index alone.
func (s *stream) calls(calls []ToolCall) bool {
	for i, c := range calls {
		half := len(c.Arguments) / 2
		fragments := []map[string]any{
			{"index": i, "id": c.ID, "type": "function", "function": map[string]any{"name": c.Name, "arguments": ""}},
			{"index": i, "function": map[string]any{"arguments": c.Arguments[:half]}},
			{"index": i, "function": map[string]any{"arguments": c.Arguments[half:]}},
		}
		for _, f := range fragments {
			if s.told > 0 && !s.wait(s.each) {
				return false
			}
			s.told++
			s.delta(map[string]any{"tool_calls": []any{f}}, nil)
		}
	}
	return true
}

// end sends the finish, the usage in a chunk without choices, and [DONE].
func (s *stream) end(finish string) {
	s.delta(map[string]any{}, finish)
	s.chunk([]any{}, map[string]any{
		"prompt_tokens": s.prompt, "completion_tokens": s.told, "total_tokens": s.prompt + s.told,
		"prompt_tokens_details": map[string]any{"cached_tokens": s.prompt / 2},
	})
	s.event("[DONE]")
}

func (s *stream) delta(delta map[string]any, finish any) {
	s.chunk([]any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}, nil)
}

func (s *stream) chunk(choices []any, usage any) {
	data, err := json.Marshal(map[string]any{
		"id": "chatcmpl-fake", "object": "chat.completion.chunk", "created": 1,
		"model": s.model, "choices": choices, "usage": usage,
	})
	if err != nil {
		panic(err) // maps of strings and numbers always marshal
	}
	s.event(string(data))
}

func (s *stream) event(data string) {
	fmt.Fprintf(s.w, "data: %s\n\n", data)
	s.flush()
}

func (s *stream) flush() {
	if f, ok := s.w.(http.Flusher); ok {
		f.Flush()
	}
}

// wait tells false when the client went away.
func (s *stream) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-s.r.Context().Done():
		return false
	case <-timer.C:
		return true
	}
}

// Tokens are the pieces that a text is streamed in: its words, each with the
// white space before it. Joined they are the text.
func Tokens(text string) []string {
	var out []string
	for text != "" {
		start := len(text) - len(strings.TrimLeft(text, " \n\t"))
		end := strings.IndexAny(text[start:], " \n\t")
		if end < 0 {
			return append(out, text)
		}
		out = append(out, text[:start+end])
		text = text[start+end:]
	}
	return out
}
