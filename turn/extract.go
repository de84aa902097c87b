package turn

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

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
// may go through next time is asked once more. It fails as the model does. What it
// cost is counted as of a turn: one answer, however often it was asked.
func (e Extractor) Extract(ctx context.Context, r memory.Request) (memory.Answer, error) {
	req := llm.Request{
		Messages: []llm.Message{{Role: llm.System, Content: r.System}, {Role: llm.User, Content: r.User}},
		Schema:   r.Schema, Temperature: new(0.0),
	}
	use, began := &modelUse{}, time.Now()
	answer, err := e.ask(ctx, req, r.MaxTokens, use, began)
	failed, ok := errors.AsType[*provider.Error](err)
	switch {
	case !ok || ctx.Err() != nil:
	case failed.Status == http.StatusBadRequest || failed.Status == http.StatusUnprocessableEntity:
		req.Schema, req.Temperature = nil, nil
		answer, err = e.ask(ctx, req, r.MaxTokens, use, began)
	case failed.Retryable():
		answer, err = e.ask(ctx, req, r.MaxTokens, use, began)
	}
	use.took, use.cancelled = time.Since(began), ctx.Err() != nil
	use.count(req, len(answer))
	return memory.Answer{Text: answer, Use: use.memory()}, err
}

// memory is what was asked as package memory tells it.
func (u *modelUse) memory() *memory.Use {
	t := u.result.Usage
	return &memory.Use{
		Model: u.result.Model, PromptTokens: t.PromptTokens, PromptCachedTokens: t.PromptCachedTokens, CompletionTokens: t.CompletionTokens,
		Estimated: u.estimated, FirstToken: u.ttft, Took: u.took, Cancelled: u.cancelled,
	}
}

// MetricsOf is the entry of what it cost to ask what a call taught.
func MetricsOf(u memory.Use) MetricsLLM {
	return MetricsLLM{
		Purpose: OpRemember, Model: u.Model,
		PromptTokens: u.PromptTokens, PromptCachedTokens: u.PromptCachedTokens, CompletionTokens: u.CompletionTokens,
		Estimated: u.Estimated, TTFTMS: ms(u.FirstToken), DurationMS: ms(u.Took), Cancelled: u.Cancelled,
	}
}

// errTooLong ends an answer that goes on for too long.
var errTooLong = errors.New("answer is longer than it may be")

// ask returns what was said, also where that is not whole.
func (e Extractor) ask(ctx context.Context, req llm.Request, tokens int, use *modelUse, began time.Time) (string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var answer strings.Builder
	result, err := e.Model.Reply(ctx, req, func(text string) {
		if use.ttft == 0 {
			use.ttft = time.Since(began)
		}
		if answer.WriteString(text); tokens > 0 && answer.Len() > tokens*bytesPerToken {
			cancel(errTooLong)
		}
	})
	use.result = result
	if errors.Is(context.Cause(ctx), errTooLong) {
		return answer.String(), fmt.Errorf("%w: %w", memory.ErrAnswer, errTooLong)
	}
	return answer.String(), err
}

var _ memory.Model = Extractor{}
