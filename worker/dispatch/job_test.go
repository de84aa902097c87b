package dispatch_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/livekit/protocol/livekit"

	"headstart/worker/dispatch"
)

func TestOnePlaceGivesOneYes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := &host{places: 1}
		w := begin(t, h, nil)
		c := w.server.Conn(t.Context())
		began := time.Now()
		for n := range 50 {
			c.Offer(job(n))
		}
		synctest.Wait()
		yes, answers := 0, c.Answers("")
		for _, a := range answers {
			if a.GetTerminate() {
				t.Fatalf("%s: refused for every worker", a.GetJobId())
			}
			if a.GetAvailable() {
				yes++
			}
		}
		if yes != 1 || len(answers) != 50 || time.Since(began) != 0 {
			t.Fatalf("%d yes of %d answers after %s, want 1 of 50 at once", yes, len(answers), time.Since(began))
		}
		last := c.Statuses()[len(c.Statuses())-1]
		if last.GetStatus() != livekit.WorkerStatus_WS_FULL || last.GetJobCount() != 1 {
			t.Fatalf("last status %v, want full with one job", last)
		}
	})
}

func TestJobRunsAndSucceeds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var got dispatch.Assignment
		h := &host{places: 1, answer: dispatch.Answer{Name: "Clara", Attributes: map[string]string{"lang": "es"}}}
		h.script = func(_ context.Context, a dispatch.Assignment) error {
			got = a
			time.Sleep(time.Minute)
			return nil
		}
		w := begin(t, h, nil)
		c := w.server.Conn(t.Context())
		j := job(1)
		j.DispatchId, j.Metadata = "AD_1", `{"contact":"42"}`
		j.Attributes = map[string]string{"queue": "billing"}
		j.Participant = &livekit.ParticipantInfo{Identity: "sip_1", Attributes: map[string]string{"sip.callID": "SCL_1"}}
		take(t, c, j)
		if diff := cmp.Diff([]livekit.JobStatus{running}, c.Updates("AJ_1")); diff != "" {
			t.Fatalf("updates while it runs (-want +got):\n%s", diff)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if diff := cmp.Diff([]livekit.JobStatus{running, success}, c.Updates("AJ_1")); diff != "" {
			t.Fatalf("updates (-want +got):\n%s", diff)
		}
		got.Done = nil
		want := dispatch.Assignment{
			Job: dispatch.Job{
				ID: "AJ_1", DispatchID: "AD_1", Room: "room-AJ_1", AgentName: "clara", Metadata: `{"contact":"42"}`,
				Attributes: map[string]string{"queue": "billing"},
				Caller:     &dispatch.Caller{Identity: "sip_1", Attributes: map[string]string{"sip.callID": "SCL_1"}},
			},
			Identity: "agent-AJ_1", URL: "ws://livekit.test/prefix/", Token: "token-AJ_1",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("assignment (-want +got):\n%s", diff)
		}
		answer := c.Answers("AJ_1")[0]
		attributes := map[string]string{"lang": "es", "lk.agent.name": "clara", "lk.agent_name": "clara"}
		if diff := cmp.Diff(attributes, answer.GetParticipantAttributes()); diff != "" {
			t.Fatalf("attributes (-want +got):\n%s", diff)
		}
		if answer.GetParticipantIdentity() != "agent-AJ_1" || answer.GetParticipantName() != "Clara" {
			t.Fatalf("answered as %q, %q", answer.GetParticipantIdentity(), answer.GetParticipantName())
		}
		last := c.Statuses()[len(c.Statuses())-1]
		if last.GetStatus() != livekit.WorkerStatus_WS_AVAILABLE || last.GetJobCount() != 0 {
			t.Fatalf("last status %v, want available with no job", last)
		}
	})
}

// LiveKit fails a job whose agent leaves before the status, so Done must have
// reached it while Run still has its room.
func TestDoneReportsBeforeRunReturns(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var atLeave []livekit.JobStatus
		h := &host{places: 1}
		w := begin(t, h, nil)
		c := w.server.Conn(t.Context())
		h.script = func(_ context.Context, a dispatch.Assignment) error {
			a.Done(nil)
			atLeave = c.Updates(a.ID)
			a.Done(errors.New("too late to matter"))
			return errors.New("leaving went wrong")
		}
		take(t, c, job(1))
		want := []livekit.JobStatus{running, success}
		if diff := cmp.Diff(want, atLeave); diff != "" {
			t.Fatalf("updates at leaving (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(want, c.Updates("AJ_1")); diff != "" {
			t.Fatalf("updates at the end (-want +got):\n%s", diff)
		}
	})
}

func TestFailureAndPanicAreReportedFailed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := &host{places: 2}
		w := begin(t, h, nil)
		c := w.server.Conn(t.Context())
		h.script = func(_ context.Context, a dispatch.Assignment) error {
			if a.ID == "AJ_1" {
				panic("the caller said a secret")
			}
			return errors.New(strings.Repeat("x", 199) + "é and more")
		}
		take(t, c, job(1))
		take(t, c, job(2))
		for _, id := range []string{"AJ_1", "AJ_2"} {
			if diff := cmp.Diff([]livekit.JobStatus{running, failed}, c.Updates(id)); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", id, diff)
			}
		}
		texts := map[string]string{}
		for _, r := range c.Received() {
			if u := r.Message.GetUpdateJob(); u.GetStatus() == failed {
				texts[u.GetJobId()] = u.GetError()
			}
		}
		want := map[string]string{"AJ_1": "panic of type string", "AJ_2": strings.Repeat("x", 199)}
		if diff := cmp.Diff(want, texts); diff != "" {
			t.Fatalf("error texts (-want +got):\n%s", diff)
		}
	})
}

