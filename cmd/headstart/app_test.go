package main

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"headstart/turn"
	"headstart/worker/app/apptest"
)

// slotTool books; the caller hears its receipt, made of what came back.
const slotTool = `[{"name": "book_slot", "description": "Books a slot for the caller.", "side_effect": "write", "pii": ["phone"],
	"confirm": "Reservado: {{result.when}} con {{result.with}}.",
	"parameters": {"type": "object", "properties": {"day": {"type": "string"}, "phone": {"type": "string"}}, "required": ["day"]}}]`

// hold has an app hold the worker's agent until the test ends.
func (w *wire) hold(answer apptest.Answer) *apptest.App {
	w.t.Helper()
	a, err := apptest.Hold(w.t.Context(), w.appConfig(answer))
	if err != nil {
		w.t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() { _ = a.Run(w.t.Context()) }) // it ends by the socket's end, which is the test's to make
	w.t.Cleanup(func() { _ = a.Kill(); running.Wait() })
	return a
}

func (w *wire) appConfig(answer apptest.Answer) apptest.Config {
	return apptest.Config{URL: "http://" + w.srv.api.Addr(), Agent: "por-cable", Tools: slotTool, Answer: answer}
}

// newHeldWire is a wire with /v1.
func newHeldWire(t *testing.T) *wire {
	t.Helper()
	return newWireIn(t, wireAgent, nil, func(s *settings) { s.apiAddr = "127.0.0.1:0" })
}

// The app dies in the middle of a call: the caller is told goodbye, and the log why.
func TestAnAppThatDiesInMidCall(t *testing.T) {
	t.Parallel()
	w := newHeldWire(t)
	a := w.hold(nil)
	if _, err := apptest.Hold(t.Context(), w.appConfig(nil)); err == nil || !strings.Contains(err.Error(), "held by another app") {
		t.Fatalf("a second app: %v", err)
	}
	c := w.dial()
	c.hear(c.types())
	killed := time.Now()
	if err := a.Kill(); err != nil {
		t.Fatal(err)
	}
	checkDetached(t, c.farewell(killed))

	free := w.dial() // nobody holds the agent now: a call as ever
	free.hear(free.types())
	if ended := eventsOf[turn.CallEnded](free.hangUp()); ended[0].Reason != "caller_hung_up" {
		t.Fatalf("a call without an app: %+v", ended)
	}
}

// types asks in writing, which no loaded machine cuts in two.
func (c *connected) types() time.Time {
	c.wire.t.Helper()
	asked := time.Now()
	if err := c.Chat(c.wire.t.Context(), "¿Me da cita para el lunes?"); err != nil {
		c.wire.t.Fatalf("chat: %v", err)
	}
	return asked
}

// farewell hears what is said after a moment until the worker hangs up, and returns
// the log.
func (c *connected) farewell(after time.Time) []turn.Entry {
	t := c.wire.t
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := c.WaitSound(ctx, after); err != nil {
		t.Fatalf("no goodbye: %v", err)
	}
	select {
	case err := <-c.gone:
		if err != nil {
			t.Fatal(err)
		}
	case <-ctx.Done():
		t.Fatal("nobody hung up")
	}
	_, entries, err := bookLogs{c.wire.srv}.Sealed(ctx, c.Room())
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// checkDetached holds a log to the end of a call that lost its app.
func checkDetached(t *testing.T, entries []turn.Entry) {
	t.Helper()
	ended, sealed := eventsOf[turn.CallEnded](entries), eventsOf[turn.CallSummary](entries)
	if len(ended) != 1 || ended[0].Reason != "app_detached" || ended[0].EndedBy != "platform" || len(sealed) != 1 {
		t.Fatalf("ended %+v, sealed %d times", ended, len(sealed))
	}
	said := eventsOf[turn.TurnAgent](entries)
	if last := said[len(said)-1]; last.Kind != turn.KindGoodbye || last.Interrupted || last.HeardMS == 0 {
		t.Fatalf("last said %+v", last)
	}
	for _, f := range eventsOf[turn.Failure](entries) {
		if !f.Recoverable {
			t.Fatalf("nobody's fault is told as an error: %+v", f)
		}
	}
}
