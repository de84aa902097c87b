// Package openaitest is a server that really speaks OpenAI's chat completions,
// from a script, for tests and for `headstart fakes`. It owns no sockets: it is
// an http.Handler, and Transport lets a client reach it without any. It fails
// in the ways that servers do, when it is told to.
package openaitest

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"
)

// The paces of the contract's fake.
const (
	DefaultFirst = 20 * time.Millisecond // request to first token
	DefaultEach  = 5 * time.Millisecond  // between tokens
)

// DefaultText is what it answers when its script is over: a first sentence of
// ten words with a comma after the third, and a second one.
const DefaultText = "Claro que sí, ahora mismo le cuento lo que sé. Si necesita algo más, dígamelo y lo miramos juntos."

// stallAfter is how many words a stalled answer has told.
const stallAfter = 5

// Fault is a way to fail.
type Fault string

// The faults. The empty one is none.
const (
	Refuse  Fault = "refuse"  // the connection is dropped without an answer
	Failing Fault = "error"   // an HTTP error, 500 unless Status says otherwise
	Mute    Fault = "mute"    // not even response headers
	Hang    Fault = "hang"    // headers, then nothing before the first token
	Stall   Fault = "stall"   // five words, then nothing
	Drop    Fault = "drop"    // five words, then the connection is dropped
	Empty   Fault = "empty"   // a well-formed answer without text
	Garbage Fault = "garbage" // five words, then bytes that are no JSON
)

// Faults says how the next requests fail.
type Faults struct {
	Fault  Fault `json:"fault"`
	Status int   `json:"status,omitempty"` // of the Failing fault; 0 is 500
	Times  int   `json:"times,omitempty"`  // so many requests fail, then none; 0 is until told otherwise
}

// Answer is one scripted answer: text, tool calls, or both.
type Answer struct {
	Text string `json:"text,omitempty"`
	// Quote is a regular expression: what it matches in the last tool result of the request
	// is said after Text, and nothing when it matches nothing.
	Quote     string     `json:"quote,omitempty"`
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`
	Finish    string     `json:"finish,omitempty"` // "stop" or "tool_calls" when empty
}

// ToolCall is a call that the fake model makes. Arguments is a JSON object.
type ToolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// Server is the fake. Its zero value answers DefaultText at the default paces.
// Set the fields before the first request; the methods may be called any time.
type Server struct {
	First time.Duration // request to first token; 0 is DefaultFirst, negative none
	Each  time.Duration // between tokens; 0 is DefaultEach, negative none
	Text  string        // what is answered when the script is over; DefaultText when empty

	mu      sync.Mutex
	script  []Answer
	faults  Faults
	bodies  []json.RawMessage
	started int
	whole   int
}

// Script adds answers, one a request, in order.
func (s *Server) Script(answers ...Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, answers...)
}

// Fail sets how the next requests fail. The zero Faults heals.
func (s *Server) Fail(f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = f
}

// Requests is how many requests came, failed ones too.
func (s *Server) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.started
}

// Whole is how many answers were sent to their end.
func (s *Server) Whole() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.whole
}

// Bodies are the requests' bodies, in order.
func (s *Server) Bodies() []json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]json.RawMessage(nil), s.bodies...)
}

// Unused is how many scripted answers nobody asked for.
func (s *Server) Unused() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.script)
}

// ServeHTTP answers chat completions, and POST and GET /fakes/llm.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/fakes/llm":
		s.control(w, r)
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/chat/completions"):
		s.complete(w, r)
	default:
		http.NotFound(w, r)
	}
}

// state is what GET /fakes/llm tells.
type state struct {
	Faults   Faults            `json:"faults"`
	Requests int               `json:"requests"`
	Whole    int               `json:"whole"`
	Unused   int               `json:"unused"`
	Bodies   []json.RawMessage `json:"bodies"`
}

// order is the body of POST /fakes/llm: the faults, and answers to add.
type order struct {
	Faults
	Answers []Answer `json:"answers,omitempty"`
}

func (s *Server) control(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		var o order
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&o); err != nil {
			http.Error(w, "read faults: "+err.Error(), http.StatusBadRequest)
			return
		}
		for _, a := range o.Answers {
			if _, err := regexp.Compile(a.Quote); err != nil {
				http.Error(w, "read quote: "+err.Error(), http.StatusBadRequest)
				return
			}
		}
		s.Fail(o.Faults)
		s.Script(o.Answers...)
	}
	s.mu.Lock()
	now := state{Faults: s.faults, Requests: s.started, Whole: s.whole, Unused: len(s.script), Bodies: s.bodies}
	data, err := json.Marshal(now)
	s.mu.Unlock()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data)
}

// begin counts a request and takes its fault and, when it will get that far,
// its answer.
func (s *Server) begin(body []byte) (Faults, Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started++
	s.bodies = append(s.bodies, json.RawMessage(body))
	f := s.faults
	if f.Fault != "" && f.Times > 0 {
		if s.faults.Times--; s.faults.Times == 0 {
			s.faults = Faults{}
		}
	}
	switch f.Fault {
	case Refuse, Failing, Mute, Hang, Empty:
		return f, Answer{}
	}
	if len(s.script) == 0 {
		return f, Answer{Text: s.Text}
	}
	next := s.script[0]
	s.script = s.script[1:]
	return f, next
}
