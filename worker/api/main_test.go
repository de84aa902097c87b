package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"go.uber.org/zap"

	"headstart/worker/api"
	"headstart/worker/room"
)

// TestMain answers no name: see the package room's.
func TestMain(m *testing.M) {
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("no names in tests")
	}}
	room.SilenceSDK()
	goleak.VerifyTestMain(m)
}

// missing skips, or fails where nothing may be missing.
func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s, and CI=true", what)
	}
	t.Skip(what)
}

// door is a way in without LiveKit: each visitor behind it is a fake.
type door struct {
	refuse   error                         // of every Dial and Token
	panics   bool                          // every Dial does
	greeting []api.Event                   // what a visitor hears first
	reply    func(text string) []api.Event // what follows a text
	deaf     error                         // of every Type
	visitors chan *visitor                 // who came in
}

func newDoor() *door { return &door{visitors: make(chan *visitor, 64)} }

func (d *door) Token(room string) (token, identity string, err error) {
	return "token-of-" + room, "web_1", d.refuse
}

func (d *door) Dial(_ context.Context, room string) (api.Visitor, error) {
	if d.panics {
		panic("in Dial")
	}
	if d.refuse != nil {
		return nil, d.refuse
	}
	v := &visitor{door: d, room: room, notes: make(chan api.Event, 64), gone: make(chan error, 1)}
	for _, e := range d.greeting {
		v.notes <- e
	}
	d.visitors <- v
	return v, nil
}

// visitor tells what is put into notes, until gone tells how its room ended.
type visitor struct {
	door  *door
	room  string
	notes chan api.Event
	gone  chan error

	lock  sync.Mutex // guards texts
	texts []string
}

func (v *visitor) Run(ctx context.Context, hear func(api.Event)) error {
	for {
		select {
		case e := <-v.notes:
			hear(e)
		case err := <-v.gone:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (v *visitor) Type(_ context.Context, text string) error {
	if v.door.deaf != nil {
		return v.door.deaf
	}
	v.lock.Lock()
	v.texts = append(v.texts, text)
	v.lock.Unlock()
	if v.door.reply != nil {
		for _, e := range v.door.reply(text) {
			v.notes <- e
		}
	}
	return nil
}

func (v *visitor) typed() []string {
	v.lock.Lock()
	defer v.lock.Unlock()
	return append([]string(nil), v.texts...)
}

var listening = api.Event{Type: api.TypeState, State: "listening"}

func says(who, segment, text string, final bool) api.Event {
	return api.Event{Type: api.TypeTranscript, Who: who, Segment: segment, Text: text, Final: final}
}

// open makes the page on a door, and runs it until stop is called.
func open(t *testing.T, d api.Door, config api.Config) (pages *api.Pages, stop func()) {
	t.Helper()
	config.Door = d
	if config.URL == "" {
		config.URL = "ws://127.0.0.1:7880"
	}
	pages, err := api.NewUnbuilt(config, zap.NewNop())
	if err != nil {
		t.Fatalf("new: %v", err)
	}
	return pages, run(t, pages)
}

func run(t *testing.T, pages *api.Pages) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- pages.Run(ctx) }()
	return sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
	})
}

// ask sends a request as the page does.
func ask(ctx context.Context, pages http.Handler, method, path, body string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(ctx, method, "http://localhost"+path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Origin", "http://localhost")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	for _, c := range change {
		c(r)
	}
	w := httptest.NewRecorder()
	pages.ServeHTTP(w, r)
	return w
}

// field reads a field of an answer.
func field(t *testing.T, w *httptest.ResponseRecorder, name string) string {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &fields); err != nil {
		t.Fatalf("read answer %q: %v", w.Body, err)
	}
	text, _ := fields[name].(string)
	return text
}

// enter opens a typed visit and returns its path.
func enter(t *testing.T, pages http.Handler) string {
	t.Helper()
	w := ask(t.Context(), pages, "POST", "/visits", `{"mode":"typed"}`)
	if w.Code != http.StatusCreated {
		t.Fatalf("open visit: %d %s", w.Code, w.Body)
	}
	return "/visits/" + field(t, w, "id")
}

// stream is a reader of events, as a browser's EventSource is.
type stream struct {
	lock   sync.Mutex // guards text
	text   strings.Builder
	header http.Header
	leave  context.CancelFunc
	done   chan struct{}
}

func (s *stream) Header() http.Header { return s.header }
func (s *stream) WriteHeader(int)     {}
func (s *stream) Flush()              {}
func (s *stream) Write(p []byte) (int, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.text.Write(p)
}

func read(t *testing.T, pages http.Handler, visit, last string) *stream {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	s := &stream{header: http.Header{}, leave: cancel, done: make(chan struct{})}
	r := httptest.NewRequestWithContext(ctx, "GET", "http://localhost"+visit+"/events", nil)
	r.Header.Set("Last-Event-ID", last)
	go func() {
		defer close(s.done)
		pages.ServeHTTP(s, r)
	}()
	return s
}

// events are what was read so far.
func (s *stream) events(t *testing.T) []api.Event {
	t.Helper()
	s.lock.Lock()
	defer s.lock.Unlock()
	var events []api.Event
	for line := range strings.Lines(s.text.String()) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			var e api.Event
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				t.Fatalf("read event %q: %v", data, err)
			}
			events = append(events, e)
		}
	}
	return events
}
