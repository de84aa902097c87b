package deepgram_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"

	"headstart/turn/stt"
	"headstart/turn/stt/deepgram"
	"headstart/turn/stt/deepgram/deepgramtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const frame = 20 * time.Millisecond

// wire is a network of pipes, for bubbles, where no socket may be.
type wire struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (w *wire) Accept() (net.Conn, error) {
	select {
	case c := <-w.conns:
		return c, nil
	case <-w.done:
		return nil, net.ErrClosed
	}
}

func (w *wire) Close() error {
	w.once.Do(func() { close(w.done) })
	return nil
}

func (w *wire) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func (w *wire) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case w.conns <- far:
		return near, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// serve makes an HTTP client whose every connection reaches the handler.
func serve(t *testing.T, handler http.Handler) *http.Client {
	t.Helper()
	w := &wire{conns: make(chan net.Conn), done: make(chan struct{})}
	server := &http.Server{Handler: handler}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(w) })
	t.Cleanup(func() {
		_ = server.Close()
		serving.Wait()
	})
	return &http.Client{Transport: &http.Transport{DialContext: w.dial, DisableKeepAlives: true}}
}

// fake starts a scripted Deepgram for one test.
func fake(t *testing.T, script deepgramtest.Script) (*deepgramtest.Server, deepgram.Config) {
	t.Helper()
	server := deepgramtest.New(script)
	config := deepgram.Config{APIKey: "secret", BaseURL: "ws://deepgram.test", HTTPClient: serve(t, server)}
	t.Cleanup(server.Close)
	return server, config
}

// heard is an event with the time since the call began.
type heard struct {
	At time.Duration
	stt.Event
}

// call runs one Recognise while speak feeds it, and gives what was heard.
func call(ctx context.Context, t *testing.T, config deepgram.Config, speak func(*mouth)) ([]heard, error) {
	t.Helper()
	recogniser, err := deepgram.New(config, zap.NewNop())
	if err != nil {
		t.Fatalf("new recogniser: %v", err)
	}
	began := time.Now()
	m := &mouth{audio: make(chan stt.Input), stop: make(chan struct{})}
	var speaking sync.WaitGroup
	speaking.Go(func() {
		defer close(m.audio)
		speak(m)
	})
	var events []heard
	err = recogniser.Recognise(ctx, m.audio, func(e stt.Event) {
		events = append(events, heard{At: time.Since(began), Event: e})
	})
	close(m.stop)
	speaking.Wait()
	if m.blocked > 0 {
		t.Fatalf("the audio's reader held the caller up for %v", m.blocked)
	}
	return events, err
}

// mouth feeds frames of 20 ms in real time and notes when it was held up.
type mouth struct {
	audio   chan stt.Input
	stop    chan struct{}
	blocked time.Duration
}

func (m *mouth) send(in stt.Input) bool {
	began := time.Now()
	select {
	case m.audio <- in:
		m.blocked += time.Since(began)
		return true
	case <-m.stop:
		return false
	}
}

func (m *mouth) feed(d time.Duration, level int16) {
	for range d / frame {
		pcm := make([]int16, stt.SampleRate/50)
		for i := range pcm {
			pcm[i] = level
			if i%8 < 4 {
				pcm[i] = -level
			}
		}
		if !m.send(stt.Input{PCM: pcm}) {
			return
		}
		m.wait(frame)
	}
}

func (m *mouth) wait(d time.Duration) {
	select {
	case <-time.After(d):
	case <-m.stop:
	}
}

func (m *mouth) speak(d time.Duration)  { m.feed(d, 4000) }
func (m *mouth) silent(d time.Duration) { m.feed(d, 20) }
func (m *mouth) flush()                 { m.send(stt.Input{Flush: true}) }

// said joins the finals.
func said(events []heard) string {
	var texts []string
	for _, e := range events {
		if e.Kind == stt.Final {
			texts = append(texts, e.Text)
		}
	}
	return strings.Join(texts, " ")
}

// only keeps the events of some kinds.
func only(events []heard, kinds ...stt.Kind) []heard {
	var kept []heard
	for _, e := range events {
		for _, kind := range kinds {
			if e.Kind == kind {
				kept = append(kept, e)
			}
		}
	}
	return kept
}
