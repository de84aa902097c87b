package memory

import (
	"context"
	"encoding/json"
	"errors"
)

// Model answers an Extraction: the agent's own language model, or a script. It
// asks at temperature 0 and for JSON of the schema where its wire has such a
// thing; the answer is read strictly all the same.
type Model interface {
	// Extract returns the text of the model's answer. It returns when ctx ends, with
	// its cause.
	Extract(ctx context.Context, r Request) (answer string, err error)
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
