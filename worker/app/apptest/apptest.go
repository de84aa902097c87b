// Package apptest is a business's own process, for tests: it holds an agent over a
// real socket and answers its tools. It fails by returning why, and never outlives
// Run.
package apptest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"headstart/turn"
	"headstart/worker/app"
)

// Answer is what a tool comes to: an output, or an error in words.
type Answer func(ctx context.Context, call turn.ToolCalled) (output any, err error)

// Config is the app. All is needed but Key.
type Config struct {
	URL   string // of /v1: http://127.0.0.1:8080
	Key   string // that it asks for
	Agent string
	Tools string // a JSON list of ToolSpec
	// Answer runs a tool. Calls are answered one after the other.
	Answer Answer
}

// App is one that is connected and holds its agent.
type App struct {
	cfg  Config
	conn *websocket.Conn

	mu      sync.Mutex // guards entries
	entries []turn.Entry
}

// Hold connects and holds the agent. Its error is the worker's refusal, or that it
// was not reached within 10 s.
func Hold(ctx context.Context, cfg Config) (*App, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, 10*time.Second, errors.New("the worker did not answer within 10 s"))
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	options := &websocket.DialOptions{HTTPClient: client, HTTPHeader: http.Header{}}
	if cfg.Key != "" {
		options.HTTPHeader.Set("Authorization", "Bearer "+cfg.Key)
	}
	conn, _, err := websocket.Dial(ctx, cfg.URL+"/v1/app", options)
	if err != nil {
		return nil, fmt.Errorf("connect to the worker: %w", err)
	}
	a := &App{cfg: cfg, conn: conn}
	data := json.RawMessage(`{"tools": ` + cfg.Tools + `}`)
	if err := a.send(ctx, app.Command{Type: app.Configure, Agent: cfg.Agent, ID: "configure", Data: data}); err != nil {
		return nil, errors.Join(err, conn.CloseNow())
	}
	frame, err := a.next(ctx)
	if err == nil && frame.Type == "error" {
		err = fmt.Errorf("refused: %s", frame.Data)
	}
	if err != nil {
		return nil, errors.Join(err, conn.CloseNow())
	}
	return a, nil
}

// Run reads what the worker tells, and answers the tools, until the socket closes.
// It returns nil when the app itself closed it.
func (a *App) Run(ctx context.Context) error {
	for {
		frame, err := a.next(ctx)
		if err != nil {
			return err
		}
		a.keep(frame)
		if frame.Type != (turn.ToolCalled{}).EventType() {
			continue
		}
		if err := a.answer(ctx, frame); err != nil {
			return err
		}
	}
}

// Entries are what the worker told so far.
func (a *App) Entries() []turn.Entry {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]turn.Entry(nil), a.entries...)
}

// Kill drops the connection without a word, as the end of the process does.
func (a *App) Kill() error { return a.conn.CloseNow() }

// Release lets the agent go in peace.
func (a *App) Release(ctx context.Context) error {
	return a.send(ctx, app.Command{Type: app.Release, Agent: a.cfg.Agent, ID: "release"})
}

func (a *App) keep(frame turn.Entry) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.entries = append(a.entries, frame)
}

func (a *App) answer(ctx context.Context, frame turn.Entry) error {
	var call turn.ToolCalled
	if err := json.Unmarshal(frame.Data, &call); err != nil {
		return fmt.Errorf("read tool call: %w", err)
	}
	result := map[string]any{"call_id": call.CallID, "name": call.Name}
	if output, err := a.cfg.Answer(ctx, call); err != nil {
		result["error"] = err.Error()
	} else {
		result["output"] = output
	}
	data, err := json.Marshal(result)
	if err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return a.send(ctx, app.Command{Type: app.Result, Agent: frame.Agent, Call: frame.Call, ID: call.CallID, Data: data})
}

func (a *App) send(ctx context.Context, c app.Command) error {
	text, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("write command: %w", err)
	}
	if err := a.conn.Write(ctx, websocket.MessageText, text); err != nil {
		return fmt.Errorf("send %s: %w", c.Type, err)
	}
	return nil
}

func (a *App) next(ctx context.Context) (turn.Entry, error) {
	_, text, err := a.conn.Read(ctx)
	if err != nil {
		return turn.Entry{}, fmt.Errorf("read frame: %w", err)
	}
	var frame turn.Entry
	if err := json.Unmarshal(text, &frame); err != nil {
		return frame, fmt.Errorf("read frame: %w", err)
	}
	return frame, nil
}
