package deepgram

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/zap"

	"headstart/turn/stt"
)

// maxMessage bounds what the server may send at once. A minute of words with
// their timings is about 40 KiB.
const maxMessage = 1 << 20

// session is one connection. run reads it on the goroutine that called it, and
// sends from another that ends before run does.
type session struct {
	config Config
	log    *zap.Logger
	kept   *tape
	hear   func(stt.Event)
	down   outage // what went before; no tries when this is the first connection

	// heardAt is when the last message came, since opened; 0 before the first.
	// The reader writes, the sender reads.
	heardAt atomic.Int64
	opened  time.Time
	ended   atomic.Bool // CloseStream went out; the sender writes, the reader reads

	// The sender's own.
	flowing  time.Time // since when audio has been flowing without a pause
	sentAt   time.Time // when audio was last sent
	outgoing []byte

	trouble string // what the vendor complained of; the reader's own
}

// run connects and reads until the connection ends. It returns nil when the
// audio had ended and its text is in.
func (s *session) run(ctx context.Context) error {
	conn, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.CloseNow() }() // the outcome is known already
	s.opened = time.Now()
	s.kept.rewind()
	if s.down.tries > 0 {
		s.hear(stt.Event{Kind: stt.Reconnected, Err: &Lost{Err: s.down.err, Tries: s.down.tries, Dropped: s.kept.lost()}})
	}
	return s.converse(ctx, conn)
}

// converse sends and reads at the same time, until reading ends.
func (s *session) converse(ctx context.Context, conn *websocket.Conn) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var sender sync.WaitGroup
	defer sender.Wait() // both, in this order, also when hear panics
	defer cancel(nil)
	var unsent error
	sender.Go(func() {
		if unsent = s.send(ctx, conn); unsent != nil {
			s.yield(ctx, unsent)
			cancel(unsent)
		}
	})
	err := s.read(ctx, conn)
	cancel(nil)
	sender.Wait()
	if unsent != nil && errors.Is(err, net.ErrClosed) {
		return unsent // the sender's deadline closed the connection under the reader
	}
	return err
}

// yield leaves the reader time to find out why the connection is broken: the
// vendor's close frame may be on its way, and it knows better than a failed write.
func (s *session) yield(ctx context.Context, unsent error) {
	if _, late := errors.AsType[*Timeout](unsent); late {
		return
	}
	_ = pause(ctx, s.config.WriteTimeout)
}

func (s *session) connect(ctx context.Context) (*websocket.Conn, error) {
	options := &websocket.DialOptions{
		HTTPClient: s.config.HTTPClient,
		HTTPHeader: http.Header{"Authorization": {"Token " + s.config.APIKey}},
	}
	var conn *websocket.Conn
	err := bounded(ctx, "connection", s.config.ConnectTimeout, func(ctx context.Context) error {
		c, resp, err := websocket.Dial(ctx, s.config.address(), options)
		if err != nil {
			return refused(resp, err)
		}
		conn = c
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	conn.SetReadLimit(maxMessage)
	return conn, nil
}

// read hands on what the server says. The sender bounds its wait: with the
// silent limit while audio flows, with its writes while none does, and the
// drain's limit bounds the end.
func (s *session) read(ctx context.Context, conn *websocket.Conn) error {
	words := &reader{at: s.kept.at}
	for {
		_, frame, err := conn.Read(ctx)
		if err != nil {
			return s.over(ctx, closed(err))
		}
		heard, err := words.read(frame)
		if err != nil {
			s.log.Debug("skipped a message", zap.Int("bytes", len(frame)), zap.Error(err))
			continue
		}
		s.heardAt.Store(int64(max(time.Since(s.opened), 1)))
		s.take(heard)
	}
}

func (s *session) take(heard hearing) {
	if heard.trouble != "" {
		s.trouble = heard.trouble
	}
	for _, event := range heard.events {
		s.hear(event)
	}
	if heard.settles > 0 {
		s.kept.settle(heard.settles)
	}
}

// over tells why reading ended: nil when it was time.
func (s *session) over(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	frame, ok := errors.AsType[*Closure](err)
	if ok && s.ended.Load() && frame.Code == int(websocket.StatusNormalClosure) {
		return nil
	}
	if ok && frame.Text == "" {
		frame.Text = s.trouble
	}
	return fmt.Errorf("read results: %w", err)
}

// alive tells whether the server said anything that makes sense.
func (s *session) alive() bool { return s.heardAt.Load() > 0 }

// send writes what the tape has to give, and keeps the connection alive
// when it has nothing.
func (s *session) send(ctx context.Context, conn *websocket.Conn) error {
	idle := time.NewTimer(s.config.KeepAliveEvery)
	defer idle.Stop()
	for {
		next := s.kept.take()
		if len(next.pcm) == 0 && !next.flush && !next.end {
			select {
			case <-ctx.Done():
				return nil
			case <-s.kept.wake:
				continue
			case <-idle.C:
			}
			if err := s.write(ctx, conn, "keep-alive", websocket.MessageText, []byte(keepAlive)); err != nil {
				return err
			}
		}
		if done, err := s.portion(ctx, conn, next); done || err != nil {
			return err
		}
		idle.Reset(s.config.KeepAliveEvery)
	}
}

// portion sends one portion of the tape and tells whether it was the last.
func (s *session) portion(ctx context.Context, conn *websocket.Conn, next portion) (bool, error) {
	if len(next.pcm) > 0 {
		s.outgoing = encode(s.outgoing[:0], next.pcm)
		if err := s.write(ctx, conn, "audio", websocket.MessageBinary, s.outgoing); err != nil {
			return false, err
		}
		if err := s.flow(); err != nil {
			return false, err
		}
	}
	if next.flush {
		return false, s.write(ctx, conn, "finalize", websocket.MessageText, []byte(finalize))
	}
	if next.end {
		s.ended.Store(true)
		return true, s.write(ctx, conn, "end of stream", websocket.MessageText, []byte(closeStream))
	}
	return false, nil
}

func (s *session) write(ctx context.Context, conn *websocket.Conn, what string, kind websocket.MessageType, frame []byte) error {
	err := bounded(ctx, what+" taken", s.config.WriteTimeout, func(ctx context.Context) error {
		return conn.Write(ctx, kind, frame)
	})
	if err != nil {
		return fmt.Errorf("send %s: %w", what, err)
	}
	return nil
}

// flow notes that audio went out, and fails when it has been going out for too
// long without any answer.
func (s *session) flow() error {
	now := time.Now()
	if s.sentAt.IsZero() || now.Sub(s.sentAt) >= s.config.KeepAliveEvery {
		s.flowing = now
	}
	s.sentAt = now
	quiet := now.Sub(s.flowing)
	if heard := s.heardAt.Load(); heard > 0 {
		quiet = min(quiet, now.Sub(s.opened)-time.Duration(heard))
	}
	if quiet >= s.config.SilentAfter {
		return &Timeout{What: "message while audio flows", After: s.config.SilentAfter}
	}
	return nil
}

// encode appends samples as linear16: little-endian.
func encode(frame []byte, pcm [][]int16) []byte {
	for _, part := range pcm {
		for _, sample := range part {
			frame = binary.LittleEndian.AppendUint16(frame, uint16(sample))
		}
	}
	return frame
}
