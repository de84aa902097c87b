package v1_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"headstart/turn"
	v1 "headstart/worker/api/v1"
	"headstart/worker/calllog"
	"headstart/worker/calllog/calllogtest"
)

func TestRequestsThatAreRefused(t *testing.T) {
	t.Parallel()
	d := newDesk(t, calllog.Config{})
	d.begin("call-1").Append(turn.CallStarted{})
	open, locked := v1.Config{Agents: []string{"quiet"}}, v1.Config{Key: "s3cret"}
	for _, c := range []struct {
		name, method, path string
		cfg                v1.Config
		change             func(*http.Request)
		status             int
		code               string
	}{
		{"a call", "GET", "/v1/calls/call-1", open, host("127.0.0.1:8080"), 200, ""},
		{"a call over IPv6", "GET", "/v1/calls/call-1", open, host("[::1]:8080"), 200, ""},
		{"another name", "GET", "/v1/calls/call-1", open, host("evil.example"), 421, "host"},
		{"a name that begins alike", "GET", "/v1/calls", open, host("127.0.0.1.evil.example"), 421, "host"},
		{"no name", "GET", "/v1/calls", open, host(""), 421, "host"},
		{"the key under any name", "GET", "/v1/calls", locked, func(r *http.Request) {
			host("worker-3.example")(r)
			header("Authorization", "Bearer s3cret")(r)
		}, 200, ""},
		{"no key", "GET", "/v1/calls", locked, nil, 401, "key"},
		{"a wrong key", "GET", "/v1/calls/call-1/log", locked, header("Authorization", "Bearer s3crets"), 401, "key"},
		{"an empty key", "GET", "/v1/calls", locked, header("Authorization", "Bearer "), 401, "key"},
		{"the key in another scheme", "GET", "/v1/calls", locked, header("Authorization", "Basic s3cret"), 401, "key"},
		{"a path that is not there, without the key", "GET", "/v2", locked, nil, 401, "key"},
		{"an unknown call", "GET", "/v1/calls/call-2", open, nil, 404, "call"},
		{"an unknown call's log", "GET", "/v1/calls/call-2/log", open, nil, 404, "call"},
		{"an unknown call's stream", "GET", "/v1/calls/call-2/log", open, header("Accept", "text/event-stream"), 404, "call"},
		{"an agent's log is no call's", "GET", "/v1/calls/@quiet/log", open, nil, 404, "call"},
		{"an unknown agent", "GET", "/v1/agents/nobody/log", open, nil, 404, "agent"},
		{"an agent that wrote nothing", "GET", "/v1/agents/quiet/log", open, nil, 200, ""},
		{"no number", "GET", "/v1/calls?limit=x", open, nil, 400, "limit"},
		{"no calls", "GET", "/v1/calls?limit=0", open, nil, 400, "limit"},
		{"too many calls", "GET", "/v1/calls?limit=1001", open, nil, 400, "limit"},
		{"too many entries", "GET", "/v1/calls/call-1/log?limit=1001", open, nil, 400, "limit"},
		{"before the first", "GET", "/v1/calls/call-1/log?after=-1", open, nil, 400, "after"},
		{"a stream after no number", "GET", "/v1/calls/call-1/log?after=x", open, header("Accept", "text/event-stream"), 400, "after"},
		{"nothing is changed here", "DELETE", "/v1/calls/call-1", open, nil, 405, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			change := c.change
			if change == nil {
				change = func(*http.Request) {}
			}
			w := d.ask(c.cfg, c.method, c.path, change)
			if w.Code != c.status {
				t.Fatalf("%d %s, want %d", w.Code, w.Body, c.status)
			}
			if c.code == "" {
				return
			}
			equal(t, "code", c.code, field[string](t, w, "code"))
			if c.status == 401 && w.Header().Get("WWW-Authenticate") != "Bearer" {
				t.Fatalf("headers %v", w.Header())
			}
		})
	}
}

// The list joins what the process knows and what the store does, each call
// once, as it is now, and of this org alone.
func TestCallsAreListedNewestFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, calllog.Config{})
		for _, id := range []string{"old", "middle", "new"} {
			d.begin(id).Append(turn.CallStarted{})
			time.Sleep(time.Second)
		}
		d.ship()
		d.begin("newest").Append(turn.CallStarted{}) // the store does not know it yet
		foreign := turn.Entry{Seq: 1, Call: "theirs", Agent: "a", Type: "call.started", Time: time.Now()}
		err := d.store.Append(t.Context(), calllog.Batch{Org: "other", Entries: []turn.Entry{foreign}, Calls: []calllog.Call{{Org: "other", ID: "theirs"}}})
		if err != nil {
			t.Fatal(err)
		}
		list := func(path string) (ids []string) {
			w := d.ask(v1.Config{}, "GET", path)
			for _, c := range field[[]calllog.Call](t, w, "calls") {
				ids = append(ids, c.ID)
			}
			return ids
		}
		equal(t, "all", []string{"newest", "new", "middle", "old"}, list("/v1/calls"))
		equal(t, "two", []string{"newest", "new"}, list("/v1/calls?limit=2"))
	})
}

