package dispatch

import (
	"context"
	"time"

	"github.com/livekit/protocol/livekit"
	"go.uber.org/zap"
)

// maxLoad is the highest load to report: LiveKit never picks a worker at 1,
// though it says that it is available.
const maxLoad = 0.99

func (c *Client) attach(l *link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.link = l
	c.spent.Store(false)
}

func (c *Client) detach() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.link = nil
}

func (c *Client) current() *link {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.link
}

// tellStatus sends the worker's status at once, for LiveKit takes a new worker
// as available and idle, then at each tick and whenever it changed; and with
// it what could not be sent before. A failure ends the connection.
func (c *Client) tellStatus(ctx context.Context, l *link, lost context.CancelCauseFunc) {
	tick := time.NewTicker(c.cfg.StatusEvery)
	defer tick.Stop()
	for {
		if err := c.sendStatus(ctx, l); err != nil {
			lost(err)
			return
		}
		if err := c.flush(ctx, l); err != nil {
			lost(err)
			return
		}
		select {
		case <-tick.C:
		case <-c.poke:
		case <-ctx.Done():
			return
		}
	}
}

func (c *Client) sendStatus(ctx context.Context, l *link) error {
	load, full := c.host.Load()
	draining := c.draining.Load()
	status := livekit.WorkerStatus_WS_AVAILABLE
	if full || draining {
		status = livekit.WorkerStatus_WS_FULL
	}
	return l.send(ctx, &livekit.WorkerMessage{Message: &livekit.WorkerMessage_UpdateWorker{
		UpdateWorker: &livekit.UpdateWorkerStatus{
			Status:   &status,
			Load:     clamp(load),
			JobCount: uint32(c.count()),
			Draining: draining,
		},
	}})
}

func clamp(load float64) float32 {
	if !(load > 0) { // not a number, too
		return 0
	}
	return float32(min(load, maxLoad))
}

// flush sends the terminal statuses that were kept, oldest first; what fails
// stays.
func (c *Client) flush(ctx context.Context, l *link) error {
	for {
		update := c.nextUnsent()
		if update == nil {
			return nil
		}
		if err := l.sendJob(ctx, update); err != nil {
			return err
		}
		c.sent()
		c.log.Info("kept job status sent", zap.String("job", update.GetJobId()))
	}
}

func (c *Client) nextUnsent() *livekit.UpdateJobStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.unsent) == 0 {
		return nil
	}
	return c.unsent[0]
}

// sent drops the oldest kept status. Only tellStatus calls it, of which one
// runs at a time; keep only adds at the end.
func (c *Client) sent() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unsent = c.unsent[1:]
}

func (l *link) sendJob(ctx context.Context, update *livekit.UpdateJobStatus) error {
	return l.send(ctx, &livekit.WorkerMessage{Message: &livekit.WorkerMessage_UpdateJob{UpdateJob: update}})
}
