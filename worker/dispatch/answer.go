package dispatch

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/livekit/protocol/livekit"
	"go.uber.org/zap"
)

// asked begins a job, or refuses it without asking the Host: while draining,
// and when the job is already here.
func (c *Client) asked(ctx, calls context.Context, l *link, req *livekit.AvailabilityRequest) {
	offered := jobOf(req.GetJob(), req.GetResuming())
	under, end := context.WithCancelCause(calls)
	j, reason := c.reserve(offered, end)
	if j == nil {
		end(context.Canceled)
		c.log.Info("job refused", zap.String("job", offered.ID), zap.String("reason", reason))
		c.work.Go(func() { c.answer(ctx, l, offered.ID, Answer{}, false) })
		return
	}
	c.work.Go(func() { c.handle(ctx, under, l, j) })
}

func (c *Client) reserve(offered Job, end context.CancelCauseFunc) (j *job, reason string) {
	if c.draining.Load() {
		return nil, "draining"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.jobs[offered.ID] != nil {
		return nil, "offered twice"
	}
	j = &job{Job: offered, end: end, assigned: make(chan *livekit.JobAssignment, 1)}
	c.jobs[offered.ID] = j
	return j, ""
}

// handle is a job's whole life, under the context that it runs with. ctx is the
// connection that offered it: its end drops the job until it runs, not after.
func (c *Client) handle(ctx, under context.Context, l *link, j *job) {
	defer c.forget(j)
	answer, ok := c.admit(ctx, l, j)
	if !ok {
		return
	}
	assigned, reason := c.await(ctx, under, j)
	if assigned == nil {
		answer.release()
		c.log.Warn("job dropped", zap.String("job", j.ID), zap.String("reason", reason))
		return
	}
	c.run(under, l, j, answer, assigned)
}

// forget drops a job. An assignment that came in the very moment it was
// dropped is failed, or LiveKit would count it as running for ever.
func (c *Client) forget(j *job) {
	j.end(context.Canceled)
	c.mu.Lock()
	delete(c.jobs, j.ID)
	c.mu.Unlock()
	select {
	case <-j.assigned:
		c.failLate(j.ID)
	default:
	}
	select {
	case c.changed <- struct{}{}:
	default:
	}
	c.Announce()
}

// admit asks the Host and answers LiveKit, both within AnswerWithin.
func (c *Client) admit(ctx context.Context, l *link, j *job) (Answer, bool) {
	type verdict struct {
		answer Answer
		yes    bool
	}
	decided := make(chan verdict, 1)
	go func() {
		answer, yes := c.askHost(j.Job)
		decided <- verdict{answer, yes}
	}()
	timer := time.NewTimer(c.cfg.AnswerWithin)
	defer timer.Stop()
	select {
	case v := <-decided:
		if c.answer(ctx, l, j.ID, v.answer, v.yes) {
			return v.answer, v.yes
		}
		if v.yes {
			v.answer.release()
		}
	case <-timer.C:
		c.log.Error("job refused", zap.String("job", j.ID), zap.String("reason", "admission is slow"),
			zap.Duration("after", c.cfg.AnswerWithin))
		c.answer(ctx, l, j.ID, Answer{}, false)
		if v := <-decided; v.yes {
			v.answer.release()
		}
	}
	return Answer{}, false
}

func (c *Client) askHost(offered Job) (answer Answer, yes bool) {
	defer func() {
		if r := recover(); r != nil {
			c.log.Error("job refused", zap.String("job", offered.ID), zap.Error(panicError(r)),
				zap.ByteString("stack", debug.Stack()))
			answer, yes = Answer{}, false
		}
	}()
	return c.host.Admit(offered)
}

// answer tells LiveKit, and whether it could. A no never sets terminate: that
// would end the job for every other worker.
func (c *Client) answer(ctx context.Context, l *link, id string, a Answer, yes bool) bool {
	resp := &livekit.AvailabilityResponse{JobId: id, Available: yes}
	if yes {
		resp.ParticipantIdentity = a.identity(id)
		resp.ParticipantName = a.Name
		resp.ParticipantMetadata = a.Metadata
		resp.ParticipantAttributes = c.attributes(a)
	}
	err := l.send(ctx, &livekit.WorkerMessage{Message: &livekit.WorkerMessage_Availability{Availability: resp}})
	if err != nil {
		c.log.Warn("answer lost", zap.String("job", id), zap.Error(err))
		return false
	}
	c.Announce()
	return true
}

// await waits for the assignment of a job that was taken.
func (c *Client) await(ctx, under context.Context, j *job) (*livekit.JobAssignment, string) {
	timer := time.NewTimer(c.cfg.AssignmentWithin)
	defer timer.Stop()
	reason := ""
	select {
	case a := <-j.assigned:
		return a, ""
	case <-timer.C:
		reason = fmt.Sprintf("no assignment after %s", c.cfg.AssignmentWithin)
	case <-ctx.Done():
		reason = "connection lost before the assignment"
	case <-under.Done():
		return nil, context.Cause(under).Error()
	}
	select { // both in the same instant: the assignment wins
	case a := <-j.assigned:
		return a, ""
	default:
		return nil, reason
	}
}

// panicError says what panicked without its words, unless they are the
// runtime's own: a value may quote a caller.
func panicError(r any) error {
	if err, ok := r.(runtime.Error); ok {
		return fmt.Errorf("panic: %w", err)
	}
	return fmt.Errorf("panic of type %T", r)
}
