package deepgramtest_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"headstart/turn/stt/deepgram/deepgramtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const options = "/v1/listen?model=nova-3&encoding=linear16&sample_rate=16000"

// start serves a script on a socket of its own.
func start(t *testing.T, script deepgramtest.Script) (*deepgramtest.Server, *httptest.Server) {
	t.Helper()
	server := deepgramtest.New(script)
	listener := httptest.NewServer(server)
	t.Cleanup(func() {
		server.Close()
		listener.Close()
	})
	return server, listener
}

// open makes a connection with the plain library, not with our client.
func open(ctx context.Context, t *testing.T, at *httptest.Server) *websocket.Conn {
	t.Helper()
	conn, _, err := websocket.Dial(ctx, at.URL+options, &websocket.DialOptions{HTTPClient: at.Client(), HTTPHeader: http.Header{"Authorization": {"Token key"}}})
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	return conn
}

func tone(d time.Duration, level int16) []byte {
	var data []byte
	for range d * 16000 / time.Second {
		data = binary.LittleEndian.AppendUint16(data, uint16(level))
	}
	return data
}

// TestWire holds the messages, field by field, of an utterance that is
// finalised and a stream that is closed. It holds no silence, so that the clock
// of the wall has no say.
func TestWire(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	server, at := start(t, deepgramtest.Script{Utterances: []deepgramtest.Utterance{{Text: "sí claro", Speech: 400 * time.Millisecond}}})
	conn := open(ctx, t, at)
	frames := []struct {
		kind websocket.MessageType
		data []byte
	}{
		{websocket.MessageBinary, tone(240*time.Millisecond, 5000)},
		{websocket.MessageText, []byte(`{"type":"KeepAlive"}`)},
		{websocket.MessageBinary, tone(160*time.Millisecond, 5000)},
		{websocket.MessageText, []byte(`{"type":"Finalize"}`)},
		{websocket.MessageText, []byte(`{"type":"CloseStream"}`)},
	}
	for _, f := range frames {
		if err := conn.Write(ctx, f.kind, f.data); err != nil {
			t.Fatalf("write: %v", err)
		}
	}
	type line struct {
		Type                           string
		Text                           string
		Start, Duration                float64
		Final, Endpoint, Asked, Closed bool
	}
	var got []line
	for {
		_, data, err := conn.Read(ctx)
		if websocket.CloseStatus(err) == websocket.StatusNormalClosure {
			got = append(got, line{Closed: true})
			break
		}
		if err != nil {
			t.Fatalf("read: %v", err)
		}
		var m struct {
			Type         string          `json:"type"`
			Start        float64         `json:"start"`
			Duration     float64         `json:"duration"`
			IsFinal      bool            `json:"is_final"`
			SpeechFinal  bool            `json:"speech_final"`
			FromFinalize bool            `json:"from_finalize"`
			Channel      json.RawMessage `json:"channel"`
		}
		if err := json.Unmarshal(data, &m); err != nil {
			t.Fatalf("read %s: %v", data, err)
		}
		var channel struct {
			Alternatives []struct {
				Transcript string `json:"transcript"`
			} `json:"alternatives"`
		}
		text := ""
		if m.Type == "Results" {
			if err := json.Unmarshal(m.Channel, &channel); err != nil {
				t.Fatalf("read %s: %v", data, err)
			}
			text = channel.Alternatives[0].Transcript
		}
		got = append(got, line{Type: m.Type, Text: text, Start: m.Start, Duration: m.Duration, Final: m.IsFinal, Endpoint: m.SpeechFinal, Asked: m.FromFinalize})
	}
	want := []line{
		{Type: "SpeechStarted"},
		{Type: "Results", Text: "sí", Duration: 0.2},
		{Type: "Results", Text: "sí", Duration: 0.3},
		{Type: "Results", Text: "sí claro", Duration: 0.4},
		{Type: "Results", Text: "sí claro", Duration: 0.4, Final: true, Asked: true},
		{Type: "Results", Start: 0.4, Final: true, Endpoint: true},
		{Type: "Metadata", Duration: 0.4},
		{Closed: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("messages (-want +got):\n%s", diff)
	}
	record := server.Record()
	if diff := cmp.Diff([]string{"KeepAlive", "Finalize", "CloseStream"}, record.Control); diff != "" || len(record.Complaints) > 0 {
		t.Fatalf("control (-want +got), complaints %q:\n%s", record.Complaints, diff)
	}
}

func TestControlEndpoint(t *testing.T) {
	t.Parallel()
	server, at := start(t, deepgramtest.Script{Key: "key"})
	do := func(method, body string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), method, at.URL+"/fakes/stt", strings.NewReader(body))
		if err != nil {
			t.Fatalf("make request: %v", err)
		}
		resp, err := at.Client().Do(req)
		if err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		defer func() { _ = resp.Body.Close() }()
		var text strings.Builder
		_ = resp.Write(&text)
		return resp.StatusCode, text.String()
	}
	if status, _ := do(http.MethodPut, `{"faults":[{"kind":"refuse","status":500,"times":1}]}`); status != http.StatusNoContent {
		t.Fatalf("put: %d", status)
	}
	for n, want := range []int{500, 101} {
		conn, resp, err := websocket.Dial(t.Context(), at.URL+options, &websocket.DialOptions{HTTPClient: at.Client(), HTTPHeader: http.Header{"Authorization": {"Token key"}}})
		if resp == nil || resp.StatusCode != want {
			t.Fatalf("dial %d: %v, want %d", n, err, want)
		}
		if err == nil {
			_ = conn.CloseNow()
		}
	}
	if status, _ := do(http.MethodPut, `{"faults":[{"kind":"explode"}]}`); status != http.StatusBadRequest {
		t.Fatalf("put an unknown fault: %d", status)
	}
	if status, text := do(http.MethodGet, ""); status != http.StatusOK || !strings.Contains(text, `"refused":1`) {
		t.Fatalf("get: %d %s", status, text)
	}
	if status, _ := do(http.MethodDelete, ""); status != http.StatusNoContent || server.Record().Refused != 1 {
		t.Fatalf("delete: %d", status)
	}
}

func TestChecksHandshakes(t *testing.T) {
	t.Parallel()
	_, at := start(t, deepgramtest.Script{Key: "key"})
	tests := []struct {
		name, query, authorization string
		want                       int
	}{
		{"no key", options, "", 401},
		{"wrong key", options, "Token other", 401},
		{"no model", "/v1/listen?encoding=linear16&sample_rate=16000", "Token key", 400},
		{"wrong encoding", "/v1/listen?model=nova-3&encoding=opus&sample_rate=16000", "Token key", 400},
		{"no rate", "/v1/listen?model=nova-3&encoding=linear16", "Bearer key", 400},
		{"two channels", options + "&channels=2", "Token key", 400},
	}
	for _, test := range tests {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at.URL+test.query, nil)
		if err != nil {
			t.Fatalf("make request: %v", err)
		}
		req.Header.Set("Authorization", test.authorization)
		resp, err := at.Client().Do(req)
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != test.want {
			t.Errorf("%s: %d, want %d", test.name, resp.StatusCode, test.want)
		}
	}
}
