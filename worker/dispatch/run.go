package dispatch

import (
	"context"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/livekit/protocol/livekit"
	"go.uber.org/zap"
)

const maxErrorText = 200 // bytes of a failure's text that LiveKit is told

// assigned hands an assignment to its job, and fails one that nobody waits for.
func (c *Client) assigned(a *livekit.JobAssignment) {
	id := a.GetJob().GetId()
	switch c.deliver(id, a) {
	case unknown:
		c.log.Warn("assignment too late, or of an unknown job", zap.String("job", id))
		c.failLate(id)
	case repeated:
		c.log.Warn("job assigned twice", zap.String("job", id))
	}
}

type delivery int

const (
	delivered delivery = iota
	repeated
	unknown
)

func (c *Client) deliver(id string, a *livekit.JobAssignment) delivery {
	c.mu.Lock()
	defer c.mu.Unlock()
	j := c.jobs[id]
	if j == nil {
		return unknown
	}
	if j.given {
		return repeated
	}
	j.given = true
	j.assigned <- a // never blocks: one only, into a channel of one
	return delivered
}

// terminated ends a job; an unknown one has ended already.
func (c *Client) terminated(id string) {
	c.mu.Lock()
	j := c.jobs[id]
	c.mu.Unlock()
	if j == nil {
		c.log.Debug("termination of an unknown job", zap.String("job", id))
		return
	}
	c.log.Info("job terminated", zap.String("job", id))
	j.end(ErrTerminated)
}

// run reports the job running, runs it, and reports how it ended.
func (c *Client) run(under context.Context, l *link, j *job, answer Answer, assigned *livekit.JobAssignment) {
	// A report goes out although its job was cancelled: that is why it is due.
	ctx := context.WithoutCancel(under)
	a := Assignment{
		Job:      jobOf(assigned.GetJob(), j.Resuming),
		Identity: answer.identity(j.ID),
		URL:      c.cfg.URL,
		Token:    assigned.GetToken(),
	}
	if assigned.GetUrl() != "" {
		a.URL = assigned.GetUrl()
	}
	var once sync.Once
	a.Done = func(err error) { once.Do(func() { c.report(ctx, ended(j.ID, err)) }) }
	running := &livekit.UpdateJobStatus{JobId: j.ID, Status: livekit.JobStatus_JS_RUNNING}
	if err := l.sendJob(ctx, running); err != nil {
		c.log.Debug("job not reported running", zap.String("job", j.ID), zap.Error(err))
	}
	err := c.call(under, a)
	a.Done(err)
	c.log.Debug("job ended", zap.String("job", j.ID), zap.Error(err))
}

// call is the edge where a job's panic ends: it fails this job and no other.
func (c *Client) call(ctx context.Context, a Assignment) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = panicError(r)
			c.log.Error("job panicked", zap.String("job", a.ID), zap.Error(err),
				zap.ByteString("stack", debug.Stack()))
		}
	}()
	return c.host.Run(ctx, a)
}

func ended(id string, err error) *livekit.UpdateJobStatus {
	if err == nil {
		return &livekit.UpdateJobStatus{JobId: id, Status: livekit.JobStatus_JS_SUCCESS}
	}
	text := err.Error()
	if len(text) > maxErrorText {
		text = text[:maxErrorText]
	}
	return &livekit.UpdateJobStatus{
		JobId:  id,
		Status: livekit.JobStatus_JS_FAILED,
		Error:  strings.ToValidUTF8(text, ""), // a cut rune would not encode
	}
}

// report sends a terminal status and returns when LiveKit has read it, or
// keeps it for the next registration.
func (c *Client) report(ctx context.Context, update *livekit.UpdateJobStatus) {
	l := c.current()
	if l == nil {
		c.keep(update)
		return
	}
	if err := l.sendJob(ctx, update); err != nil {
		c.log.Warn("job status kept", zap.String("job", update.GetJobId()), zap.Error(err))
		c.keep(update)
		return
	}
	// LiveKit reads a connection's frames in order, so its pong means that the
	// status is in. Without one the connection is lost and the job forgotten.
	_ = l.ping(ctx, barrierWait)
}

// failLate reports a job failed that LiveKit assigned and nobody runs.
func (c *Client) failLate(id string) {
	c.keep(&livekit.UpdateJobStatus{
		JobId:  id,
		Status: livekit.JobStatus_JS_FAILED,
		Error:  "assignment came too late",
	})
}

func (c *Client) keep(update *livekit.UpdateJobStatus) {
	c.mu.Lock()
	c.unsent = append(c.unsent, update)
	c.mu.Unlock()
	c.Announce()
}
