package dispatch_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/livekit/protocol/livekit"

	"headstart/worker/dispatch"
	"headstart/worker/dispatch/dispatchtest"
)

// timed is a host's script that lasts so long unless its context ends.
func timed(d time.Duration) func(context.Context, dispatch.Assignment) error {
	return func(ctx context.Context, _ dispatch.Assignment) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func TestLostConnectionEndsNoJob(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := &host{places: 2, script: timed(time.Minute)}
		w := begin(t, h, nil)
		c := w.server.Conn(t.Context())
		take(t, c, job(1))
		c.Offer(job(2)) // taken, not yet assigned: nobody will assign it now
		time.Sleep(20 * time.Second)
		take(t, c, job(3))
		c.Offer(job(4))
		synctest.Wait()
		began := time.Now()
		c.Drop()
		synctest.Wait()
		if w.Registered() {
			t.Fatalf("registered without a connection")
		}
		again := w.server.Conn(t.Context())
		if waited := time.Since(began); waited != 200*time.Millisecond {
			t.Fatalf("back after %s, want 200ms", waited)
		}
		synctest.Wait()
		if status := again.Statuses()[0]; status.GetJobCount() != 2 || status.GetStatus() != livekit.WorkerStatus_WS_FULL {
			t.Fatalf("first status %v, want full with two jobs", status)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		for _, id := range []string{"AJ_1", "AJ_3"} {
			if diff := cmp.Diff([]livekit.JobStatus{success}, again.Updates(id)); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", id, diff)
			}
		}
	})
}

func TestPendingJobIsDroppedWithItsConnection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := &host{places: 1}
		w := begin(t, h, nil)
		c := w.server.Conn(t.Context())
		c.Offer(job(1))
		synctest.Wait()
		c.Drop()
		synctest.Wait()
		if h.freed.Load() != 1 || h.taken.Load() != 0 {
			t.Fatalf("freed %d, taken %d, want 1 and 0", h.freed.Load(), h.taken.Load())
		}
	})
}

func TestEndWithoutConnectionIsReportedLater(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := &host{places: 2, script: timed(30 * time.Second)}
		w := begin(t, h, nil)
		c := w.server.Conn(t.Context())
		take(t, c, job(1))
		take(t, c, job(2))
		time.Sleep(15 * time.Second)
		w.server.Down(true)
		c.Drop()
		time.Sleep(20 * time.Second) // both end meanwhile
		w.server.Down(false)
		again := w.server.Conn(t.Context())
		synctest.Wait()
		for _, id := range []string{"AJ_1", "AJ_2"} {
			if diff := cmp.Diff([]livekit.JobStatus{success}, again.Updates(id)); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", id, diff)
			}
		}
		if second := again.Received()[1].Message.GetUpdateWorker(); second == nil {
			t.Fatalf("second message %v, want the worker's status before any job's", again.Received()[1].Message)
		}
	})
}

// The tries end the process only when nobody is on the line.
func TestSpentTriesWaitForTheLastCall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := &host{places: 1, script: timed(time.Hour)}
		w := begin(t, h, func(c *dispatch.Config) { c.Tries = 3 })
		c := w.server.Conn(t.Context())
		take(t, c, job(1))
		w.server.Down(true)
		c.Drop()
		began := time.Now()
		time.Sleep(time.Second) // the first try of three has failed
		if w.Spent() {
			t.Fatalf("spent after %s", time.Since(began))
		}
		time.Sleep(time.Minute)
		if !w.Spent() {
			t.Fatalf("not spent after %s", time.Since(began))
		}
		err := <-w.ended
		if !errors.Is(err, dispatch.ErrUnreachable) {
			t.Fatalf("got %v, want %v", err, dispatch.ErrUnreachable)
		}
		if lasted := time.Since(began); lasted < time.Hour || lasted > time.Hour+10*time.Second {
			t.Fatalf("gave up after %s, want within 10s of the call's hour", lasted)
		}
	})
}

func TestALateServerMakesTheTriesWhole(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := &host{places: 1, script: timed(time.Hour)}
		w := begin(t, h, func(c *dispatch.Config) { c.Tries = 3 })
		c := w.server.Conn(t.Context())
		take(t, c, job(1))
		w.server.Down(true)
		c.Drop()
		time.Sleep(time.Minute)
		w.server.Down(false)
		w.server.Conn(t.Context())
		synctest.Wait()
		if w.Spent() || !w.Registered() {
			t.Fatalf("spent %t, registered %t", w.Spent(), w.Registered())
		}
	})
}

func TestTriesAreSpentWhenIdle(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := begin(t, &host{places: 1}, nil)
		c := w.server.Conn(t.Context())
		time.Sleep(time.Minute)
		w.server.Down(true)
		c.Drop()
		began := time.Now()
		err := <-w.ended
		if !errors.Is(err, dispatch.ErrUnreachable) {
			t.Fatalf("got %v, want %v", err, dispatch.ErrUnreachable)
		}
		// 0.2 s, then 2, 4, 6, 8 and eleven times 10 before the sixteenth try.
		if waited := time.Since(began); waited != 130200*time.Millisecond {
			t.Fatalf("gave up after %s, want 2m10.2s", waited)
		}
		if dials := len(w.server.Dials()); dials != 17 {
			t.Fatalf("%d dials, want the first and 16 tries", dials)
		}
	})
}

func TestBadKeyAfterRegistrationIsTriedAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := begin(t, &host{places: 1}, nil)
		c := w.server.Conn(t.Context())
		time.Sleep(time.Minute)
		w.server.Refuse(401)
		c.Drop()
		time.Sleep(time.Second)
		w.server.Refuse(0)
		w.server.Conn(t.Context())
	})
}

