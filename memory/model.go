package memory

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// Model answers an Extraction: the agent's own language model, or a script. It
// asks at temperature 0 and for JSON of the schema where its wire has such a
// thing; the answer is read strictly all the same.
type Model interface {
	// Extract returns the model's answer. It returns when ctx ends, with its cause.
	// What was asked has its cost whether or not it fails.
	Extract(ctx context.Context, r Request) (Answer, error)
}

// Answer is what a model said, and what that cost.
type Answer struct {
	Text string
	Use  *Use // nil where nobody was asked who counts
}

// Use is what one answer of a model cost.
type Use struct {
	Model              string // as its provider names it; empty when it did not say
	PromptTokens       int
	PromptCachedTokens int // of those, as the provider counts them
	CompletionTokens   int
	Estimated          bool          // counted by us: the provider did not say
	FirstToken         time.Duration // 0 when none came
	Took               time.Duration
	Cancelled          bool // nobody waited for its end
}

// Request is what a model is asked: the rules as the system's words, and the call
// as the user's.
type Request struct {
	System string
	User   string
	// Schema is the JSON Schema of the answer; every property is required and no
	// other is allowed, as strict modes want it.
	Schema json.RawMessage
	// MaxTokens bounds the answer.
	MaxTokens int
}

// ErrAnswer means that a model's answer was not the JSON that was asked for.
var ErrAnswer = errors.New("answer of the model is not as asked")
