package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"headstart/turn"
)

const (
	maxTools = 128 // as many as models take
	// maxOutput bounds what one result puts before the model: it is read again
	// with every turn that follows.
	maxOutput = 64 << 10
)

// toolSpec is a ToolSpec of the wire.
type toolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	SideEffect  string          `json:"side_effect"`
	Confirm     string          `json:"confirm"`
	Announce    string          `json:"announce"`
	PII         []string        `json:"pii"`
	TimeoutS    *float64        `json:"timeout_s"`
}

// serves refuses an agent that is not here.
func (h *Holders) serves(agent string) error {
	if !slices.Contains(h.cfg.Agents, agent) {
		return refuse(CodeAgent, "no agent %q is served here", agent)
	}
	return nil
}

// readAgentConfig reads the fields of an AgentConfig that an app may set: its
// tools, nil when it says nothing of them. Null is no tools. It joins every complaint.
func readAgentConfig(data json.RawMessage) (*[]turn.Tool, error) {
	fields := map[string]json.RawMessage{}
	if len(data) > 0 {
		if err := json.Unmarshal(data, &fields); err != nil {
			return nil, fmt.Errorf("data: %w", err)
		}
	}
	var all []error
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if name != "tools" {
			all = append(all, fmt.Errorf("%s: an app sets tools alone; the agent file says the rest", name))
		}
	}
	declared, said := fields["tools"]
	if !said {
		return nil, errors.Join(all...)
	}
	tools, err := readTools(declared)
	return &tools, errors.Join(append(all, err)...)
}

func readTools(data json.RawMessage) ([]turn.Tool, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("tools: %w", err)
	}
	if len(list) > maxTools {
		return nil, fmt.Errorf("tools: %d are more than %d", len(list), maxTools)
	}
	var all []error
	tools, taken := []turn.Tool{}, map[string]bool{}
	for i, text := range list {
		t, err := readTool(text)
		if err == nil && taken[t.Name] {
			err = fmt.Errorf("two tools are named %s", t.Name)
		}
		if err != nil {
			all = append(all, fmt.Errorf("tools[%d]: %w", i, err))
			continue
		}
		taken[t.Name] = true
		tools = append(tools, t)
	}
	return tools, errors.Join(all...)
}

// readTool reads one tool; a field that is not known is refused, for it may be a
// rule that somebody relies on.
func readTool(text json.RawMessage) (turn.Tool, error) {
	var spec toolSpec
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&spec); err != nil {
		return turn.Tool{}, err
	}
	t := turn.Tool{
		Name: spec.Name, Description: spec.Description, Parameters: spec.Parameters, SideEffect: turn.SideEffect(spec.SideEffect),
		Confirm: spec.Confirm, Announce: spec.Announce, PII: spec.PII,
	}
	var err error
	if s := spec.TimeoutS; s != nil {
		t.Timeout = time.Duration(*s * float64(time.Second))
		if t.Timeout <= 0 { // 0 is the default there, and nothing here
			err = fmt.Errorf("timeout_s: %v is not above 0", *s)
		}
	}
	return t, errors.Join(err, t.Validate())
}

// readNames reads the tools that are to be seen: {"tools": [names]}.
func readNames(data json.RawMessage) ([]string, error) {
	var set struct {
		Tools []string `json:"tools"`
	}
	if err := json.Unmarshal(data, &set); err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	if set.Tools == nil {
		return nil, errors.New("tools: missing; [] shows none")
	}
	return set.Tools, nil
}

// toolResult is a ToolResult of the wire.
type toolResult struct {
	CallID  string          `json:"call_id"`
	Name    string          `json:"name"`
	Output  json.RawMessage `json:"output"`
	Error   string          `json:"error"`
	Summary string          `json:"summary"`
}

func (r toolResult) output() turn.ToolOutput {
	return turn.ToolOutput{Output: r.Output, Error: r.Error, Summary: r.Summary}
}

func readResult(data json.RawMessage) (toolResult, error) {
	var r toolResult
	if err := json.Unmarshal(data, &r); err != nil {
		return r, fmt.Errorf("data: %w", err)
	}
	switch failed := r.Error != ""; {
	case r.CallID == "":
		return r, errors.New("call_id: missing")
	case failed && string(r.Output) == "null":
		r.Output = nil // said to be absent
	case failed == (len(r.Output) > 0):
		return r, errors.New("output, error: one of the two, and not both")
	}
	if size := len(r.Output) + len(r.Error) + len(r.Summary); size > maxOutput {
		return r, fmt.Errorf("output: %d bytes are more than %d; send what the model needs", size, maxOutput)
	}
	return r, nil
}