func TestGarbageAndGoAwayReconnect(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := &host{places: 1, script: timed(time.Hour)}
		w := begin(t, h, nil)
		c := w.server.Conn(t.Context())
		take(t, c, job(1))
		time.Sleep(time.Minute)
		c.Garbage()
		c = w.server.Conn(t.Context())
		time.Sleep(time.Minute)
		c.GoAway()
		w.server.Conn(t.Context())
		if h.taken.Load() != 1 {
			t.Fatalf("the job ended")
		}
	})
}

// A peer that is gone without a word is noticed by the ping, 15 s after the
// connection began, when 10 s brought no answer.
func TestSilentPeerIsLost(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := dispatchtest.NewServer(t)
		s.Deaf(true)
		w := beginAt(t, s, config(s), &host{places: 1})
		s.Conn(t.Context())
		began := time.Now()
		s.Deaf(false)
		s.Conn(t.Context())
		if waited := time.Since(began); waited != 25200*time.Millisecond {
			t.Fatalf("back after %s, want 25.2s", waited)
		}
		time.Sleep(time.Hour)
		if !w.Registered() || len(s.Dials()) != 2 {
			t.Fatalf("an hour with a healthy peer took %d dials", len(s.Dials()))
		}
	})
}

// A peer that stops reading is noticed by the deadline of a write.
func TestStalledPeerIsLost(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := &host{places: 1, script: timed(time.Minute)}
		w := begin(t, h, nil)
		c := w.server.Conn(t.Context())
		take(t, c, job(1))
		thaw := w.server.Freeze()
		began := time.Now()
		time.Sleep(5 * time.Second) // the status at 2.5 s is read, the next is not
		synctest.Wait()
		if !w.Registered() {
			t.Fatalf("lost before the write's deadline")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if w.Registered() {
			t.Fatalf("registered with a peer that does not read")
		}
		thaw()
		again := w.server.Conn(t.Context())
		if waited := time.Since(began); waited > 12*time.Second {
			t.Fatalf("back after %s, want two pauses at most", waited)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if diff := cmp.Diff([]livekit.JobStatus{success}, again.Updates("AJ_1")); diff != "" {
			t.Fatalf("updates (-want +got):\n%s", diff)
		}
	})
}

func TestDrainKeepsJobsAndRefusesNewOnes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := &host{places: 9, script: timed(time.Minute)}
		w := begin(t, h, nil)
		c := w.server.Conn(t.Context())
		take(t, c, job(1))
		time.Sleep(30 * time.Second)
		take(t, c, job(2))
		c.Offer(job(3))
		synctest.Wait()
		began := time.Now()
		w.drain(dispatch.ErrDraining)
		synctest.Wait()
		last := c.Statuses()[len(c.Statuses())-1]
		if last.GetStatus() != livekit.WorkerStatus_WS_FULL || !last.GetDraining() || last.GetJobCount() != 3 {
			t.Fatalf("status %v, want full and draining with three jobs, at once", last)
		}
		c.Offer(job(4))
		c.Assign(job(3), "it was promised")
		synctest.Wait()
		if answers := c.Answers("AJ_4"); len(answers) != 1 || answers[0].GetAvailable() {
			t.Fatalf("answers %v while draining, want a no", answers)
		}
		time.Sleep(31 * time.Second)
		if w.Registered() != true {
			t.Fatalf("the first job's end closed the connection under two others")
		}
		if err := <-w.ended; err != nil {
			t.Fatalf("got %v, want nil", err)
		}
		if lasted := time.Since(began); lasted != time.Minute {
			t.Fatalf("drained in %s, want 1m0s", lasted)
		}
		for _, id := range []string{"AJ_1", "AJ_2", "AJ_3"} {
			if diff := cmp.Diff([]livekit.JobStatus{running, success}, c.Updates(id)); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", id, diff)
			}
		}
	})
}

func TestEndOfCallsEndsEveryJob(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := &host{places: 2, script: timed(time.Hour)}
		w := begin(t, h, nil)
		c := w.server.Conn(t.Context())
		take(t, c, job(1))
		w.drain(dispatch.ErrDraining)
		w.kill(errors.New("drain is over"))
		if err := <-w.ended; err != nil {
			t.Fatalf("got %v, want nil", err)
		}
		if diff := cmp.Diff([]livekit.JobStatus{running, failed}, c.Updates("AJ_1")); diff != "" {
			t.Fatalf("updates (-want +got):\n%s", diff)
		}
	})
}

func TestStuckJobIsNamed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		h := &host{places: 1, script: func(context.Context, dispatch.Assignment) error { <-release; return nil }}
		w := begin(t, h, nil)
		c := w.server.Conn(t.Context())
		take(t, c, job(1))
		began := time.Now()
		w.kill(errors.New("drain is over"))
		err := <-w.ended
		if !errors.Is(err, dispatch.ErrStuck) || time.Since(began) != 30*time.Second {
			t.Fatalf("got %v after %s, want %v after 30s", err, time.Since(began), dispatch.ErrStuck)
		}
		close(release)
	})
}

func TestAnnounceSendsAStatusAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := &host{places: 1}
		w := begin(t, h, nil)
		c := w.server.Conn(t.Context())
		synctest.Wait()
		h.load.Store(60)
		w.Announce()
		synctest.Wait()
		statuses := c.Statuses()
		if len(statuses) != 2 || statuses[1].GetLoad() != 0.6 {
			t.Fatalf("statuses %v, want a second of 0.6", statuses)
		}
	})
}
