package aura

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/zap"

	"headstart/turn/crew"
	"headstart/turn/provider"
)

// ahead is how many pieces of audio may wait to be played: more than a minute
// of it, so that a server is never held up by our pace.
const ahead = 1024

// exchange is one turn on one connection. run writes and reads; whoever plays
// takes from audio and, once that is closed, err.
type exchange struct {
	cfg   Config
	link  *link
	text  *script
	audio chan []int16

	err   error // of run
	clean bool  // the connection owes nothing: it may be used again

	begun chan bool     // one value: whether anything is said at all
	over  chan struct{} // closed when reading has ended

	mu       sync.Mutex // guards what follows, and the watch's methods
	watch    *provider.Watch
	flushed  bool // all text is with the server
	done     bool // all audio is here
	clearing bool // what comes is of a turn that was broken off
	samples  int
}

func newExchange(cfg Config, l *link, text *script) *exchange {
	return &exchange{cfg: cfg, link: l, text: text, audio: make(chan []int16, ahead), begun: make(chan bool, 1), over: make(chan struct{})}
}

// run says the script and reads its audio. When ctx ends it has the server
// forget the rest. A frame that is cut short costs the connection, so neither
// reading nor writing ends with ctx: each has its own deadline.
func (x *exchange) run(ctx context.Context, log *zap.Logger) error {
	held, drop := context.WithCancelCause(context.WithoutCancel(ctx)) // see above: this is what closes a turn
	defer drop(nil)
	held, x.watch = provider.NewWatch(held)
	defer x.rest()
	var writing sync.WaitGroup
	var unsent, err error
	writing.Go(func() {
		if unsent = crew.Guard(func() error { return x.write(ctx, held) }); unsent != nil {
			drop(unsent)
		}
	})
	if <-x.begun {
		err = crew.Guard(func() error { return x.read(ctx, held, log) })
	}
	close(x.over)
	writing.Wait()
	if unsent != nil && (err == nil || crew.In(unsent) != nil || errors.Is(err, net.ErrClosed)) {
		err = unsent // the writer's deadline closed the connection under the reader
	}
	x.clean = err == nil
	return err
}

// rest ends the watch.
func (x *exchange) rest() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.watch.Stop()
}

// awaitLocked has the connection given up when the next thing is late; without
// a name nothing is awaited. mu is held.
func (x *exchange) awaitLocked(what string, after time.Duration) {
	if what == "" {
		x.watch.Pause()
		return
	}
	x.watch.Await(what, after)
}

// write says the clauses as they come, ends them with the turn's one Flush, and
// stays to clear what a barge-in cuts off.
func (x *exchange) write(ctx, held context.Context) error {
	said := false
	defer func() {
		if !said {
			x.begun <- false
		}
	}()
	for n := 0; ; n++ {
		text, more := x.text.clause(ctx, x.over, n)
		if !more {
			break
		}
		if text == "" {
			continue
		}
		if !said {
			said = true
			x.begun <- true
		}
		// The space keeps it from running into the next clause.
		if err := x.send(held, message{Type: "Speak", Text: text + " "}); err != nil {
			return err
		}
	}
	if !said {
		return nil
	}
	if ctx.Err() == nil && x.text.read() {
		if err := x.flush(held); err != nil {
			return err
		}
	}
	select {
	case <-x.over:
		return nil
	case <-ctx.Done():
		return x.clear(held)
	}
}

// flush ends the text. The answer may be here before sending returns.
func (x *exchange) flush(held context.Context) error {
	x.mu.Lock()
	x.flushed = true
	if !x.done {
		x.expectLocked()
	}
	x.mu.Unlock()
	x.link.flushed(time.Now())
	return x.send(held, message{Type: "Flush"})
}

// expectLocked starts the clock for what the server owes next: nothing, until
// it has the whole text. mu is held.
func (x *exchange) expectLocked() {
	switch {
	case !x.flushed || x.done:
		x.awaitLocked("", 0)
	case x.samples == 0:
		x.awaitLocked("first audio", x.cfg.First)
	default:
		x.awaitLocked("next audio", x.cfg.Between)
	}
}

// clear has the server forget the turn, unless it is through with it.
func (x *exchange) clear(held context.Context) error {
	x.mu.Lock()
	if x.done {
		x.mu.Unlock()
		return nil
	}
	x.clearing = true
	x.awaitLocked("answer to a clear", x.cfg.Clear)
	x.mu.Unlock()
	return x.send(held, message{Type: "Clear"})
}

