package line

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/zap"

	"headstart/turn/crew"
	"headstart/turn/stt"
)

// maxMessage bounds what the server may send at once. A minute of words with
// their timings is about 40 KiB.
const maxMessage = 1 << 20

// session is one connection. run reads it on the goroutine that called it, and
// sends from another that ends before run does.
type session struct {
	vendor *Vendor
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
	words := s.vendor.Reader(s.kept.at)
	err = s.converse(ctx, conn, words)
	if ctx.Err() == nil {
		s.take(Heard{Events: words.Over(err == nil)})
	}
	return err
}

// converse sends and reads at the same time, until reading ends.
func (s *session) converse(ctx context.Context, conn *websocket.Conn, words Reader) error {
	ctx, cancel := context.WithCancelCause(ctx)
	others := crew.Crew{Stop: func() { cancel(errBurst) }}
	defer others.Wait() // both, in this order, also when hear panics
	defer cancel(nil)
	var broken errorBox
	run := func(do func(context.Context, *websocket.Conn) error) {
		others.Do(func() {
			if err := do(ctx, conn); err != nil {
				broken.put(err)
				s.yield(ctx, err)
				cancel(err)
			}
		})
	}
	run(s.send)
	if s.vendor.PingEvery > 0 {
		run(s.ping)
	}
	err := s.read(ctx, conn, words)
	cancel(nil)
	others.Wait()
	if first := broken.get(); first != nil && errors.Is(err, net.ErrClosed) {
		return first // a deadline of ours closed the connection under the reader
	}
	return err
}

// errorBox keeps the first error of several goroutines.
type errorBox struct {
	mu  sync.Mutex // guards err
	err error
}

func (b *errorBox) put(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.err = err
	}
}

func (b *errorBox) get() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// ping asks the connection now and then whether it lives, whatever flows on it.
func (s *session) ping(ctx context.Context, conn *websocket.Conn) error {
	for {
		if pause(ctx, s.vendor.PingEvery) != nil {
			return nil
		}
		// The answer comes the way that the handshake's did, and may take as long.
		if err := bounded(ctx, "answer to a ping", s.vendor.Timing.ConnectTimeout, conn.Ping); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("ping: %w", err)
		}
	}
}

// yield leaves the reader time to find out why the connection is broken: the
// vendor's close frame may be on its way, and it knows better than a failed write.
func (s *session) yield(ctx context.Context, unsent error) {
	if _, late := errors.AsType[*Timeout](unsent); late {
		return
	}
	_ = pause(ctx, s.vendor.Timing.WriteTimeout)
}

func (s *session) connect(ctx context.Context) (*websocket.Conn, error) {
	options := &websocket.DialOptions{
		HTTPClient: s.vendor.HTTPClient,
		HTTPHeader: s.vendor.Header,
	}
	var conn *websocket.Conn
	err := bounded(ctx, "connection", s.vendor.Timing.ConnectTimeout, func(ctx context.Context) error {
		c, resp, err := websocket.Dial(ctx, s.vendor.Address, options)
		if err != nil {
			return refused(s.vendor.Name, resp, err)
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
func (s *session) read(ctx context.Context, conn *websocket.Conn, words Reader) error {
	for {
		_, message, err := conn.Read(ctx)
		if err != nil {
			return s.over(ctx, closed(s.vendor.Name, err))
		}
		heard, err := words.Read(message)
		if err != nil {
			s.log.Debug("skipped a message", zap.Int("bytes", len(message)), zap.Error(err))
			continue
		}
		if !heard.Hollow {
			s.heardAt.Store(int64(max(time.Since(s.opened), 1)))
		}
		s.take(heard)
		if heard.Fatal != nil {
			return fmt.Errorf("read results: %w", heard.Fatal)
		}
	}
}

func (s *session) take(heard Heard) {
	if heard.Trouble != "" {
		s.trouble = heard.Trouble
	}
	for _, event := range heard.Events {
		s.hear(event)
	}
	if heard.Settles > 0 {
		s.kept.settle(heard.Settles)
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

// steadyAfter is how long a connection has to last before its loss is a new
// trouble and not the last one again.
const steadyAfter = time.Second

// steady tells whether the connection worked for a while: the server said
// something that makes sense, and did not fail at once.
func (s *session) steady() bool { return s.heardAt.Load() > 0 && time.Since(s.opened) >= steadyAfter }

// send writes what the tape has to give, and keeps the connection alive
// when it has nothing.
func (s *session) send(ctx context.Context, conn *websocket.Conn) error {
	idle := time.NewTimer(s.vendor.Idle)
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
			if err := s.keepAlive(ctx, conn); err != nil {
				return err
			}
		}
		if done, err := s.portion(ctx, conn, next); done || err != nil {
			return err
		}
		idle.Reset(s.vendor.Idle)
	}
}

// keepAlive fills a pause of the audio: with the vendor's word for it, or with
// as much silence as the pause was long, so that a vendor whose clock is the
// audio notices that the caller has stopped.
func (s *session) keepAlive(ctx context.Context, conn *websocket.Conn) error {
	if s.vendor.KeepAlive != "" {
		return s.write(ctx, conn, "keep-alive", websocket.MessageText, []byte(s.vendor.KeepAlive))
	}
	for left := samples(s.vendor.Idle); left > 0; {
		part := min(left, maxPortion)
		s.kept.hush(part)
		if err := s.sound(ctx, conn, "silence", [][]int16{make([]int16, part)}); err != nil {
			return err
		}
		left -= part
	}
	return nil
}

// sound sends audio, and minds that it is answered.
func (s *session) sound(ctx context.Context, conn *websocket.Conn, what string, pcm [][]int16) error {
	s.outgoing = encode(s.outgoing[:0], pcm)
	if err := s.write(ctx, conn, what, websocket.MessageBinary, s.outgoing); err != nil {
		return err
	}
	return s.flow()
}

// portion sends one portion of the tape and tells whether it was the last.
func (s *session) portion(ctx context.Context, conn *websocket.Conn, next portion) (bool, error) {
	if len(next.pcm) > 0 {
		if err := s.sound(ctx, conn, "audio", next.pcm); err != nil {
			return false, err
		}
	}
	if next.flush && s.vendor.Flush != "" {
		return false, s.write(ctx, conn, "flush", websocket.MessageText, []byte(s.vendor.Flush))
	}
	if next.end {
		s.ended.Store(true)
		return true, s.write(ctx, conn, "end of stream", websocket.MessageText, []byte(s.vendor.End))
	}
	return false, nil
}

func (s *session) write(ctx context.Context, conn *websocket.Conn, what string, kind websocket.MessageType, frame []byte) error {
	err := bounded(ctx, what+" taken", s.vendor.Timing.WriteTimeout, func(ctx context.Context) error {
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
	if s.sentAt.IsZero() || now.Sub(s.sentAt) > s.vendor.pause() {
		s.flowing = now
	}
	s.sentAt = now
	quiet := now.Sub(s.flowing)
	if heard := s.heardAt.Load(); heard > 0 {
		quiet = min(quiet, now.Sub(s.opened)-time.Duration(heard))
	}
	if quiet >= s.vendor.Timing.SilentAfter {
		return &Timeout{What: "message while audio flows", After: s.vendor.Timing.SilentAfter}
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
