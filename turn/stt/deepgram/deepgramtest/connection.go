package deepgramtest

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

// Deepgram's own limits.
const (
	idleAfter  = 10 * time.Second       // without audio or KeepAlive
	writeLimit = 2 * time.Second        // of the fake
	pulse      = 10 * time.Millisecond  // how exact the fake is
	noiseEvery = 100 * time.Millisecond // of a fault that says garbage
)

// connection is one socket. Its loop owns everything but the reading.
type connection struct {
	server  *Server
	conn    *websocket.Conn
	speaks  protocol
	script  *track
	tag     string
	opened  time.Time
	fed     time.Time // when audio or a KeepAlive last came
	noisy   time.Time // when garbage was last said
	struck  Fault     // Kind is empty while all is well
	stalled atomic.Bool
}

// incoming is a frame of the client, or the end of them.
type incoming struct {
	kind websocket.MessageType
	data []byte
	err  error
}

// protocol is what one version of the API answers with. It is a pure step, told
// the time.
type protocol interface {
	// hear takes audio.
	hear(now time.Time, pcm []int16) []any
	// tick takes a moment in which nothing came.
	tick(now time.Time) []any
	// control takes a control message; over ends the connection well.
	control(kind string, message []byte) (answer []any, over bool)
}

// serve upgrades and runs a connection to its end.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, speak func(q url.Values, script *track) protocol) {
	c := &connection{server: s}
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{OnPingReceived: c.pinged})
	if err != nil {
		return // Accept has answered
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(1 << 20)
	q := r.URL.Query()
	s.note(func(r *Record) {
		r.Connections++
		r.Queries = append(r.Queries, q)
	})
	c.conn, c.tag, c.opened, c.fed = conn, q.Get("tag"), time.Now(), time.Now()
	c.script = s.take(c.tag)
	c.speaks = speak(q, c.script)
	c.run(r.Context())
	s.note(func(r *Record) { r.Overruns += c.script.overruns })
	c.script.overruns = 0
	if c.struck.Kind != "" {
		s.leave(c.tag, c.script)
	}
}

// nova speaks v1.
func (s *Server) nova(q url.Values, script *track) protocol {
	rate, _ := strconv.Atoi(q.Get("sample_rate"))              // wrong has looked
	utteranceEnd, _ := strconv.Atoi(q.Get("utterance_end_ms")) // none is none
	return &ear{
		script: script, rate: rate, segmentAfter: s.script.SegmentAfter, opened: time.Now(),
		utteranceEnd: time.Duration(utteranceEnd) * time.Millisecond,
	}
}

func (c *connection) pinged(context.Context, []byte) bool {
	c.server.note(func(r *Record) { r.Pings++ })
	return true
}

func (c *connection) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	frames := make(chan incoming)
	var reading sync.WaitGroup
	defer reading.Wait()
	defer cancel()
	reading.Go(func() { c.read(ctx, frames) })
	beat := time.NewTicker(pulse)
	defer beat.Stop()
	for {
		goOn := true
		select {
		case <-c.server.done:
			return
		case frame := <-frames:
			goOn = c.receive(ctx, frame)
		case <-beat.C:
			goOn = c.beat(ctx)
		}
		if !goOn {
			return
		}
	}
}

func (c *connection) read(ctx context.Context, frames chan<- incoming) {
	for !c.stalled.Load() {
		kind, data, err := c.conn.Read(ctx)
		select {
		case frames <- incoming{kind: kind, data: data, err: err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// beat is a moment in which nothing came; false ends the connection.
func (c *connection) beat(ctx context.Context) bool {
	now := time.Now()
	if c.struck.Kind == "" {
		if f, ok := c.server.fault(c.opened, Drop, Close, Mute, Stall, Garbage, Fail); ok {
			c.struck = f
		}
	}
	switch c.struck.Kind {
	case Drop:
		return false
	case Close:
		code := c.struck.Status
		if code == 0 {
			code = int(websocket.StatusInternalError)
		}
		_ = c.conn.Close(websocket.StatusCode(code), "NET-0000: internal error") // it is to break
		return false
	case Fail:
		c.say(ctx, []any{failure{Type: "Error", SequenceID: 0, Code: "INTERNAL_SERVER_ERROR", Description: "scripted"}})
		return false
	case Stall:
		c.stalled.Store(true)
		return true
	case Mute:
		return true
	case Garbage:
		return c.babble(ctx, now)
	}
	if now.Sub(c.fed) >= idleAfter {
		c.server.note(func(r *Record) { r.Complaints = append(r.Complaints, "neither audio nor KeepAlive for 10 s") })
		_ = c.conn.Close(websocket.StatusInternalError, "NET-0001: no audio within the timeout") // it ends anyway
		return false
	}
	return c.say(ctx, c.speaks.tick(now))
}

func (c *connection) babble(ctx context.Context, now time.Time) bool {
	if now.Sub(c.noisy) < noiseEvery {
		return true
	}
	c.noisy = now
	return c.write(ctx, []byte(`{"type":"Results","channel":[`))
}

// receive takes one frame; false ends the connection.
func (c *connection) receive(ctx context.Context, frame incoming) bool {
	if frame.err != nil {
		return false
	}
	if frame.kind == websocket.MessageText {
		return c.control(ctx, frame.data)
	}
	c.fed = time.Now()
	c.server.note(func(r *Record) {
		r.AudioBytes += int64(len(frame.data))
		if len(frame.data)%2 != 0 || len(frame.data) > 0 && frame.data[0] == '{' && json.Valid(frame.data) {
			r.Complaints = append(r.Complaints, "a binary frame is not audio")
		}
	})
	if c.struck.Kind != "" {
		return true
	}
	return c.say(ctx, c.speaks.hear(time.Now(), decode(frame.data)))
}

func (c *connection) control(ctx context.Context, data []byte) bool {
	var message struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(data, &message); err != nil {
		c.server.note(func(r *Record) { r.Complaints = append(r.Complaints, "a text frame is not JSON") })
		return true
	}
	c.server.note(func(r *Record) { r.Control = append(r.Control, message.Type) })
	c.fed = time.Now()
	if c.struck.Kind != "" {
		return true
	}
	answer, over := c.speaks.control(message.Type, data)
	if !c.say(ctx, answer) {
		return false
	}
	if over {
		_ = c.conn.Close(websocket.StatusNormalClosure, "") // the client may have gone first
	}
	return !over
}

func (c *connection) say(ctx context.Context, messages []any) bool {
	for _, message := range messages {
		data, err := json.Marshal(message)
		if err != nil || !c.write(ctx, data) {
			return false
		}
	}
	return true
}

func (c *connection) write(ctx context.Context, data []byte) bool {
	ctx, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	return c.conn.Write(ctx, websocket.MessageText, data) == nil
}

func decode(data []byte) []int16 {
	pcm := make([]int16, len(data)/2)
	for i := range pcm {
		pcm[i] = int16(binary.LittleEndian.Uint16(data[2*i:]))
	}
	return pcm
}
