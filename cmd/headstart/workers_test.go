package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"

	"headstart/worker/caller"
	"headstart/worker/devserver"
	"headstart/worker/devserver/devservertest"
)

// killing is what workers that are killed one after the other share.
type killing struct {
	t           *testing.T
	server      *devserver.Server
	name        string // of explicit dispatch
	agent, data string
	known       map[string]bool // calls so far
	dialled     int
}

func newKilling(t *testing.T) *killing {
	t.Helper()
	return &killing{
		t: t, server: devservertest.Start(t), name: t.Name(), data: t.TempDir(), known: map[string]bool{},
		agent: agentFile(t, func(s string) string {
			return s + "greeting: {say: Buenos días.}\nembedder: {provider: hashing}\ndocs: {base: clinica-norte}\n"
		}),
	}
}

// process is a worker of its own, with its data in the shared folder.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	api   string
	lines chan string
	said  []string // of lines, so far
}

// start runs a worker until it is registered.
func (k *killing) start() *process {
	k.t.Helper()
	cmd := exec.CommandContext(k.t.Context(), os.Args[0], "start", "--agent", k.agent, "--data", k.data,
		"--base", "clinica-norte=../../testdata/knowledge/clinica-norte", "--api-addr", "127.0.0.1:0", "--load-threshold", "1")
	cmd.Env = append(os.Environ(), asMain+"=1", "LIVEKIT_URL="+k.server.URL, "LIVEKIT_API_KEY="+k.server.APIKey,
		"LIVEKIT_API_SECRET="+k.server.APISecret, "LIVEKIT_AGENT_NAME="+k.name)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		k.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	p := &process{t: k.t, cmd: cmd, lines: make(chan string, 10_000)}
	go func() {
		defer close(p.lines)
		for s := bufio.NewScanner(stderr); s.Scan(); {
			p.lines <- s.Text()
		}
	}()
	p.waitReady()
	return p
}

// waitReady reads the worker's log until it tells where it answers operators
// and that it is registered.
func (p *process) waitReady() {
	p.t.Helper()
	deadline := time.After(patience)
	for registered := false; !registered || p.api == ""; {
		select {
		case line, ok := <-p.lines:
			if !ok {
				p.t.Fatalf("the worker ended:\n%s", strings.Join(p.said, "\n"))
			}
			p.said = append(p.said, line)
			var said struct{ Msg, Address string }
			if json.Unmarshal([]byte(line), &said) != nil {
				continue
			}
			registered = registered || said.Msg == "registered"
			if said.Msg == "api" {
				p.api = "http://" + said.Address
			}
		case <-deadline:
			p.t.Fatalf("the worker is not ready after %v:\n%s", patience, strings.Join(p.said, "\n"))
		}
	}
}

// kill ends the worker at once, and returns when it is gone.
func (p *process) kill() {
	p.t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Fatalf("kill: %v", err)
	}
	p.drainLog()
	if exit, ok := errors.AsType[*exec.ExitError](p.cmd.Wait()); !ok || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		p.t.Fatalf("the worker ended otherwise: %v", exit)
	}
}

// terminate asks the worker to end, and returns when it has.
func (p *process) terminate() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatalf("terminate: %v", err)
	}
	p.drainLog()
	if err := p.cmd.Wait(); err != nil {
		p.t.Fatalf("the worker ended with %v", err)
	}
}

func (p *process) drainLog() {
	for line := range p.lines {
		p.said = append(p.said, line)
	}
}

// call calls the worker, and returns once operators see the call. LiveKit
// answers a registration before it knows of the worker itself: what is
// dispatched in between is given to nobody, and so the caller dials again.
func (k *killing) call(w *process, o operator) (c *caller.Caller, gone chan error, id string) {
	k.t.Helper()
	for range 3 {
		c, gone := k.dial()
		if id, ok := k.newCall(o); ok {
			return c, gone, id
		}
		if err := errors.Join(c.Hangup(), <-gone); err != nil {
			k.t.Fatalf("caller: %v", err)
		}
	}
	w.kill()
	k.t.Fatalf("no call comes:\n%s", strings.Join(w.said, "\n"))
	return nil, nil, ""
}

func (k *killing) dial() (c *caller.Caller, gone chan error) {
	k.t.Helper()
	k.dialled++
	c, err := caller.Dial(k.t.Context(), caller.Config{
		URL: k.server.URL, APIKey: k.server.APIKey, APISecret: k.server.APISecret, AgentName: k.name,
		Room: fmt.Sprintf("%s-%d", k.t.Name(), k.dialled), Kind: caller.Phone, Number: "+34600123456", Log: zap.NewNop(),
	})
	if err != nil {
		k.t.Fatalf("dial: %v", err)
	}
	gone = make(chan error, 1)
	go func() { gone <- c.Run(context.WithoutCancel(k.t.Context())) }()
	return c, gone
}

// newCall waits until operators see a call that was not there before.
func (k *killing) newCall(o operator) (id string, ok bool) {
	k.t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(patience / 3); ; {
		var list calls
		o.get(k.t, "/v1/calls?limit=1", &list)
		if len(list.Calls) > 0 && !k.known[list.Calls[0].ID] {
			k.known[list.Calls[0].ID] = true
			return list.Calls[0].ID, true
		}
		select {
		case <-tick.C:
		case <-deadline:
			return "", false
		}
	}
}
