package v1_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"headstart/turn"
	v1 "headstart/worker/api/v1"
	"headstart/worker/calllog"
	"headstart/worker/calllog/calllogtest"
	"headstart/worker/port/porttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// desk is an API on a book of logs, and what is needed to write in it.
type desk struct {
	t     *testing.T
	store *calllogtest.Store
	book  *calllog.Book
}

func newDesk(t *testing.T, cfg calllog.Config) *desk {
	t.Helper()
	cfg.Dir = t.TempDir()
	d := &desk{t: t, store: &calllogtest.Store{}}
	var err error
	if d.book, err = calllog.Open(cfg, d.store, zap.NewNop()); err != nil {
		t.Fatalf("open book: %v", err)
	}
	t.Cleanup(func() {
		if err := d.book.Close(); err != nil {
			t.Errorf("close book: %v", err)
		}
	})
	return d
}

func (d *desk) begin(call string) *calllog.Log {
	d.t.Helper()
	log, err := d.book.Begin(call, "clinica")
	if err != nil {
		d.t.Fatalf("begin log: %v", err)
	}
	return log
}

// ship brings all that was written to the store.
func (d *desk) ship() {
	d.t.Helper()
	ctx, cancel := context.WithCancel(d.t.Context())
	cancel()
	if err := d.book.Run(ctx); err != nil {
		d.t.Fatalf("ship: %v", err)
	}
}

// ask sends a request to the handler alone.
func (d *desk) ask(cfg v1.Config, method, path string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(d.t.Context(), method, "http://localhost:8080"+path, nil)
	for _, c := range change {
		c(r)
	}
	w := httptest.NewRecorder()
	v1.Handler(cfg, d.book, d.store).ServeHTTP(w, r)
	return w
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

func host(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }

// field reads a field of an answer.
func field[V any](t *testing.T, w *httptest.ResponseRecorder, name string) V {
	t.Helper()
	var fields map[string]json.RawMessage
	var value V
	if err := json.Unmarshal(w.Body.Bytes(), &fields); err != nil {
		t.Fatalf("read answer %q: %v", w.Body, err)
	}
	if raw, ok := fields[name]; ok {
		if err := json.Unmarshal(raw, &value); err != nil {
			t.Fatalf("read %s of %q: %v", name, w.Body, err)
		}
	}
	return value
}

func equal[V any](t *testing.T, what string, want, got V) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

// pipes is where a desk is asked.
type pipes struct{ *porttest.Pipes }

// serve runs the API on pipes until the returned function ends it.
func (d *desk) serve(cfg v1.Config) (*pipes, func()) {
	d.t.Helper()
	p := &pipes{porttest.Listen()}
	server := v1.On(p, cfg, d.book, d.store)
	ctx, cancel := context.WithCancel(d.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	return p, sync.OnceFunc(func() {
		d.t.Helper()
		cancel()
		if err := <-ended; err != nil {
			d.t.Errorf("run: %v", err)
		}
	})
}

// reader reads one stream, event by event.
type reader struct {
	t     *testing.T
	conn  net.Conn
	lines *bufio.Reader
	body  *http.Response
}

// follow asks for a stream, and gets it.
func (p *pipes) follow(t *testing.T, path string, change ...func(*http.Request)) *reader {
	t.Helper()
	r := p.open(t, path, change...)
	if r.body.StatusCode != http.StatusOK {
		t.Fatalf("follow %s: %s", path, r.body.Status)
	}
	return r
}

// status asks for a stream, and leaves it.
func (p *pipes) status(t *testing.T, path string) int {
	t.Helper()
	r := p.open(t, path)
	defer r.conn.Close()
	return r.body.StatusCode
}

func (p *pipes) open(t *testing.T, path string, change ...func(*http.Request)) *reader {
	t.Helper()
	near := p.Dial()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	for _, c := range change {
		c(r)
	}
	if err := r.Write(near); err != nil {
		t.Fatalf("ask: %v", err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(near), r)
	if err != nil {
		t.Fatalf("read answer: %v", err)
	}
	t.Cleanup(func() { near.Close() })
	return &reader{t: t, conn: near, body: resp, lines: bufio.NewReader(resp.Body)}
}

// event is one of a stream: an entry, the end, or a comment.
type event struct {
	ID, Event, Comment string
	Entry              turn.Entry
}

// next reads an event; false when the stream is over.
func (r *reader) next() (event, bool) {
	r.t.Helper()
	var e event
	for said := false; ; {
		line, err := r.lines.ReadString('\n')
		if err != nil {
			return e, false
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch {
		case line == "\n" && said:
			return e, true
		case name == "id":
			e.ID, said = value, true
		case name == "event":
			e.Event, said = value, true
		case name == "data" && e.Event != "end":
			if err := json.Unmarshal([]byte(value), &e.Entry); err != nil {
				r.t.Errorf("read entry %q: %v", value, err)
			}
		case name == "" && value != "":
			e.Comment, said = value, true
		}
	}
}

// rest reads to the end of the stream.
func (r *reader) rest() []event {
	r.t.Helper()
	var all []event
	for {
		e, ok := r.next()
		if !ok {
			return all
		}
		all = append(all, e)
	}
}

// ids tells events shortly: the id of an entry, else what it is.
func ids(events []event) string {
	var all []string
	for _, e := range events {
		all = append(all, short(e))
	}
	return strings.Join(all, " ")
}

func short(e event) string {
	switch {
	case e.ID != "":
		return e.ID + ":" + e.Event
	case e.Comment != "":
		return "beat"
	}
	return e.Event
}
