package turn

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"headstart/turn/llm"
)

// Tool is one of the app's own tools: what the model reads of it, and the rules by
// which its calls are run.
type Tool struct {
	// Name is what the model calls: letters, digits, "_" and "-", 64 at most, unique
	// within the agent, and none of PlatformTools.
	Name string
	// Description is what the tool does, as the model reads it.
	Description string
	// Parameters is the JSON Schema object that the arguments of a call must satisfy. A
	// call whose arguments do not is answered with an error, and the app is not asked.
	Parameters json.RawMessage
	// SideEffect is what a call does to the world; empty is SideEffectWrite.
	SideEffect SideEffect
	// Confirm is a receipt that the agent reads out once the tool has run, before the
	// model replies to the result. {{name}} stands for an argument and {{result.name}}
	// for what came back; a receipt that lacks one of them is not said.
	Confirm string
	// Announce is what the agent says as the tool starts, when the model said nothing
	// itself.
	Announce string
	// PII names the arguments that carry personal data: the log keeps them as ***. What
	// is spoken of them, by either side, stands in the log as it was heard.
	PII []string
	// Timeout is how long a call waits for the app's result before the model is told of
	// an error: at most 300 s. Default 30 s.
	Timeout time.Duration
}

// SideEffect is what a call of a tool does to the world. One that only reads is
// cancelled when the caller speaks on; one that writes never is, and no answer is begun
// before its turn is committed while one runs.
type SideEffect string

// The side effects.
const (
	SideEffectRead         SideEffect = "read"
	SideEffectWrite        SideEffect = "write"
	SideEffectIrreversible SideEffect = "irreversible"
)

// Writes tells whether a call must not be made twice, nor cancelled.
func (e SideEffect) Writes() bool { return e != SideEffectRead }

// ToolOutput is what came back from a call of a tool: an output, or an error in words
// that the model may read. The error wins when both are there.
type ToolOutput struct {
	Output json.RawMessage
	Error  string
	// Summary is the output in one line, for whoever reads the log.
	Summary string
}

// The bounds of a tool's timeout.
const (
	defaultToolTimeout = 30 * time.Second
	mostToolTimeout    = 300 * time.Second
)

// endCall is the tool by which the model ends the call.
const endCall = "end_call"

// PlatformTools are the names that no tool of an app may have.
func PlatformTools() []string { return []string{search.String(), recall.String(), endCall} }

// Causes with which a call of a tool is cancelled, besides ErrSuperseded and an End.
var (
	errToolLate         = errors.New("tool is out of time")
	errConversationOver = errors.New("conversation is over")
)

// toolName is what model providers take for the name of a function.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Validate joins every complaint about the tool.
func (t Tool) Validate() error {
	var complaints []error
	complain := func(format string, args ...any) {
		complaints = append(complaints, fmt.Errorf("tool %q: "+format, append([]any{t.Name}, args...)...))
	}
	switch {
	case !toolName.MatchString(t.Name):
		complain("a name is 1 to 64 letters, digits, \"_\" or \"-\"")
	case slices.Contains(PlatformTools(), t.Name):
		complain("the platform has a tool of this name")
	}
	if strings.TrimSpace(t.Description) == "" {
		complain("the description is missing")
	}
	if !slices.Contains([]SideEffect{"", SideEffectRead, SideEffectWrite, SideEffectIrreversible}, t.SideEffect) {
		complain("side effect %q is none of read, write, irreversible", t.SideEffect)
	}
	if t.Timeout < 0 || t.Timeout > mostToolTimeout {
		complain("timeout %v is not above 0 and at most %v", t.Timeout, mostToolTimeout)
	}
	s, err := compileSchema(t.Parameters)
	if err != nil {
		complain("parameters: %w", err)
		return errors.Join(complaints...)
	}
	for _, name := range t.PII {
		if !s.has(name) {
			complain("pii: %q is none of its parameters", name)
		}
	}
	return errors.Join(complaints...)
}

// validateTools joins every complaint about the tools of an agent.
func validateTools(tools []Tool) []error {
	var complaints []error
	for i, t := range tools {
		if err := t.Validate(); err != nil {
			complaints = append(complaints, err)
		}
		if slices.ContainsFunc(tools[:i], func(o Tool) bool { return o.Name == t.Name }) {
			complaints = append(complaints, fmt.Errorf("tool %q: there are two of this name", t.Name))
		}
	}
	return complaints
}

// tool is a Tool that was prepared for its calls.
type tool struct {
	Tool
	schema schema
}

func prepareTools(tools []Tool) map[string]tool {
	prepared := make(map[string]tool, len(tools))
	for _, t := range tools {
		s, err := compileSchema(t.Parameters)
		if err != nil {
			continue // Validate has refused it
		}
		if t.Timeout == 0 {
			t.Timeout = defaultToolTimeout
		}
		prepared[t.Name] = tool{t, s}
	}
	return prepared
}

// offered is the tool as a request to the model carries it.
func (t Tool) offered() llm.Tool {
	return llm.Tool{Name: t.Name, Description: t.Description, Parameters: t.Parameters}
}
