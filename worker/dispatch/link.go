package dispatch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/livekit/protocol/auth"
	"github.com/livekit/protocol/livekit"
	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"
)

const (
	maxMessage  = 2 << 20 // LiveKit's own limit for a frame
	tokenLives  = 5 * time.Minute
	barrierWait = time.Second
)

var (
	errGoAway = errors.New("livekit drains this connection")
	errBinary = errors.New("livekit sent a text frame")
)

// refusedError is an answer of the server that another try will not change.
type refusedError struct {
	status int
	hint   string
	err    error
}

func (e *refusedError) Error() string { return fmt.Sprintf("http status %d: %v", e.status, e.err) }
func (e *refusedError) Unwrap() error { return e.err }

// link is one registered connection.
type link struct {
	conn  *websocket.Conn
	write time.Duration
}

// connect dials, registers and serves one connection until it is lost or life
// ends. It tells whether it was registered, and for how long.
func (c *Client) connect(life, calls context.Context) (registered bool, lived time.Duration, err error) {
	conn, err := c.dial(life)
	if err != nil {
		return false, 0, err
	}
	defer conn.CloseNow()
	conn.SetReadLimit(maxMessage)
	l := &link{conn: conn, write: c.cfg.WriteWithin}
	if err := c.register(life, l); err != nil {
		return false, 0, err
	}
	began := time.Now()
	err = c.serve(life, calls, l)
	return true, time.Since(began), err
}

func (c *Client) dial(life context.Context) (*websocket.Conn, error) {
	token, err := auth.NewAccessToken(c.cfg.APIKey, c.cfg.APISecret).
		SetVideoGrant(&auth.VideoGrant{Agent: true}).SetValidFor(tokenLives).ToJWT()
	if err != nil {
		return nil, fmt.Errorf("sign worker token: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(life, c.cfg.DialWithin,
		fmt.Errorf("no answer after %s", c.cfg.DialWithin))
	defer cancel()
	conn, resp, err := websocket.Dial(ctx, c.url, &websocket.DialOptions{
		HTTPClient: c.http,
		HTTPHeader: http.Header{"Authorization": {"Bearer " + token}},
	})
	if err == nil {
		return conn, nil
	}
	if refused := refusal(resp, err); refused != nil {
		return nil, refused
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("dial livekit: %w", context.Cause(ctx))
	}
	return nil, fmt.Errorf("dial livekit: %w", err)
}

// refusal reads the status that came instead of a websocket; nil when there
// was none, or one that may pass.
func refusal(resp *http.Response, err error) error {
	if resp == nil || resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests {
		return nil
	}
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return &refusedError{resp.StatusCode, "check LIVEKIT_API_KEY and LIVEKIT_API_SECRET (and this machine's clock)", err}
	case http.StatusSwitchingProtocols: // a broken handshake
		return nil
	}
	return &refusedError{resp.StatusCode, "check LIVEKIT_URL: no LiveKit agent endpoint answers there", err}
}

// register says who the worker is, first of all, and waits for the answer.
func (c *Client) register(life context.Context, l *link) error {
	err := l.send(life, &livekit.WorkerMessage{Message: &livekit.WorkerMessage_Register{
		Register: &livekit.RegisterWorkerRequest{
			Type:      c.cfg.Kind.proto(),
			AgentName: c.cfg.AgentName,
			Version:   c.cfg.Version,
			AllowedPermissions: &livekit.ParticipantPermission{
				CanPublish: true, CanSubscribe: true, CanPublishData: true, CanUpdateMetadata: true,
			},
		},
	}})
	if err != nil {
		return fmt.Errorf("register worker: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(life, c.cfg.RegisterWithin,
		fmt.Errorf("no answer after %s", c.cfg.RegisterWithin))
	defer cancel()
	msg, err := l.read(ctx)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("register worker: %w", err)
	}
	done := msg.GetRegister()
	if done == nil {
		return fmt.Errorf("register worker: livekit answered with %T", msg.GetMessage())
	}
	c.log.Info("registered", zap.String("worker", done.GetWorkerId()), zap.String("agent", c.cfg.AgentName),
		zap.String("server", done.GetServerInfo().GetVersion()))
	return nil
}

// serve reads one connection while it lives. When life ends it closes it
// politely.
func (c *Client) serve(life, calls context.Context, l *link) error {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(life))
	var side sync.WaitGroup
	c.attach(l)
	side.Go(func() { c.tellStatus(ctx, l, cancel) })
	side.Go(func() { c.ping(ctx, l, cancel) })
	side.Go(func() {
		select {
		case <-life.Done():
			_ = l.conn.Close(websocket.StatusNormalClosure, "")
		case <-ctx.Done():
		}
	})
	err := c.readAll(ctx, calls, l)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	cancel(err)
	c.detach()
	side.Wait()
	return fmt.Errorf("serve livekit connection: %w", err)
}

func (c *Client) readAll(ctx, calls context.Context, l *link) error {
	for {
		msg, err := l.read(ctx)
		if err != nil {
			return err
		}
		switch m := msg.GetMessage().(type) {
		case *livekit.ServerMessage_Availability:
			c.asked(ctx, calls, l, m.Availability)
		case *livekit.ServerMessage_Assignment:
			c.assigned(m.Assignment)
		case *livekit.ServerMessage_Termination:
			c.terminated(m.Termination.GetJobId())
		case *livekit.ServerMessage_GoAway:
			return errGoAway
		}
	}
}

// ping notices a peer that is gone without a word, within 25 s.
func (c *Client) ping(ctx context.Context, l *link, lost context.CancelCauseFunc) {
	tick := time.NewTicker(c.cfg.PingEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if err := l.ping(ctx, c.cfg.PongWithin); err != nil {
			lost(fmt.Errorf("ping livekit: %w", err))
			return
		}
	}
}

func (l *link) ping(ctx context.Context, within time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("no pong after %s", within))
	defer cancel()
	if err := l.conn.Ping(ctx); err != nil {
		return errors.Join(err, context.Cause(ctx))
	}
	return nil
}

// send writes one message. A write that does not end in time closes the
// connection, which ends its reader.
func (l *link) send(ctx context.Context, msg *livekit.WorkerMessage) error {
	data, err := proto.Marshal(msg)
	if err != nil {
		return fmt.Errorf("encode worker message: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, l.write, fmt.Errorf("not written after %s", l.write))
	defer cancel()
	if err := l.conn.Write(ctx, websocket.MessageBinary, data); err != nil {
		return fmt.Errorf("send worker message: %w", errors.Join(err, context.Cause(ctx)))
	}
	return nil
}

func (l *link) read(ctx context.Context) (*livekit.ServerMessage, error) {
	kind, data, err := l.conn.Read(ctx)
	if err != nil {
		return nil, fmt.Errorf("read server message: %w", err)
	}
	if kind != websocket.MessageBinary {
		return nil, errBinary
	}
	msg := &livekit.ServerMessage{}
	if err := proto.Unmarshal(data, msg); err != nil {
		return nil, fmt.Errorf("decode server message: %w", err)
	}
	return msg, nil
}
