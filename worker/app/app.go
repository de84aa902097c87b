/*
Package app owns the sockets by which a business's own process, its app, holds
agents: it declares the agents' tools there, and answers them.

	app                                     worker
	 | agent.configure {tools} ------------> | the agent is held, from its next call on
	 | <------------------ agent.configured  |
	 | <------------------- call.started ... | the entries of a call that began while it was held,
	 | <------------------------- tool.call  |   in the order of their seq, without the ephemeral ones
	 | tool.result ------------------------> | the model reads it
	 | tools.set --------------------------> | the model may call these of them alone
	 | <-- tool.result ... call.ended ...    |
	 | agent.release ----------------------> | the calls that are on go on without tools
	 | ping ----------> pong, anything that is refused ----------> error

A frame of the app is a Command, one of the worker an entry as logs have it. What
a command led to, and is in no log, has seq 0 and the command's id.

It never talks to a caller or a model, never writes a call's log, and never lets a
call wait for a socket: a call asks by leaving what it asks, the feed of its log
brings it to the app, and the tool's own clock bounds the wait.

How it fails. A command that makes no sense is refused by an error that names its
id, and nothing else happens; an agent that another app holds, after the second that
this one has to be gone. An app that takes no frame for 5 s, or answers no
ping for 10 s, is closed; so is one that sends more than 1 MiB at once. When a
socket closes that holds calls and has not released them, the tools that they wait
for fail in words, and Gone tells the calls, which end with reason app_detached.
*/
package app

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/zap"

	"headstart/turn"
	"headstart/worker/calllog"
)

const (
	// maxFrame bounds what an app may send at once.
	maxFrame = 1 << 20
	// goneWithin is how long the app that holds an agent may take to be gone when another
	// asks for it. One that closes and is back at once finds its close answered before the
	// worker has let go of what it held.
	goneWithin = time.Second
	// maxSockets keeps a client that connects without end from taking the files
	// that calls need.
	maxSockets = 64
)

// Logs are what apps are told: a calllog.Book.
type Logs interface {
	// Follow yields a log's entries until its seal, as calllog.Book.Follow does.
	Follow(ctx context.Context, log string, after int64) iter.Seq2[turn.Entry, error]
	// BeginAgent opens an agent's own log.
	BeginAgent(ctx context.Context, agent string) (*calllog.Log, error)
}

// Config is which agents can be held. All but Agents may stay zero.
type Config struct {
	Agents []string // slugs that are served here
	// Heartbeat is how often a socket is asked whether it lives: 15 s. It has
	// 10 s to answer.
	Heartbeat time.Duration
}

// Holders are the apps that hold agents in this process, an app an agent at most.
// Methods may be called from any goroutine.
type Holders struct {
	cfg  Config
	logs Logs
	log  *zap.Logger

	places chan struct{} // one for each socket

	// mu guards what follows, and the fields that sockets and held calls say it
	// guards. Nobody waits while holding it.
	mu      sync.Mutex
	holding map[string]*socket // by agent
}

// New makes holders without an app. Nothing happens before a socket is served.
func New(cfg Config, logs Logs, log *zap.Logger) *Holders {
	cfg.Heartbeat = cmp.Or(cfg.Heartbeat, 15*time.Second)
	return &Holders{cfg: cfg, logs: logs, log: log.Named("app"), places: make(chan struct{}, maxSockets), holding: map[string]*socket{}}
}

// ServeHTTP makes a WebSocket of the request and serves it until it is closed, or
// the request's context ends. Who may ask is decided before.
func (h *Holders) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case h.places <- struct{}{}:
		defer func() { <-h.places }()
	default:
		http.Error(w, "too many apps are connected", http.StatusServiceUnavailable)
		return
	}
	conn, err := websocket.Accept(w, r, nil) // pages of other origins are refused
	if err != nil {
		h.log.Debug("app not connected", zap.Error(err)) // and was told why
		return
	}
	defer func() { _ = conn.CloseNow() }() // the outcome is known by then
	conn.SetReadLimit(maxFrame)
	began := time.Now()
	h.log.Info("app connected", zap.String("from", r.RemoteAddr))
	s := newSocket(h, conn)
	err = s.run(r.Context())
	h.log.Info("app gone", zap.String("from", r.RemoteAddr), zap.Duration("lasted", time.Since(began)), zap.Error(err))
}

// Hold begins a call of an agent, whose log has begun. It returns nil when no app
// holds the agent: a nil Held is a call without an app. End it when the call ends.
func (h *Holders) Hold(agent, call string) *Held {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.holding[agent]
	if s == nil {
		return nil
	}
	held := newHeld(s, agent, call, s.tools[agent])
	s.held[call] = held
	s.follow(held)
	return held
}

// Held is how many agents apps hold now.
func (h *Holders) Held() int {
	if h == nil {
		return 0
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.holding)
}

// errHeld: an agent has one app.
var errHeld = errors.New("another app holds this agent")

// take gives a socket an agent, with its tools; nil leaves those that it had. Who holds
// the agent has goneWithin to be gone.
func (h *Holders) take(s *socket, agent string, tools *[]turn.Tool) ([]turn.Tool, error) {
	ctx, cancel := context.WithTimeout(s.life, goneWithin)
	defer cancel()
	for {
		declared, holder := h.takeNow(s, agent, tools)
		if holder == nil {
			return declared, nil
		}
		if ctx.Err() != nil {
			return nil, errHeld
		}
		select {
		case <-holder.gone:
		case <-ctx.Done():
		}
	}
}

// takeNow is take without a wait: it returns who holds the agent, if that is another.
func (h *Holders) takeNow(s *socket, agent string, tools *[]turn.Tool) (declared []turn.Tool, holder *socket) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if other := h.holding[agent]; other != nil && other != s {
		return nil, other
	}
	h.holding[agent] = s
	if tools != nil {
		s.tools[agent] = *tools
	}
	return slices.Clone(s.tools[agent]), nil
}

// release takes the agent from the socket; false when it does not hold it.
func (h *Holders) release(s *socket, agent string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.holding[agent] != s {
		return false
	}
	delete(h.holding, agent)
	delete(s.tools, agent)
	for _, held := range s.held {
		if held.agent == agent {
			held.release()
		}
	}
	return true
}

// detach ends all that the socket held, and tells how many calls lost their app.
func (h *Holders) detach(s *socket) (calls int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for agent, holder := range h.holding {
		if holder == s {
			delete(h.holding, agent)
		}
	}
	for call, held := range s.held {
		if held.lose() {
			calls++
		}
		delete(s.held, call)
	}
	return calls
}
