package auratest

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"

	"headstart/turn/tts/speech/speechtest"
)

// Deepgram's own limit, and the fake's.
const (
	mostFlushes = 20
	flushWindow = time.Minute
	writeLimit  = 2 * time.Second
	blockFor    = 30 * time.Second
)

// Length is how long the audio of a text is.
func Length(text string) time.Duration {
	return time.Duration(utf8.RuneCountInString(strings.TrimSpace(text))) * speechtest.PerCharacter
}

// connection is one socket. Its loop owns everything but the reading.
type connection struct {
	server *Server
	conn   *websocket.Conn
	rate   int

	text    string // not said yet
	queue   []part // to send, in order
	ready   time.Time
	fault   Fault // of this turn
	taken   bool  // the turn's fault was taken
	length  int   // bytes of audio that the turn has in all
	sent    int   // and how many were sent
	flushes []time.Time
	next    int // sequence of Flushed and Cleared
}

// part is what is sent next: audio, or a message.
type part struct {
	audio   []byte
	message map[string]any
}

// incoming is a frame of the client, or the end of them.
type incoming struct {
	kind websocket.MessageType
	data []byte
	err  error
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, rate int) {
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return // Accept has answered
	}
	defer func() { _ = conn.CloseNow() }()
	s.note(func(r *Record) { r.Connections++; r.Open++ })
	defer s.note(func(r *Record) { r.Open-- })
	c := &connection{server: s, conn: conn, rate: rate}
	c.queue = []part{{message: map[string]any{"type": "Metadata", "request_id": "00000000-0000-4000-8000-000000000000", "model_name": r.URL.Query().Get("model")}}}
	c.run(r.Context())
}

func (c *connection) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	frames := make(chan incoming)
	var reading sync.WaitGroup
	defer reading.Wait()
	defer cancel()
	reading.Go(func() { c.read(ctx, frames) })
	for {
		wait, stop := c.pace()
		select {
		case <-c.server.done:
			stop()
			return
		case frame := <-frames:
			stop()
			if frame.err != nil || frame.kind != websocket.MessageText && !c.complain("a binary frame") || !c.take(ctx, frame.data) {
				return
			}
		case <-wait:
			if !c.send(ctx) {
				return
			}
		}
	}
}

// pace gives a channel that tells when the next part is to be sent.
func (c *connection) pace() (<-chan time.Time, func()) {
	if len(c.queue) == 0 || c.held() {
		return nil, func() {}
	}
	timer := time.NewTimer(time.Until(c.ready))
	return timer.C, func() { timer.Stop() }
}

// held tells whether a fault keeps the queue.
func (c *connection) held() bool {
	return c.fault == Hang || c.fault == Block || c.fault == Stall && c.sent >= c.length/2
}

func (c *connection) read(ctx context.Context, frames chan<- incoming) {
	for {
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

// complain notes what Deepgram would not have liked, and goes on.
func (c *connection) complain(what string) bool {
	c.server.note(func(r *Record) { r.Complaints = append(r.Complaints, what) })
	return true
}

// take takes one message; false ends the connection.
func (c *connection) take(ctx context.Context, data []byte) bool {
	var m struct{ Type, Text string }
	if err := json.Unmarshal(data, &m); err != nil {
		return c.complain("a text frame is not JSON")
	}
	if !c.taken && (m.Type == "Speak" || m.Type == "Flush") {
		c.fault, c.taken, c.length, c.sent = c.server.fault(false).Fault, true, 0, 0
	}
	switch m.Type {
	case "Speak":
		c.server.note(func(r *Record) { r.Texts = append(r.Texts, m.Text) })
		c.text += m.Text
		if strings.ContainsAny(lastRune(c.text), ".!?…") {
			c.synthesise()
		}
	case "Flush":
		c.flush()
	case "Clear":
		c.clear()
	case "Close":
		_ = c.conn.Close(websocket.StatusNormalClosure, "") // the client may have gone first
		return false
	default:
		return c.complain("a message of no known type")
	}
	return c.strike(ctx)
}

func lastRune(text string) string {
	r, _ := utf8.DecodeLastRuneInString(strings.TrimSpace(text))
	return string(r)
}

// strike does what a fault does at once; false ends the connection.
func (c *connection) strike(ctx context.Context) bool {
	switch c.fault {
	case Block:
		select { // with one frame in hand, the reader takes no more
		case <-ctx.Done():
		case <-c.server.done:
		case <-time.After(blockFor):
		}
		return false
	case Fail:
		c.write(ctx, map[string]any{"type": "Error", "code": "NET-0001", "description": "scripted"})
		return false
	case Garbage:
		return c.frame(ctx, websocket.MessageText, []byte(`{"type":`))
	}
	return true
}

// synthesise queues the audio of the text in pieces of a tenth of a second.
func (c *connection) synthesise() {
	text := strings.TrimSpace(c.text)
	c.text = ""
	if text == "" || c.fault == Empty {
		return
	}
	if len(c.queue) == 0 {
		c.ready = time.Now().Add(c.server.options.First)
	}
	audio := speechtest.ToneAt(Length(text), c.rate)
	c.length += len(audio)
	for piece := c.rate / 10 * 2; len(audio) > 0; {
		n := min(piece, len(audio))
		c.queue = append(c.queue, part{audio: audio[:n]})
		audio = audio[n:]
	}
}

func (c *connection) flush() {
	c.server.note(func(r *Record) { r.Flushes++ })
	now := time.Now()
	if len(c.flushes) == mostFlushes && now.Sub(c.flushes[0]) <= flushWindow {
		c.server.note(func(r *Record) { r.Warnings++ })
		c.queue = append(c.queue, part{message: map[string]any{"type": "Warning", "code": "EXCESSIVE_FLUSH", "description": "flush limit reached"}})
		return
	}
	c.flushes = append(c.flushes, now)
	if len(c.flushes) > mostFlushes {
		c.flushes = c.flushes[1:]
	}
	c.synthesise()
	c.queue = append(c.queue, c.numbered("Flushed"))
}

func (c *connection) clear() {
	c.server.note(func(r *Record) { r.Clears++ })
	c.text, c.queue = "", nil
	if c.fault == Hang || c.fault == Deaf {
		return
	}
	c.fault, c.taken = "", false
	c.queue, c.ready = []part{c.numbered("Cleared")}, time.Now()
}

func (c *connection) numbered(kind string) part {
	c.next++
	return part{message: map[string]any{"type": kind, "sequence_id": c.next - 1}}
}

// send sends the next part; false ends the connection.
func (c *connection) send(ctx context.Context) bool {
	if c.fault == Drop && c.sent > 0 && c.sent >= c.length/2 {
		return false
	}
	next := c.queue[0]
	c.queue = c.queue[1:]
	if next.message != nil {
		if next.message["type"] == "Flushed" {
			c.taken, c.fault = false, ""
		}
		return c.write(ctx, next.message)
	}
	c.sent += len(next.audio)
	c.ready = time.Now().Add(c.server.options.Every)
	return c.frame(ctx, websocket.MessageBinary, next.audio)
}

func (c *connection) write(ctx context.Context, message map[string]any) bool {
	data, err := json.Marshal(message)
	return err == nil && c.frame(ctx, websocket.MessageText, data)
}

func (c *connection) frame(ctx context.Context, kind websocket.MessageType, data []byte) bool {
	ctx, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	return c.conn.Write(ctx, kind, data) == nil
}