func TestACallAtAGlance(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, calllog.Config{})
		log := d.begin("call-1")
		log.Append(turn.CallStarted{})
		const going = `{"id":"call-1","agent":"clinica","started":"2000-01-01T00:00:00Z","sealed":false}`
		equal(t, "while it goes on", going, strings.TrimSpace(d.ask(v1.Config{}, "GET", "/v1/calls/call-1").Body.String()))
		time.Sleep(2 * time.Second)
		log.Append(turn.CallEnded{Reason: "caller_hung_up"})
		log.Seal()
		const over = `{"id":"call-1","agent":"clinica","started":"2000-01-01T00:00:00Z","ended":"2000-01-01T00:00:02Z","reason":"caller_hung_up","sealed":true}`
		equal(t, "in the process", over, strings.TrimSpace(d.ask(v1.Config{}, "GET", "/v1/calls/call-1").Body.String()))
		d.ship()
		if len(d.book.Live()) != 0 {
			t.Fatal("the book still holds the call")
		}
		equal(t, "in the store", over, strings.TrimSpace(d.ask(v1.Config{}, "GET", "/v1/calls/call-1").Body.String()))
	})
}

// A log is read in pages, in the shape of the wire.
func TestALogInPages(t *testing.T) {
	t.Parallel()
	d := newDesk(t, calllog.Config{})
	log := d.begin("call-1")
	log.Append(turn.CallStarted{Room: "r"})
	log.Append(turn.VAD{Speaking: true})
	log.Append(turn.DTMF{Digit: "1"})
	log.Seal()
	type piece struct {
		Entries []json.RawMessage
		Highest int64
		Sealed  bool
	}
	get := func(path string) (p piece) {
		w := d.ask(v1.Config{}, "GET", path)
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s, %v", path, w.Code, w.Body, err)
		}
		return p
	}
	first, second := get("/v1/calls/call-1/log?limit=3"), get("/v1/calls/call-1/log?after=3&limit=3")
	if len(first.Entries) != 3 || len(second.Entries) != 2 || first.Highest != 5 || !second.Sealed {
		t.Fatalf("pages %+v, %+v", first, second)
	}
	whole, err := d.book.Read(t.Context(), "call-1", 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	for i, raw := range append(first.Entries, second.Entries...) {
		want, err := json.Marshal(whole.Entries[i])
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "entry", string(want), string(raw))
	}
	if past := get("/v1/calls/call-1/log?after=5"); past.Entries == nil || len(past.Entries) != 0 {
		t.Fatalf("after the last: %+v", past)
	}
	d.ship() // from here on the store answers, without what was ephemeral
	if stored := get("/v1/calls/call-1/log"); len(stored.Entries) != 4 || !stored.Sealed {
		t.Fatalf("from the store: %+v", stored)
	}
}

// A store that is away costs what only it knows.
func TestTheStoreIsAway(t *testing.T) {
	t.Parallel()
	d := newDesk(t, calllog.Config{})
	d.begin("call-1").Append(turn.CallStarted{})
	d.store.Fail(errors.New("away"))
	for path, want := range map[string]int{
		"/v1/calls/call-1": 200, "/v1/calls/call-1/log": 200,
		"/v1/calls": 503, "/v1/calls/call-2": 503, "/v1/calls/call-2/log": 503, "/v1/agents/a/log": 503,
	} {
		if w := d.ask(v1.Config{}, "GET", path); w.Code != want || strings.Contains(w.Body.String(), "away") {
			t.Errorf("%s: %d %s, want %d and nothing of the cause", path, w.Code, w.Body, want)
		}
	}
}

func TestAnAgentsLog(t *testing.T) {
	t.Parallel()
	d := newDesk(t, calllog.Config{})
	log, err := d.book.BeginAgent(t.Context(), "clinica")
	if err != nil {
		t.Fatal(err)
	}
	log.Append(turn.DTMF{Digit: "1"})
	w := d.ask(v1.Config{}, "GET", "/v1/agents/clinica/log")
	entries := field[[]turn.Entry](t, w, "entries")
	if len(entries) != 1 || entries[0].Call != "" || entries[0].Agent != "clinica" || !strings.Contains(w.Body.String(), `"call":null`) {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
}

func TestWhereToListen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		addr, key string
		ok        bool
	}{
		{"127.0.0.1:0", "", true}, {"localhost:0", "", true}, {"127.8.9.1:0", "", true},
		{"0.0.0.0:0", "", false}, {":0", "", false}, {"[::]:0", "", false}, {"worker.example:0", "", false},
		{"127.0.0.1", "", false}, {"", "", false},
		{"0.0.0.0:0", "k", true}, {":0", "k", true}, {"", "k", false},
	} {
		err := v1.Config{Addr: c.addr, Key: c.key}.Validate()
		if (err == nil) != c.ok {
			t.Errorf("%q with key %q: %v", c.addr, c.key, err)
		}
	}
	d := newDesk(t, calllog.Config{})
	server, err := v1.Listen(t.Context(), v1.Config{Addr: "127.0.0.1:0"}, d.book, &calllogtest.Store{}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v1.Listen(t.Context(), v1.Config{Addr: server.Addr()}, d.book, &calllogtest.Store{}, zap.NewNop()); err == nil {
		t.Fatal("a taken port was taken again")
	}
	if err := errors.Join(server.Close(), server.Close()); err != nil {
		t.Fatal(err)
	}
}
