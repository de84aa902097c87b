package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/zap"

	"headstart/turn"
	"headstart/turn/crew"
)

const (
	// writeWithin bounds every write: an app that does not read for so long is
	// closed.
	writeWithin = 5 * time.Second
	// aliveWithin is how long an app may take to answer a ping.
	aliveWithin = 10 * time.Second
	// farewellWithin is how long an app may take to answer our close.
	farewellWithin = time.Second
	// ahead is how many frames wait for the app before those who make them do.
	ahead = 64
)

// socket is one app's connection. run reads it on the goroutine that called it;
// the writer, the heartbeat and the feeds of its calls run beside and end before
// it does.
type socket struct {
	holders *Holders
	conn    *websocket.Conn
	out     chan []byte   // frames on their way to the app
	gone    chan struct{} // closed when it holds nothing any more, and never will

	// Written by run before anybody else knows of the socket.
	life context.Context
	stop context.CancelCauseFunc
	crew crew.Crew

	// The holders' mu guards these.
	tools map[string][]turn.Tool // as declared, by agent
	held  map[string]*Held       // by call
}

func newSocket(h *Holders, conn *websocket.Conn) *socket {
	return &socket{
		holders: h, conn: conn, out: make(chan []byte, ahead), gone: make(chan struct{}),
		tools: map[string][]turn.Tool{}, held: map[string]*Held{},
	}
}

// run serves the socket until the app closes it, it breaks, or ctx ends, and says
// why it ended. What it held is let go, and nothing of it runs any more.
func (s *socket) run(ctx context.Context) error {
	life, stop := context.WithCancelCause(context.WithoutCancel(ctx)) // the app is told when ctx ends: depart
	s.life, s.stop = life, stop
	s.crew.Stop = func() { stop(errBurst) }
	defer s.crew.Wait() // these three from the last to the first, also when a command panics
	defer stop(nil)
	defer s.letGo()
	s.crew.Do(func() { stop(s.write(life)) })
	s.crew.Do(func() { stop(s.beat(life)) })
	s.crew.Do(func() { s.depart(ctx, life) })
	err := s.read(life)
	if cause := context.Cause(life); cause != nil {
		return cause
	}
	return err
}

var (
	errBurst  = errors.New("a part of the socket panicked")
	errEnding = errors.New("the worker is ending")
)

// letGo ends what the socket held.
func (s *socket) letGo() {
	defer close(s.gone)
	if calls := s.holders.detach(s); calls > 0 {
		s.holders.log.Warn("app left in the middle of calls: they end", zap.Int("calls", calls))
	}
}

// read obeys the app, a command after the other.
func (s *socket) read(ctx context.Context) error {
	for {
		kind, text, err := s.conn.Read(ctx)
		if err != nil {
			return fmt.Errorf("read command: %w", err)
		}
		if reply := s.obey(kind, text); reply != nil {
			if err := s.put(ctx, *reply); err != nil {
				return err
			}
		}
	}
}

// put queues a frame for the app.
func (s *socket) put(ctx context.Context, frame turn.Entry) error {
	text, err := json.Marshal(frame)
	if err != nil {
		return fmt.Errorf("write %s: %w", frame.Type, err)
	}
	select {
	case s.out <- text:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// write sends what is queued, each within its deadline.
func (s *socket) write(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case text := <-s.out:
			if err := s.send(ctx, text); err != nil {
				return err
			}
		}
	}
}

func (s *socket) send(ctx context.Context, text []byte) error {
	ctx, cancel := context.WithTimeoutCause(ctx, writeWithin, fmt.Errorf("app took no frame within %v", writeWithin))
	defer cancel()
	if err := s.conn.Write(ctx, websocket.MessageText, text); err != nil {
		return fmt.Errorf("send frame: %w", caused(ctx, err))
	}
	return nil
}

// beat asks now and then whether the app lives.
func (s *socket) beat(ctx context.Context) error {
	heart := time.NewTicker(s.holders.cfg.Heartbeat)
	defer heart.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-heart.C:
		}
		if err := s.ping(ctx); err != nil {
			return err
		}
	}
}

func (s *socket) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, aliveWithin, fmt.Errorf("app answered no ping within %v", aliveWithin))
	defer cancel()
	if err := s.conn.Ping(ctx); err != nil {
		return fmt.Errorf("ping app: %w", caused(ctx, err))
	}
	return nil
}

// caused prefers why a context ended to what a connection says of it.
func caused(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// depart says goodbye to the app when the process ends.
func (s *socket) depart(process, life context.Context) {
	select {
	case <-life.Done():
		return
	case <-process.Done():
	}
	late := time.AfterFunc(farewellWithin, func() { s.stop(errEnding) })
	defer late.Stop()
	_ = s.conn.Close(websocket.StatusGoingAway, errEnding.Error()) // the socket ends, whatever the app says
	s.stop(errEnding)
}
