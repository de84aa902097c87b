package deepgramtest

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"net/http"
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
	ear     *ear
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

// serve upgrades and runs a connection to its end.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return // Accept has answered
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(1 << 20)
	q := r.URL.Query()
	rate, _ := strconv.Atoi(q.Get("sample_rate"))              // wrong has looked
	utteranceEnd, _ := strconv.Atoi(q.Get("utterance_end_ms")) // none is none
	s.note(func(r *Record) {
		r.Connections++
		r.Queries = append(r.Queries, q)
	})
	c := &connection{server: s, conn: conn, tag: q.Get("tag"), opened: time.Now(), fed: time.Now()}
	c.ear = &ear{
		script: s.take(c.tag), rate: rate, segmentAfter: s.script.SegmentAfter,
		utteranceEnd: time.Duration(utteranceEnd) * time.Millisecond,
	}
	c.run(r.Context())
	s.note(func(r *Record) { r.Overruns += c.ear.overruns })
	if c.struck.Kind != "" {
		s.leave(c.tag, c.ear.script)
	}
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
		if f, ok := c.server.fault(c.opened, Drop, Close, Mute, Stall, Garbage); ok {
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
	return c.say(ctx, c.ear.tick(now))
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
	return c.say(ctx, c.ear.hear(time.Now(), decode(frame.data)))
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
	switch message.Type {
	case "Finalize":
		return c.say(ctx, c.ear.finalize())
	case "CloseStream":
		c.goodbye(ctx)
		return false
	}
	return true
}

func (c *connection) goodbye(ctx context.Context) {
	last := closing{Type: "Metadata", TransactionKey: "deprecated", RequestID: requestID, Created: c.opened.UTC().Format(time.RFC3339Nano), Duration: c.ear.heard.Seconds(), Channels: 1}
	if c.say(ctx, append(c.ear.close(), last)) {
		_ = c.conn.Close(websocket.StatusNormalClosure, "") // the client may have gone first
	}
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
