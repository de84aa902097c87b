package room_test

import (
	"testing"
	"time"

	"headstart/worker/caller"
	"headstart/worker/devserver/devservertest"
	"headstart/worker/room"
	"headstart/worker/room/audio"
)

func TestOwnReconnectIsNoHangupAndBothAreHeardAfter(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*room.Room){"resume": room.Resume, "restart": room.Restart} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := devservertest.Start(t)
			a := join(t, server, room.Config{})
			c := dial(t, server, caller.Config{Identity: "anna"})
			next[room.Subscribed](t, a)
			<-a.Audio()
			waitGathered(t, a)
			lose(a.Room)
			go func() { _, _ = c.Say(t.Context(), sine(440, 16000, time.Minute), 16000) }()
			waitLoud(t, a)
			begin := time.Now()
			if err := a.Play(within(t), sine(880, 24000, 5*time.Second), 24000); err != nil {
				t.Fatal(err)
			}
			if _, err := c.WaitSound(within(t), begin); err != nil {
				t.Fatal(err)
			}
			if err := a.SetState(within(t), "listening"); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func waitGathered(t *testing.T, a *agent) {
	t.Helper()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	deadline := time.After(patience)
	for !room.Gathered(a.Room) {
		select {
		case <-look.C:
		case <-deadline:
			t.Fatal("the connections still look for their addresses")
		}
	}
}

// waitLoud waits for a second of the caller's tone without a break; a caller who is
// reported gone fails it.
func waitLoud(t *testing.T, a *agent) {
	t.Helper()
	deadline := time.After(patience)
	for loud := 0; loud < 50; {
		select {
		case f := <-a.Audio():
			if loud++; audio.RMS(f) < 5000 {
				loud = 0
			}
		case e := <-a.Events():
			if left, ok := e.(room.CallerLeft); ok {
				t.Fatalf("the agent's own reconnect is taken for %+v", left)
			}
		case <-deadline:
			t.Fatal("the caller is not heard")
		}
	}
}