func TestSlowAdmissionIsARefusal(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := &host{places: 1, admit: func(dispatch.Job) { time.Sleep(time.Second) }}
		w := begin(t, h, nil)
		c := w.server.Conn(t.Context())
		began := time.Now()
		c.Offer(job(1))
		time.Sleep(2 * time.Second)
		synctest.Wait()
		var answered time.Duration
		for _, r := range c.Received() {
			if r.Message.GetAvailability() != nil {
				answered = r.At.Sub(began)
			}
		}
		answers := c.Answers("AJ_1")
		if len(answers) != 1 || answers[0].GetAvailable() || answered != 100*time.Millisecond {
			t.Fatalf("answers %v after %s, want one no after 100ms", answers, answered)
		}
		if h.freed.Load() != 1 || h.taken.Load() != 0 {
			t.Fatalf("freed %d, taken %d: the late yes keeps its place", h.freed.Load(), h.taken.Load())
		}
	})
}

func TestPanickingAdmissionIsARefusal(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := &host{places: 1, admit: func(dispatch.Job) { panic("broken") }}
		w := begin(t, h, nil)
		c := w.server.Conn(t.Context())
		c.Offer(job(1))
		synctest.Wait()
		if answers := c.Answers("AJ_1"); len(answers) != 1 || answers[0].GetAvailable() {
			t.Fatalf("answers %v, want one no", answers)
		}
		if !w.Registered() {
			t.Fatalf("a panic in one admission ended the connection")
		}
	})
}

func TestDuplicateOfferIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := &host{places: 5}
		w := begin(t, h, nil)
		c := w.server.Conn(t.Context())
		take(t, c, job(1))
		c.Offer(job(1))
		c.Assign(job(1), "again")
		synctest.Wait()
		answers := c.Answers("AJ_1")
		if len(answers) != 2 || answers[1].GetAvailable() {
			t.Fatalf("answers %v, want a yes and a no", answers)
		}
		if h.ran.Load() != 1 || h.taken.Load() != 1 {
			t.Fatalf("ran %d, taken %d, want one of each", h.ran.Load(), h.taken.Load())
		}
	})
}

func TestLateAssignmentIsDropped(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := &host{places: 1}
		w := begin(t, h, nil)
		c := w.server.Conn(t.Context())
		c.Offer(job(1))
		time.Sleep(7500*time.Millisecond - 1)
		synctest.Wait()
		if h.freed.Load() != 0 {
			t.Fatalf("the place was given back early")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if h.freed.Load() != 1 || h.taken.Load() != 0 {
			t.Fatalf("freed %d, taken %d after 7.5s, want 1 and 0", h.freed.Load(), h.taken.Load())
		}
		c.Assign(job(1), "late")
		c.Assign(job(7), "never offered")
		synctest.Wait()
		for _, id := range []string{"AJ_1", "AJ_7"} {
			if diff := cmp.Diff([]livekit.JobStatus{failed}, c.Updates(id)); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", id, diff)
			}
		}
		if h.ran.Load() != 0 {
			t.Fatalf("a late job ran")
		}
	})
}

func TestAssignmentInTheLastInstantRuns(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := &host{places: 1}
		w := begin(t, h, nil)
		c := w.server.Conn(t.Context())
		c.Offer(job(1))
		time.Sleep(7500*time.Millisecond - 1)
		c.Assign(job(1), "just so")
		synctest.Wait()
		if h.ran.Load() != 1 || h.freed.Load() != 0 {
			t.Fatalf("ran %d, freed %d, want 1 and 0", h.ran.Load(), h.freed.Load())
		}
	})
}

func TestTerminationEndsOneJob(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var mu sync.Mutex
		causes := map[string]error{}
		h := &host{places: 3}
		h.script = func(ctx context.Context, a dispatch.Assignment) error {
			<-ctx.Done()
			mu.Lock()
			defer mu.Unlock()
			causes[a.ID] = context.Cause(ctx)
			return nil
		}
		w := begin(t, h, nil)
		c := w.server.Conn(t.Context())
		take(t, c, job(1))
		take(t, c, job(2))
		c.Offer(job(3)) // taken, never assigned
		synctest.Wait()
		c.Terminate("AJ_1")
		c.Terminate("AJ_3")
		c.Terminate("AJ_unknown")
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if len(causes) != 1 || !errors.Is(causes["AJ_1"], dispatch.ErrTerminated) {
			t.Fatalf("ended %v, want AJ_1 by %v", causes, dispatch.ErrTerminated)
		}
		if diff := cmp.Diff([]livekit.JobStatus{running, success}, c.Updates("AJ_1")); diff != "" {
			t.Fatalf("updates (-want +got):\n%s", diff)
		}
		if h.freed.Load() != 1 || h.taken.Load() != 1 {
			t.Fatalf("freed %d, taken %d, want the third's place back and the second's kept", h.freed.Load(), h.taken.Load())
		}
	})
}
