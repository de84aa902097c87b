// Package llm holds what a model is asked and what it answers: the value types
// that every adapter under it speaks. An adapter knows one vendor's wire and
// nothing of turns; it fails by returning an error, which tells by Retryable
// whether asking again may help.
package llm

import "encoding/json"

// Role says who speaks a Message.
type Role string

// The roles, as OpenAI's chat completions name them.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool"
)

// Message is one item of a request. An Assistant message may carry ToolCalls;
// a ToolRole message answers the one that ToolCallID names.
type Message struct {
	Role       Role
	Content    string
	ToolCalls  []ToolCall
	ToolCallID string
}

// ToolCall is a call of a tool, by the model or spliced in on its behalf.
type ToolCall struct {
	ID        string
	Name      string
	Arguments json.RawMessage
}

// Tool is a tool that the model may call.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // a JSON Schema object
}

// Request is one question to a model.
type Request struct {
	Messages []Message
	Tools    []Tool
	// Schema is the JSON Schema that the answer must have; nil is free text.
	Schema json.RawMessage
	// Temperature is of this request alone; nil is the adapter's own.
	Temperature *float64
}

// Usage counts tokens, as the provider billed them. Zero when it did not say.
type Usage struct {
	PromptTokens       int
	PromptCachedTokens int
	CompletionTokens   int
}

// Result is how an answer ended.
type Result struct {
	Usage     Usage
	ToolCalls []ToolCall
	// Finish is the provider's reason: "stop", "length", "tool_calls", …
	Finish string
	// Model is the model that answered, as the provider names it.
	Model string
}
