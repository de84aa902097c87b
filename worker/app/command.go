package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/zap"

	"headstart/turn"
)

// Command is one instruction of an app.
type Command struct {
	Type  string          `json:"type"`
	Agent string          `json:"agent"` // that the command speaks for
	Call  string          `json:"call"`  // null for a command of no call
	ID    string          `json:"id"`    // the app's own, echoed
	Data  json.RawMessage `json:"data"`
}

// The commands that are known.
const (
	Configure = "agent.configure"
	Offer     = "tools.set"
	Release   = "agent.release"
	Result    = "tool.result"
	Ping      = "ping"
)

// The codes of an error that answers a command.
const (
	CodeFrame   = "bad_frame"       // it is no command
	CodeUnknown = "unknown_command" // of a type that is not known
	CodeAgent   = "unknown_agent"   // no such agent is served here
	CodeHeld    = "held"            // another app holds the agent
	CodeNotHeld = "not_held"        // this app does not hold the agent
	CodeData    = "bad_data"        // the data has not the shape of its type
	CodeNoCall  = "no_tool_call"    // no such tool call waits for a result
	CodeCall    = "unknown_call"    // this app holds no such call
)

// refusal is why a command was not obeyed.
type refusal struct{ code, message string }

func (r refusal) Error() string { return r.message }

func refuse(code, format string, args ...any) error {
	return refusal{code, fmt.Sprintf(format, args...)}
}

// obey does what a frame says, and returns what the app is told of it: nil when
// the log tells.
func (s *socket) obey(kind websocket.MessageType, text []byte) *turn.Entry {
	var c Command
	if kind != websocket.MessageText {
		return refused(c, refuse(CodeFrame, "send commands as text"))
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return refused(Command{ID: c.ID, Agent: c.Agent, Call: c.Call}, refuse(CodeFrame, "read command: %v", err))
	}
	reply, err := s.do(c)
	if err != nil {
		return refused(c, err)
	}
	return reply
}

func (s *socket) do(c Command) (*turn.Entry, error) {
	switch c.Type {
	case Ping:
		return reply(c, pong{ID: c.ID}), nil
	case Configure:
		return s.configure(c)
	case Release:
		if !s.holders.release(s, c.Agent) {
			return nil, refuse(CodeNotHeld, "agent %q is not held by this app", c.Agent)
		}
		return reply(c, released{ID: c.ID}), nil
	case Offer:
		return nil, s.offer(c)
	case Result:
		return nil, s.result(c)
	}
	return nil, refuse(CodeUnknown, "command %q is not known; use %s", c.Type, strings.Join([]string{Configure, Offer, Result, Release, Ping}, ", "))
}

// configure holds the agent, or changes what is declared of it from the next call on.
func (s *socket) configure(c Command) (*turn.Entry, error) {
	if err := s.holders.serves(c.Agent); err != nil {
		return nil, err
	}
	declared, err := readAgentConfig(c.Data)
	if err != nil {
		return nil, refusal{CodeData, err.Error()}
	}
	tools, err := s.holders.take(s, c.Agent, declared)
	if errors.Is(err, errHeld) {
		return nil, refuse(CodeHeld, "agent %q is held by another app: one app an agent", c.Agent)
	}
	names := []string{}
	for _, t := range tools {
		names = append(names, t.Name)
	}
	s.note(c.Agent, Configured{By: "app", Tools: names})
	return reply(c, Configured{ID: c.ID, By: "app", Tools: names}), err
}

// noteWithin bounds what an agent's own log may wait for its store.
const noteWithin = 5 * time.Second

// note writes to the agent's own log, beside the socket: that log needs the store.
func (s *socket) note(agent string, ev turn.Event) {
	s.crew.Do(func() {
		ctx, cancel := context.WithTimeoutCause(s.life, noteWithin, fmt.Errorf("agent's log not there within %v", noteWithin))
		defer cancel()
		log, err := s.holders.logs.BeginAgent(ctx, agent)
		if err != nil {
			s.holders.log.Warn("agent's log does not tell of its app", zap.String("agent", agent), zap.Error(err))
			return
		}
		log.Append(ev)
	})
}

// offer says which tools a call offers from now on; its log tells that it does.
func (s *socket) offer(c Command) error {
	names, err := readNames(c.Data)
	if err != nil {
		return refusal{CodeData, err.Error()}
	}
	s.holders.mu.Lock()
	defer s.holders.mu.Unlock()
	held := s.held[c.Call]
	if held == nil || held.agent != c.Agent || held.shut != nil {
		return refuse(CodeCall, "call %q of agent %q is not held by this app", c.Call, c.Agent)
	}
	for _, name := range names {
		if !held.has(name) {
			return refuse(CodeData, "tools: %q was not declared when the call began", name)
		}
	}
	held.offer(names)
	return nil
}

// result hands in what a tool came to.
func (s *socket) result(c Command) error {
	got, err := readResult(c.Data)
	if err != nil {
		return refusal{CodeData, err.Error()}
	}
	s.holders.mu.Lock()
	defer s.holders.mu.Unlock()
	var waiting *asking
	if held := s.held[c.Call]; held != nil && held.agent == c.Agent {
		waiting = held.asked[got.CallID]
	}
	if waiting == nil {
		return refuse(CodeNoCall, "tool call %q of call %q and agent %q does not wait for a result of this app", got.CallID, c.Call, c.Agent)
	}
	if waiting.Name != got.Name {
		return refuse(CodeNoCall, "tool call %q is of %s, not of %s", got.CallID, waiting.Name, got.Name)
	}
	waiting.answer <- answer{output: got.output()} // its one place is free: it is asked no more after this
	delete(s.held[c.Call].asked, got.CallID)
	return nil
}
