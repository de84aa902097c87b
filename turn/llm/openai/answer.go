package openai

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
	"unicode/utf8"

	openai "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/tidwall/gjson"

	"headstart/turn/llm"
	"headstart/turn/provider"
)

// What a stream may be short of. All are worth asking again.
var (
	ErrEmpty = errors.New("answer holds neither text nor a tool call")
	ErrCut   = errors.New("stream ended before the answer told its finish")
)

// answer puts one streamed answer together. The goroutine of Reply alone uses it.
type answer struct {
	watch   *provider.Watch
	between time.Duration
	emit    func(string)

	result  llm.Result
	calls   []*call // by first appearance
	letters int
}

// call is a tool call whose fragments still arrive.
type call struct {
	index     int64
	id, name  string
	arguments []byte
}

// hear takes one chunk. The clock stands while emit runs: that wait is ours.
func (a *answer) hear(chunk openai.ChatCompletionChunk) {
	a.watch.Pause()
	a.result.Model = cmp.Or(a.result.Model, chunk.Model)
	if chunk.JSON.Usage.Valid() {
		a.result.Usage = usage(chunk.Usage)
	}
	progress := false
	for _, choice := range chunk.Choices {
		progress = a.hearChoice(choice) || progress
	}
	a.awaitNext(progress)
}

// hearChoice tells whether the choice brought anything of the answer. Only the
// first choice is ever asked for.
func (a *answer) hearChoice(choice openai.ChatCompletionChunkChoice) bool {
	if choice.Index != 0 {
		return false
	}
	a.result.Finish = cmp.Or(choice.FinishReason, a.result.Finish)
	text := choice.Delta.Content + choice.Delta.Refusal
	if text != "" {
		a.letters += utf8.RuneCountInString(text)
		a.emit(text)
	}
	for _, fragment := range choice.Delta.ToolCalls {
		a.hearCall(fragment)
	}
	return text != "" || len(choice.Delta.ToolCalls) > 0
}

// hearCall adds a fragment to its call. The index is the key, but some servers
// leave it out or give 0 to every call: then a new id with a name begins one.
func (a *answer) hearCall(f openai.ChatCompletionChunkChoiceDeltaToolCall) {
	c := a.callOf(f)
	if c == nil {
		c = &call{index: f.Index}
		a.calls = append(a.calls, c)
	}
	c.id = cmp.Or(c.id, f.ID)
	c.name = cmp.Or(c.name, f.Function.Name)
	c.arguments = append(c.arguments, f.Function.Arguments...)
}

func (a *answer) callOf(f openai.ChatCompletionChunkChoiceDeltaToolCall) *call {
	for i := len(a.calls) - 1; i >= 0; i-- {
		c := a.calls[i]
		if f.JSON.Index.Valid() && c.index != f.Index {
			continue
		}
		begins := f.Function.Name != "" && f.ID != "" && c.id != "" && f.ID != c.id
		if begins {
			continue
		}
		return c
	}
	return nil
}

// awaitNext sets the clock for what must come next. A chunk that brought
// nothing before the finish leaves the caller waiting all the same, so it buys
// the server no more time: hear paused the clock, and resuming gives it what
// is left.
func (a *answer) awaitNext(progress bool) {
	switch {
	case a.result.Finish != "":
		a.watch.Await("end of the stream", trailer)
	case progress:
		a.watch.Await("next token", a.between)
	default:
		a.watch.Resume()
	}
}

// end judges the answer once the stream is over, with err or without.
func (a *answer) end(ctx context.Context, err error) (llm.Result, error) {
	if err == nil && a.result.Finish == "" {
		err = context.Cause(ctx) // a stream that we cut may look like one that ended
	}
	if err != nil && !a.finishedLate(ctx) {
		return a.result, read(ctx, err)
	}
	a.result.ToolCalls, err = a.toolCalls()
	switch {
	case err != nil:
	case a.letters == 0 && len(a.result.ToolCalls) == 0:
		err = ErrEmpty
	case a.result.Finish == "":
		err = ErrCut
	}
	if err != nil {
		return a.result, &provider.Error{Op: "read answer", Again: true, Err: err}
	}
	return a.result, nil
}

// finishedLate tells an answer that is whole and lacks only the trailer. Its
// stream broke after the finish was told; the words are good.
func (a *answer) finishedLate(ctx context.Context) bool {
	var late *provider.TimeoutError
	cause := context.Cause(ctx)
	return a.result.Finish != "" && (cause == nil || errors.As(cause, &late))
}

func (a *answer) toolCalls() ([]llm.ToolCall, error) {
	var out []llm.ToolCall
	for _, c := range a.calls {
		arguments := argumentsOrEmpty(string(c.arguments))
		if c.name == "" || !json.Valid([]byte(arguments)) {
			return nil, fmt.Errorf("tool call %d has no name or broken arguments", len(out))
		}
		if c.id == "" {
			c.id = "call_" + rand.Text() // results are matched by id, so each needs its own
		}
		out = append(out, llm.ToolCall{ID: c.id, Name: c.name, Arguments: json.RawMessage(arguments)})
	}
	return out, nil
}

func usage(u openai.CompletionUsage) llm.Usage {
	return llm.Usage{
		PromptTokens:       int(u.PromptTokens),
		PromptCachedTokens: int(u.PromptTokensDetails.CachedTokens),
		CompletionTokens:   int(u.CompletionTokens),
	}
}

// asked makes the error of a request that got no stream. The status is read off
// the response: the SDK loses it when the body of the refusal is not JSON.
func asked(ctx context.Context, err error, response *http.Response) error {
	if cause := context.Cause(ctx); cause != nil {
		return stopped("ask model", cause)
	}
	if response != nil && response.StatusCode >= http.StatusBadRequest {
		status := response.StatusCode
		return &provider.Error{Op: "ask model", Status: status, Again: provider.RetryableStatus(status),
			Err: fmt.Errorf("server answered %d %s", status, http.StatusText(status))}
	}
	return &provider.Error{Op: "ask model", Again: true, Err: err}
}

// read makes the error of a stream that broke. A provider's own error event is
// told by its type and code: its message may repeat the caller's words.
func read(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return stopped("read answer", cause)
	}
	var event *ssestream.StreamError
	if errors.As(err, &event) {
		kind, code := gjson.GetBytes(event.Event.Data, "error.type").String(), gjson.GetBytes(event.Event.Data, "error.code").String()
		return &provider.Error{Op: "read answer", Again: kind != "invalid_request_error",
			Err: fmt.Errorf("server sent an error, type %q, code %q", kind, code)}
	}
	return &provider.Error{Op: "read answer", Again: true, Err: err}
}

// stopped tells our own deadline, which may be retried, from the caller's
// cancellation, which comes back as its cause alone.
func stopped(op string, cause error) error {
	var late *provider.TimeoutError
	if errors.As(cause, &late) {
		return &provider.Error{Op: op, Again: true, Err: late}
	}
	return cause
}
