package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"headstart/turn"
	"headstart/turn/llm"
)

// Why a tool has no result, in words for the model.
var (
	errGone     = errors.New("the system that runs this tool has gone away")
	errReleased = errors.New("the system that runs this tool has let go of this call")
	errOver     = errors.New("the call is over")
	errTwice    = errors.New("a tool call with this id is running already")
)

// Held is one call of an agent that an app holds: its tools, which the app
// answers. It is a turn.Toolbox. A nil Held is a call without an app: it has no
// tools, is never gone, and may be ended.
type Held struct {
	socket      *socket
	agent, call string
	tools       []turn.Tool
	gone        chan struct{}
	offered     chan []string // one place: the newest

	// The holders' mu guards what follows.
	stopFeed context.CancelFunc
	asked    map[string]*asking // by the id of the tool call
	news     chan struct{}      // closed and made anew whenever something is asked
	shut     error              // why nothing more is asked
}

// asking is a tool call that waits for its result.
type asking struct {
	llm.ToolCall
	shown  bool        // it is on its way to the app
	answer chan answer // one place
}

// answer is what came of a tool call.
type answer struct {
	output turn.ToolOutput
	err    error
}

func newHeld(s *socket, agent, call string, tools []turn.Tool) *Held {
	return &Held{
		socket: s, agent: agent, call: call, tools: tools, gone: make(chan struct{}), offered: make(chan []string, 1), stopFeed: func() {},
		asked: map[string]*asking{}, news: make(chan struct{}),
	}
}

// Tools are what the app had declared when the call began.
func (h *Held) Tools() []turn.Tool {
	if h == nil {
		return nil
	}
	return h.tools
}

// has tells whether the app had declared a tool of this name.
func (h *Held) has(name string) bool {
	return slices.ContainsFunc(h.tools, func(t turn.Tool) bool { return t.Name == name })
}

// Gone is closed when the app's socket closes while the call is on, without a
// release before.
func (h *Held) Gone() <-chan struct{} {
	if h == nil {
		return nil
	}
	return h.gone
}

// Offered hands out which tools the model may call from then on, whenever the app says
// so; after a release none.
func (h *Held) Offered() <-chan []string {
	if h == nil {
		return nil
	}
	return h.offered
}

// offer tells the call which tools the model may call, in place of what it did not
// read yet. The caller holds mu.
func (h *Held) offer(names []string) {
	select {
	case <-h.offered:
	default:
	}
	h.offered <- names // its one place is free: whoever fills it holds mu
}

// Call implements turn.Toolbox: it asks the app, and waits for its result until
// ctx ends. The app reads the call in the entry tool.call of the call's log.
func (h *Held) Call(ctx context.Context, call llm.ToolCall) (turn.ToolOutput, error) {
	a, err := h.ask(call)
	if err != nil {
		return turn.ToolOutput{}, err
	}
	defer h.withdraw(a)
	select {
	case got := <-a.answer:
		return got.output, got.err
	case <-ctx.Done():
	}
	select {
	case got := <-a.answer: // in the same instant
		return got.output, got.err
	default:
		return turn.ToolOutput{}, fmt.Errorf("wait for the tool's result: %w", context.Cause(ctx))
	}
}

// End says that the call is over: its app may go now, and is still told the rest
// of the log. It may be called more than once.
func (h *Held) End() {
	if h == nil {
		return
	}
	h.socket.holders.mu.Lock()
	defer h.socket.holders.mu.Unlock()
	h.close(errOver, false)
	delete(h.socket.held, h.call)
}

func (h *Held) ask(call llm.ToolCall) (*asking, error) {
	h.socket.holders.mu.Lock()
	defer h.socket.holders.mu.Unlock()
	if h.shut != nil {
		return nil, h.shut
	}
	if h.asked[call.ID] != nil {
		return nil, errTwice
	}
	a := &asking{ToolCall: call, answer: make(chan answer, 1)}
	h.asked[call.ID] = a
	h.wake()
	return a, nil
}

// withdraw forgets what was asked: a result that comes now is refused.
func (h *Held) withdraw(a *asking) {
	h.socket.holders.mu.Lock()
	defer h.socket.holders.mu.Unlock()
	if h.asked[a.ID] == a {
		delete(h.asked, a.ID)
	}
}

// wake tells the feed to look again. The caller holds mu.
func (h *Held) wake() {
	close(h.news)
	h.news = make(chan struct{})
}

// newsOf closes when there is something to look at.
func (h *Held) newsOf() <-chan struct{} {
	h.socket.holders.mu.Lock()
	defer h.socket.holders.mu.Unlock()
	return h.news
}

// lookAt finds the arguments of what is asked, and takes it for shown. open tells
// whether more may be asked.
func (h *Held) lookAt(id string) (arguments json.RawMessage, open bool) {
	h.socket.holders.mu.Lock()
	defer h.socket.holders.mu.Unlock()
	if a := h.asked[id]; a != nil {
		a.shown = true
		return a.Arguments, true
	}
	return nil, h.shut == nil
}

// close fails what waits; what the app was shown it may be let finish. The caller
// holds mu.
func (h *Held) close(why error, sparing bool) {
	if h.shut == nil {
		h.shut = why
	}
	for id, a := range h.asked {
		if sparing && a.shown {
			continue
		}
		a.answer <- answer{err: why}
		delete(h.asked, id)
	}
	h.wake()
}

// release lets go of the call: what the app has been asked it may still answer.
// The caller holds mu.
func (h *Held) release() {
	if h.shut == nil {
		h.offer([]string{})
	}
	h.close(errReleased, true)
	h.stopFeed()
}

// lose tells the call that its app is gone, and whether that ends it. The caller
// holds mu.
func (h *Held) lose() bool {
	ends := h.shut == nil
	h.close(errGone, false)
	if ends {
		close(h.gone)
	}
	return ends
}
