package turn

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"headstart/memory"
	"headstart/turn/llm"
	"headstart/turn/provider"
)

// bytesPerToken is more than a token of any language has, as a rule: an answer
// longer than its tokens allow is cut off by it.
const bytesPerToken = 8

// Extractor asks a conversation's model what a call taught: at temperature 0,
// for JSON of a schema.
type Extractor struct{ Model Model }

// Extract implements memory.Model. A server that refuses the temperature or the
// schema is asked without them: the answer is read strictly all the same. What
// may go through next time is asked once more. It fails as the model does.
func (e Extractor) Extract(ctx context.Context, r memory.Request) (string, error) {
	req := llm.Request{
		Messages: []llm.Message{{Role: llm.System, Content: r.System}, {Role: llm.User, Content: r.User}},
		Schema:   r.Schema, Temperature: new(0.0),
	}
	answer, err := e.ask(ctx, req, r.MaxTokens)
	failed, ok := errors.AsType[*provider.Error](err)
	switch {
	case !ok || ctx.Err() != nil:
	case failed.Status == http.StatusBadRequest || failed.Status == http.StatusUnprocessableEntity:
		req.Schema, req.Temperature = nil, nil
		answer, err = e.ask(ctx, req, r.MaxTokens)
	case failed.Retryable():
		answer, err = e.ask(ctx, req, r.MaxTokens)
	}
	return answer, err
}

// errTooLong ends an answer that goes on for too long.
var errTooLong = errors.New("answer is longer than it may be")

func (e Extractor) ask(ctx context.Context, req llm.Request, tokens int) (string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var answer strings.Builder
	_, err := e.Model.Reply(ctx, req, func(text string) {
		if answer.WriteString(text); tokens > 0 && answer.Len() > tokens*bytesPerToken {
			cancel(errTooLong)
		}
	})
	if errors.Is(context.Cause(ctx), errTooLong) {
		return "", fmt.Errorf("%w: %w", memory.ErrAnswer, errTooLong)
	}
	return answer.String(), err
}

var _ memory.Model = Extractor{}
