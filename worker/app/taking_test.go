package app_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"headstart/worker/app"
)

// An agent has one app, until that lets go or dies.
func TestOneAppAnAgent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		first, second := o.holding(), o.connect()
		configure := `{"type": "agent.configure", "agent": "clinica", "call": null, "id": "c9", "data": {}}`
		asked := time.Now()
		second.send(configure)
		second.refused("c9", app.CodeHeld, "clinica", "another app")
		equal(t, "refused after", time.Second, time.Since(asked))
		second.send(`{"type": "agent.release", "agent": "clinica", "call": null, "id": "r9"}`)
		second.refused("r9", app.CodeNotHeld)
		first.die()
		synctest.Wait()
		second.send(configure)
		second.expect("agent.configured", `{"id": "c9", "by": "app", "tools": []}`)
		if _, held := o.ring("call-1"); held == nil || len(held.Tools()) != 0 {
			t.Fatalf("held %v", held)
		}
	})
}

// An app that closes, or lets go, a moment after another asked for its agent is no
// reason to refuse it: whoever reconnects may be here before the worker knows.
func TestAnAppThatIsJustGoing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		goes func(*business)
		held time.Duration // how long after the other asked the agent is its own
	}{
		{"it closes", func(b *business) { _ = b.conn.Close(websocket.StatusNormalClosure, "") }, 400 * time.Millisecond},
		{"it dies", (*business).die, 400 * time.Millisecond},
		{"it releases", func(b *business) { b.send(`{"type": "agent.release", "agent": "clinica", "call": null, "id": "r"}`) }, time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := newOffice(t)
				first, second := o.holding(), o.connect()
				asked := time.Now()
				second.send(`{"type": "agent.configure", "agent": "clinica", "call": null, "id": "c2", "data": {"tools": [` + bookTool + `]}}`)
				time.Sleep(400 * time.Millisecond)
				tt.goes(first)
				second.expect("agent.configured", `{"id": "c2", "by": "app", "tools": ["book_slot"]}`)
				equal(t, "held after", tt.held, time.Since(asked))
				second.die()
				synctest.Wait()
				equal(t, "agents that are held", 0, o.holders.Held())
			})
		})
	}
}
