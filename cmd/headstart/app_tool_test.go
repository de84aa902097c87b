package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"headstart/turn"
	"headstart/worker/app/apptest"
	"headstart/worker/caller"
	"headstart/worker/room/audio"
)

// booking is a fake model that calls the tool once, and has a word after it.
const booking = `{"answers": [{"tool_calls": [{"id": "t1", "name": "book_slot", "arguments": "{\"day\": \"lunes\", \"phone\": \"600123456\"}"}]},
	{"text": "Le esperamos entonces en la clínica."}]}`

// checkTold holds what the app read of a call to what its log has.
func checkTold(t *testing.T, told, log []turn.Entry) {
	t.Helper()
	places := func(entries []turn.Entry) (seqs []int64) {
		for _, e := range entries {
			if !e.Ephemeral {
				seqs = append(seqs, e.Seq)
			}
		}
		return seqs
	}
	if diff := cmp.Diff(places(log), places(told)); diff != "" {
		t.Fatalf("what the app was told (-log +told):\n%s", diff)
	}
}

// An app books a slot: the caller hears what came back from it.
func TestAnAppBooksASlot(t *testing.T) {
	t.Parallel()
	w := newHeldWire(t)
	calls := make(chan turn.ToolCalled, 1)
	a := w.hold(func(_ context.Context, call turn.ToolCalled) (any, error) {
		calls <- call
		return map[string]string{"when": "el lunes a las diez", "with": "la doctora Vidal"}, nil
	})
	w.fail("llm", booking)
	c := w.dial()
	asked := c.types()
	c.said("Le esperamos entonces en la clínica.")
	heard := caller.PCM(c.Heard(asked, time.Time{}))
	entries := c.hangUp()
	if rms := audio.RMS(heard); rms < 50 {
		t.Fatalf("the answer has an RMS of %.0f", rms)
	}
	call := <-calls
	if diff := cmp.Diff(map[string]any{"day": "lunes", "phone": "600123456"}, call.Arguments); diff != "" {
		t.Fatalf("arguments at the app (-want +got):\n%s", diff)
	}
	if logged := eventsOf[turn.ToolCalled](entries); len(logged) != 1 || logged[0].Arguments.(map[string]any)["phone"] != "***" {
		t.Fatalf("arguments in the log: %+v", logged)
	}
	if diff := cmp.Diff([]string{"book_slot"}, eventsOf[turn.CallStarted](entries)[0].Tools); diff != "" {
		t.Fatalf("tools that the log says were declared (-want +got):\n%s", diff)
	}
	results := eventsOf[turn.ToolResulted](entries)
	if len(results) != 1 || results[0].Error != "" || results[0].CallID != call.CallID {
		t.Fatalf("results %+v", results)
	}
	var told strings.Builder
	for _, said := range eventsOf[turn.TurnAgent](entries) {
		told.WriteString(said.Text + " ")
	}
	if !strings.Contains(told.String(), "Reservado: el lunes a las diez con la doctora Vidal.") {
		t.Fatalf("the caller heard %q", told.String())
	}
	w.sees(a, entries)
}

// said waits until the log of the call has a turn of the agent that says so.
func (c *connected) said(text string) {
	t := c.wire.t
	t.Helper()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	deadline := time.After(30 * time.Second)
	for {
		if strings.Contains(c.heardSoFar(), text) {
			return
		}
		select {
		case <-look.C:
		case <-deadline:
			t.Fatalf("the agent said %q, not %q", c.heardSoFar(), text)
		}
	}
}

// heardSoFar is what the log of the call that is on says that the caller heard.
func (c *connected) heardSoFar() string {
	t := c.wire.t
	t.Helper()
	var all strings.Builder
	for _, call := range c.wire.srv.book.Live() {
		page, err := c.wire.srv.book.Read(t.Context(), call.ID, 0, 1000)
		if err != nil {
			t.Fatalf("read log: %v", err)
		}
		for _, said := range eventsOf[turn.TurnAgent](page.Entries) {
			all.WriteString(said.Text + " ")
		}
	}
	return all.String()
}

// sees waits until the app was told of the seal, and compares.
func (w *wire) sees(a *apptest.App, log []turn.Entry) {
	w.t.Helper()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	deadline := time.After(30 * time.Second)
	for {
		told := a.Entries()
		if len(told) > 0 && told[len(told)-1].Type == (turn.CallSummary{}).EventType() {
			checkTold(w.t, told, log)
			return
		}
		select {
		case <-look.C:
		case <-deadline:
			w.t.Fatalf("the app was told %d entries of %d", len(told), len(log))
		}
	}
}

// The app dies while a tool of its own runs: that fails in words.
func TestAnAppThatDiesInATool(t *testing.T) {
	t.Parallel()
	w := newHeldWire(t)
	var a *apptest.App
	holding := make(chan struct{})
	died := make(chan time.Time, 1)
	a = w.hold(func(context.Context, turn.ToolCalled) (any, error) {
		<-holding
		died <- time.Now()
		return nil, a.Kill()
	})
	close(holding)
	w.fail("llm", booking)
	c := w.dial()
	c.types()
	entries := c.farewell(<-died)
	checkDetached(t, entries)
	results := eventsOf[turn.ToolResulted](entries)
	if len(results) != 1 || results[0].Error == "" {
		text, _ := json.Marshal(results)
		t.Fatalf("results %s", text)
	}
}

// The app lets go in peace, and is gone: the call goes on without its tools.
func TestAnAppThatReleases(t *testing.T) {
	t.Parallel()
	w := newHeldWire(t)
	a := w.hold(nil)
	c := w.dial()
	if err := a.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for w.srv.apps.Held() > 0 {
		<-look.C
	}
	if err := a.Kill(); err != nil {
		t.Fatal(err)
	}
	w.fail("llm", booking)
	c.types()
	c.said("Le esperamos entonces en la clínica.")
	entries := c.hangUp()
	if ended := eventsOf[turn.CallEnded](entries); ended[0].Reason != "caller_hung_up" {
		t.Fatalf("ended %+v", ended)
	}
	if results := eventsOf[turn.ToolResulted](entries); len(results) != 1 || results[0].Error == "" {
		t.Fatalf("results %+v", results)
	}
	if set := eventsOf[turn.ToolsSet](entries); len(set) != 1 || len(set[0].Tools) != 0 {
		t.Fatalf("tools %+v", set)
	}
}