// message is what either side says in text. Older servers name a warning's
// fields in another way.
type message struct {
	Type        string `json:"type"`
	Text        string `json:"text,omitempty"`
	Code        string `json:"code,omitempty"`
	Description string `json:"description,omitempty"`
	WarnCode    string `json:"warn_code,omitempty"`
	ErrCode     string `json:"err_code,omitempty"`
}

func (x *exchange) send(held context.Context, m message) error {
	data, err := json.Marshal(m)
	if err != nil {
		return &provider.Error{Op: "write message", Err: err}
	}
	ctx, watch := provider.NewWatch(held)
	defer watch.Stop()
	watch.Await(m.Type+" taken", x.cfg.Write)
	if err := x.link.conn.Write(ctx, websocket.MessageText, data); err != nil {
		return failed(ctx, "send text", err)
	}
	return nil
}

// read takes the audio until the server has said all of the turn, or forgotten it.
func (x *exchange) read(ctx, held context.Context, log *zap.Logger) error {
	for {
		kind, data, err := x.link.conn.Read(held)
		if err != nil {
			return failed(held, "read audio", err)
		}
		var over bool
		if kind == websocket.MessageBinary {
			err = x.hear(ctx, data)
		} else {
			over, err = x.told(data, log)
		}
		if over || err != nil {
			return err
		}
	}
}

// hear takes a piece of audio. What a barge-in cut off is dropped.
func (x *exchange) hear(ctx context.Context, data []byte) error {
	if len(data)%2 != 0 {
		return &provider.Error{Op: "read audio", Err: errors.New("server sent half a sample")}
	}
	x.mu.Lock()
	x.samples += len(data) / 2
	clearing := x.clearing
	if !clearing {
		x.awaitLocked("", 0) // a full queue is ours to wait for, not the server's
	}
	x.mu.Unlock()
	if clearing || len(data) == 0 {
		return nil
	}
	select {
	case x.audio <- decode(data):
	case <-ctx.Done():
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.clearing {
		x.expectLocked()
	}
	return nil
}

// told takes a message; over tells that nothing more of this turn will come.
func (x *exchange) told(data []byte, log *zap.Logger) (over bool, err error) {
	var m message
	if err := json.Unmarshal(data, &m); err != nil {
		return false, &provider.Error{Op: "read audio", Again: true, Err: errors.New("server sent a message that is none")}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	switch m.Type {
	case "Flushed":
		if x.clearing || !x.flushed {
			return false, nil
		}
		x.done = true
		x.expectLocked()
		if x.samples == 0 {
			return false, &provider.Error{Op: "read audio", Again: true, Err: errors.New("answer holds no audio")}
		}
		return true, nil
	case "Cleared":
		x.done = x.clearing
		return x.clearing, nil
	case "Warning":
		log.Warn("aura warns", zap.String("code", first(m.Code, m.WarnCode)))
	case "Error":
		return false, &provider.Error{Op: "read audio", Again: true, Err: fmt.Errorf("server gave up with %s", first(m.Code, m.ErrCode, "no code"))}
	}
	return false, nil // Metadata, what is still unknown
}

func first(values ...string) string {
	i := slices.IndexFunc(values, func(v string) bool { return v != "" })
	if i < 0 {
		return ""
	}
	return values[i]
}

func decode(data []byte) []int16 {
	pcm := make([]int16, len(data)/2)
	for i := range pcm {
		pcm[i] = int16(binary.LittleEndian.Uint16(data[2*i:]))
	}
	return pcm
}

// fatalCodes are the close codes that blame what we sent.
var fatalCodes = []websocket.StatusCode{
	websocket.StatusUnsupportedData, websocket.StatusInvalidFramePayloadData,
	websocket.StatusPolicyViolation, websocket.StatusMessageTooBig,
}

// failed makes the error of a connection that broke: our own deadline and a
// broken connection may be retried, the caller's cancellation comes back as its
// cause.
func failed(ctx context.Context, op string, err error) error {
	cause := context.Cause(ctx)
	if told, ok := errors.AsType[*provider.Error](cause); ok {
		return told
	}
	if late, ok := errors.AsType[*provider.TimeoutError](cause); ok {
		return &provider.Error{Op: op, Again: true, Err: late}
	}
	if cause != nil {
		return cause
	}
	frame, ok := errors.AsType[websocket.CloseError](err)
	return &provider.Error{Op: op, Again: !ok || !slices.Contains(fatalCodes, frame.Code), Err: err}
}
