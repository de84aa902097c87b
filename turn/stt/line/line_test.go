package line_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"headstart/turn/crew"
	"headstart/turn/stt"
	"headstart/turn/stt/line"
	"headstart/turn/stt/line/linetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ms = time.Millisecond

// echo is a vendor whose every message is a final of its own text, and which
// says "over" when it wants no more.
type echo struct{ ends []bool }

func (e *echo) Read(message []byte) (line.Heard, error) {
	switch text := string(message); text {
	case "?":
		return line.Heard{}, errors.New("read message: not the protocol's")
	case "hello":
		return line.Heard{Hollow: true}, nil
	case "over":
		return line.Heard{Hollow: true, Fatal: errors.New("vendor is tired")}, nil
	default:
		return line.Heard{Events: []stt.Event{{Kind: stt.Final, Text: text}}, Settles: 1}, nil
	}
}

func (e *echo) Over(whole bool) []stt.Event {
	e.ends = append(e.ends, whole)
	return nil
}

// listener joins a line to what linetest calls.
type listener struct{ *line.Line }

func (l listener) Recognise(ctx context.Context, audio <-chan stt.Input, hear func(stt.Event)) error {
	return l.Listen(ctx, audio, hear)
}

// serve makes a vendor of a function that has each connection; n counts them from 0.
func serve(t *testing.T, options *websocket.AcceptOptions, converse func(ctx context.Context, n int, conn *websocket.Conn)) (line.Vendor, *echo) {
	t.Helper()
	words, n := &echo{}, 0
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, options)
		if err != nil {
			return
		}
		defer func() { _ = conn.CloseNow() }()
		n++
		converse(r.Context(), n-1, conn)
	})
	return line.Vendor{
		Name: "echo", Address: "ws://echo.test/", Timing: line.Timing{}.WithDefaults(), HTTPClient: linetest.Serve(t, handler),
		Reader: func(func(float64) time.Duration) line.Reader { return words },
		End:    "end", Idle: 5 * time.Second, KeepAlive: "alive",
	}, words
}

// untilEnd reads until the stream ends, and says goodbye.
func untilEnd(ctx context.Context, conn *websocket.Conn) {
	for {
		kind, data, err := conn.Read(ctx)
		if err != nil {
			return
		}
		if kind == websocket.MessageText && string(data) == "end" {
			_ = conn.Close(websocket.StatusNormalClosure, "")
			return
		}
	}
}

// A peer that takes what it is sent but answers no ping is dead.
func TestUnansweredPing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		deaf := &websocket.AcceptOptions{OnPingReceived: func(context.Context, []byte) bool { return false }}
		vendor, words := serve(t, deaf, func(ctx context.Context, _ int, conn *websocket.Conn) { untilEnd(ctx, conn) })
		vendor.PingEvery = 30 * time.Second
		got, err := linetest.Call(t.Context(), t, listener{line.New(vendor, zap.NewNop())}, func(m *linetest.Mouth) { m.Wait(40 * time.Second) })
		if err != nil {
			t.Fatalf("listen: %v", err)
		}
		if len(got) != 1 || got[0].Kind != stt.Reconnected || got[0].At != 35100*ms {
			t.Fatalf("events %v, want a new connection at 35.1s", got)
		}
		if late, ok := errors.AsType[*line.Timeout](got[0].Err); !ok || late.What != "answer to a ping" {
			t.Fatalf("reconnected because of %v", got[0].Err)
		}
		if diff := cmp.Diff([]bool{false, true}, words.ends); diff != "" {
			t.Fatalf("ends (-want +got):\n%s", diff)
		}
	})
}

// A vendor that greets and then gives up is tried ever more seldom: a greeting
// is no proof that it works.
func TestGreetingIsNoProof(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		vendor, _ := serve(t, nil, func(ctx context.Context, n int, conn *websocket.Conn) {
			tries = n + 1
			for _, text := range []string{"hello", "?", "over"} {
				_ = conn.Write(ctx, websocket.MessageText, []byte(text))
			}
			untilEnd(ctx, conn)
		})
		began := time.Now()
		_, err := linetest.Call(t.Context(), t, listener{line.New(vendor, zap.NewNop())}, func(m *linetest.Mouth) { m.Wait(2 * time.Minute) })
		if err == nil || time.Since(began) != 62600*ms || tries != 16 {
			t.Fatalf("listen: %v after %v and %d tries, want the first try after a minute, the 16th", err, time.Since(began), tries)
		}
	})
}

// The other goroutines end also when hear panics: the panic is the call's.
func TestPanicOfTheListener(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		vendor, _ := serve(t, nil, func(ctx context.Context, _ int, conn *websocket.Conn) {
			_ = conn.Write(ctx, websocket.MessageText, []byte("hola"))
			untilEnd(ctx, conn)
		})
		defer func() {
			if recover() == nil {
				t.Error("the panic was lost")
			}
		}()
		_ = line.New(vendor, zap.NewNop()).Listen(t.Context(), make(chan stt.Input), func(stt.Event) { panic("listener") })
	})
}

// A panic of the goroutine that sends is the call's, too.
func TestPanicOfTheSender(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var armed atomic.Bool
		vendor, _ := serve(t, nil, func(ctx context.Context, _ int, conn *websocket.Conn) {
			armed.Store(true)
			untilEnd(ctx, conn)
		})
		vendor.HTTPClient = linetest.Bursting(vendor.HTTPClient, &armed)
		err := crew.Guard(func() error {
			return line.New(vendor, zap.NewNop()).Listen(t.Context(), make(chan stt.Input), func(stt.Event) {})
		})
		if crew.In(err) == nil {
			t.Fatalf("listened until %v: the panic was lost", err)
		}
	})
}
