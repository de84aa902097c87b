package app_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"headstart/turn"
	v1 "headstart/worker/api/v1"
	"headstart/worker/app"
	"headstart/worker/calllog"
	"headstart/worker/calllog/calllogtest"
)

// The README's example, run by Node as it stands there, holds an agent and answers
// its tool.
func TestTheExampleOfTheREADME(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("no node in PATH")
		}
		t.Skip("no node in PATH: the example is not run")
	}
	store := &calllogtest.Store{}
	book, err := calllog.Open(calllog.Config{Dir: t.TempDir()}, store, zap.NewNop())
	if err != nil {
		t.Fatalf("open book: %v", err)
	}
	defer book.Close()
	const slug = "clinica-norte"
	holders := app.New(app.Config{Agents: []string{slug}}, book, zap.NewNop())
	server, err := v1.Listen(t.Context(), v1.Config{Addr: "127.0.0.1:0", Apps: holders}, book, store, zap.NewNop())
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	process, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(process) }()
	defer func() {
		end()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
	}()

	example := exec.CommandContext(t.Context(), node, "--experimental-websocket", "-e",
		strings.ReplaceAll(readmeExample(t), "127.0.0.1:8080", server.Addr()))
	example.Stdout, example.Stderr = t.Output(), t.Output()
	if err := example.Start(); err != nil {
		t.Fatalf("start node: %v", err)
	}
	exited := make(chan struct{})
	go func() { defer close(exited); _ = example.Wait() }() // it is killed, or told below
	defer func() { _ = example.Process.Kill(); <-exited }()
	held := heldBy(t, holders, slug, exited)
	log, err := book.Begin("call-1", slug)
	if err != nil {
		t.Fatalf("begin log: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	log.Append(turn.ToolCalled{CallID: "t1", Name: "book_slot"})
	call := toolCall("t1")
	call.Arguments = []byte(`{"day": "lunes"}`)
	got, err := held.Call(ctx, call)
	if err != nil {
		t.Fatalf("book: %v", err)
	}
	equal(t, "output", `{"when":"lunes, 10:00"}`, string(got.Output))
	held.End()
}

// heldBy waits until the app holds the agent, and begins a call.
func heldBy(t *testing.T, holders *app.Holders, slug string, exited <-chan struct{}) *app.Held {
	t.Helper()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	deadline := time.After(time.Minute)
	for {
		if held := holders.Hold(slug, "call-1"); held != nil {
			return held
		}
		select {
		case <-look.C:
		case <-exited:
			t.Fatal("the example ended")
		case <-deadline:
			t.Fatal("the example does not hold the agent")
		}
	}
}

// readmeExample is the JavaScript of the README.
func readmeExample(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatalf("read README: %v", err)
	}
	_, rest, _ := strings.Cut(string(text), "```js\n")
	example, _, found := strings.Cut(rest, "```\n")
	if !found {
		t.Fatal("the README has no example in JavaScript")
	}
	return example
}
