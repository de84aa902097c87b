package main

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"

	"headstart/turn"
	"headstart/worker/caller"
	"headstart/worker/devserver/devservertest"
)

// writeCallLog leaves a whole call in a data folder.
func writeCallLog(t *testing.T, data, call string) {
	t.Helper()
	book, db, err := openBook(t.Context(), "", data, nil, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	shipping, stop := context.WithCancel(t.Context())
	shipped := make(chan error, 1)
	go func() { shipped <- book.Run(shipping) }()
	journal, err := book.Begin(call, "prueba")
	if err != nil {
		t.Fatal(err)
	}
	journal.Append(turn.CallStarted{Room: "r", Language: "es"})
	journal.Append(turn.CallEnded{Reason: "caller_hung_up", EndedBy: "caller"})
	journal.Append(turn.CallSummary{})
	journal.Seal()
	stop()
	if err := errors.Join(<-shipped, book.Close(), db.Close()); err != nil {
		t.Fatal(err)
	}
}

// A worker process gets SIGTERM in the middle of a call: it refuses new calls,
// goes on with this one, and exits with 0 once the caller has hung up.
func TestSIGTERMWaitsForTheCall(t *testing.T) {
	server := devservertest.Start(t)
	data := t.TempDir()
	child := exec.CommandContext(t.Context(), os.Args[0], "start", "--agent", agentFile(t, func(s string) string { return s + "greeting: {say: Buenos días.}\n" }), "--data", data)
	child.Env = append(os.Environ(), asMain+"=1", "LIVEKIT_URL="+server.URL, "LIVEKIT_API_KEY="+server.APIKey, "LIVEKIT_API_SECRET="+server.APISecret, "LIVEKIT_AGENT_NAME=sigterm")
	stderr, err := child.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 1000)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(stderr); s.Scan(); {
			lines <- s.Text()
		}
	}()
	waitLine(t, lines, "registered")

	c, err := caller.Dial(t.Context(), caller.Config{
		URL: server.URL, APIKey: server.APIKey, APISecret: server.APISecret, Room: t.Name(), AgentName: "sigterm",
		Kind: caller.Phone, Number: "+34600123456", Log: zap.NewNop(),
	})
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan error, 1)
	go func() { gone <- c.Run(context.WithoutCancel(t.Context())) }()
	hearing, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := c.WaitSound(hearing, c.Dialed()); err != nil {
		t.Fatalf("no greeting: %v", err)
	}
	if err := child.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	waitLine(t, lines, "draining")
	if err := errors.Join(c.Hangup(), <-gone); err != nil {
		t.Fatal(err)
	}
	for range lines { // to the end of its log
	}
	if err := child.Wait(); err != nil {
		t.Fatalf("the worker ended with %v", err)
	}
	out, err := command(t, "log", "--data", data)
	if err != nil || !strings.Contains(out, "caller_hung_up") {
		t.Fatalf("the log: %q, %v", out, err)
	}
}

// waitLine reads a process's log until a line tells what is wanted.
func waitLine(t *testing.T, lines <-chan string, want string) {
	t.Helper()
	deadline := time.After(patience)
	var seen []string
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				t.Fatalf("the process ended before it told %q:\n%s", want, strings.Join(seen, "\n"))
			}
			seen = append(seen, line)
			if strings.Contains(line, want) {
				return
			}
		case <-deadline:
			t.Fatalf("no line tells %q within %v:\n%s", want, patience, strings.Join(seen, "\n"))
		}
	}
}
