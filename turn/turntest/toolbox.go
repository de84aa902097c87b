package turntest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"headstart/turn"
	"headstart/turn/llm"
)

// Work is what an app does for one call of a tool.
type Work struct {
	Took   time.Duration
	Output string // JSON
	Error  string // the app's, in words
	Err    error  // ours: the app has gone
	Deaf   bool   // goes on when its context ends
	Panic  bool   // instead of all that
}

// Toolbox runs a script of works, for each tool its own.
type Toolbox struct {
	t testing.TB

	mu    sync.Mutex
	works map[string][]Work
	calls []Called
}

// Called is one call as the app had it.
type Called struct {
	ID, Name, Arguments string
	Cause               error // with which it was cancelled, nil when it was not
}

// Works makes a toolbox of scripts. The test fails when a tool is called more often than
// its script has works, or when one is left at its end.
func Works(t testing.TB, works map[string][]Work) *Toolbox {
	b := &Toolbox{t: t, works: works}
	t.Cleanup(func() {
		for name, left := range b.works {
			if len(left) > 0 {
				t.Errorf("%s was not called for %d of its works", name, len(left))
			}
		}
	})
	return b
}

// Calls are those that reached the app, in order of arrival.
func (b *Toolbox) Calls() []Called {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]Called(nil), b.calls...)
}

// Call implements turn.Toolbox.
func (b *Toolbox) Call(ctx context.Context, call llm.ToolCall) (turn.ToolOutput, error) {
	n, work := b.take(call)
	switch {
	case work.Panic:
		panic("a bug in a toolbox")
	case work.Deaf:
		time.Sleep(work.Took)
	default:
		if err := sleep(ctx, work.Took); err != nil {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.calls[n].Cause = err
			return turn.ToolOutput{}, err
		}
	}
	return turn.ToolOutput{Output: []byte(work.Output), Error: work.Error}, work.Err
}

func (b *Toolbox) take(call llm.ToolCall) (n int, work Work) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, Called{ID: call.ID, Name: call.Name, Arguments: string(call.Arguments)})
	left := b.works[call.Name]
	if len(left) == 0 {
		b.t.Errorf("%s was called once more than it has works", call.Name)
		return len(b.calls) - 1, Work{Err: errors.New("no work left")}
	}
	b.works[call.Name] = left[1:]
	return len(b.calls) - 1, left[0]
}
