package auratest_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"headstart/turn/tts/aura/auratest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const options = "/v1/speak?model=aura-2-celeste-es&encoding=linear16&sample_rate=8000"

func start(t *testing.T) (*auratest.Server, *httptest.Server) {
	t.Helper()
	server := auratest.New(auratest.Options{Key: "key"})
	listener := httptest.NewServer(server)
	t.Cleanup(func() {
		server.Close()
		listener.Close()
	})
	return server, listener
}

// TestWire talks with the plain library, not with our client.
func TestWire(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	server, at := start(t)
	conn, _, err := websocket.Dial(ctx, at.URL+options, &websocket.DialOptions{HTTPClient: at.Client(), HTTPHeader: http.Header{"Authorization": {"Token key"}}})
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	defer func() { _ = conn.CloseNow() }()
	send := func(messages ...string) {
		for _, m := range messages {
			if err := conn.Write(ctx, websocket.MessageText, []byte(m)); err != nil {
				t.Fatalf("write: %v", err)
			}
		}
	}
	// read gives the types of the messages up to one, and the bytes of audio.
	read := func(until string) (types []string, audio int) {
		for {
			kind, data, err := conn.Read(ctx)
			if err != nil {
				t.Fatalf("read: %v", err)
			}
			if kind == websocket.MessageBinary {
				audio += len(data)
				continue
			}
			var m struct{ Type string }
			if err := json.Unmarshal(data, &m); err != nil {
				t.Fatalf("read %s: %v", data, err)
			}
			if types = append(types, m.Type); m.Type == until {
				return types, audio
			}
		}
	}
	send(`{"type":"Speak","text":"Hola, "}`, `{"type":"Speak","text":"buenas"}`, `{"type":"Flush"}`)
	if types, audio := read("Flushed"); audio != 12*12*8*2 || cmp.Diff([]string{"Metadata", "Flushed"}, types) != "" {
		t.Fatalf("%d bytes and %q, want 12 ms for each of 12 characters at 8 kHz", audio, types)
	}
	send(`{"type":"Speak","text":"nada de esto"}`, `{"type":"Clear"}`, `{"type":"Flush"}`)
	if types, audio := read("Flushed"); audio != 0 || cmp.Diff([]string{"Cleared", "Flushed"}, types) != "" {
		t.Fatalf("%d bytes and %q after a clear", audio, types)
	}
	for range 18 {
		send(`{"type":"Flush"}`)
		read("Flushed")
	}
	send(`{"type":"Flush"}`)
	read("Warning")
	if r := server.Record(); r.Flushes != 21 || r.Warnings != 1 || r.Clears != 1 || len(r.Complaints) > 0 {
		t.Fatalf("record %+v", r)
	}
	send(`{"type":"Close"}`)
	if _, _, err := conn.Read(ctx); websocket.CloseStatus(err) != websocket.StatusNormalClosure {
		t.Fatalf("close: %v", err)
	}
}

func TestChecksHandshakesAndTakesFaults(t *testing.T) {
	t.Parallel()
	_, at := start(t)
	do := func(method, path, key, body string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), method, at.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatalf("make request: %v", err)
		}
		req.Header.Set("Authorization", key)
		resp, err := at.Client().Do(req)
		if err != nil {
			t.Fatalf("%s %s: %v", method, path, err)
		}
		defer func() { _ = resp.Body.Close() }()
		var text strings.Builder
		_ = resp.Write(&text)
		return resp.StatusCode, text.String()
	}
	for _, c := range []struct {
		query, key string
		want       int
	}{
		{options, "", 401},
		{options, "Token other", 401},
		{"/v1/speak?encoding=linear16&sample_rate=8000", "Token key", 400},
		{"/v1/speak?model=aura-2-x-es&encoding=mp3&sample_rate=8000", "Token key", 400},
		{"/v1/speak?model=aura-2-x-es&encoding=linear16&sample_rate=22050", "Bearer key", 400},
	} {
		if got, _ := do(http.MethodGet, c.query, c.key, ""); got != c.want {
			t.Errorf("%s with %q: %d, want %d", c.query, c.key, got, c.want)
		}
	}
	if status, text := do(http.MethodPost, "/fakes/aura", "", `{"fault":"error","status":429,"times":1}`); status != 200 || !strings.Contains(text, `"status":429`) {
		t.Fatalf("set a fault: %d %s", status, text)
	}
	if got, _ := do(http.MethodGet, options, "Token key", ""); got != 429 {
		t.Fatalf("handshake: %d, want the fault's 429", got)
	}
	if status, _ := do(http.MethodPost, "/fakes/aura", "", `{`); status != 400 {
		t.Fatalf("set nonsense: %d", status)
	}
}
