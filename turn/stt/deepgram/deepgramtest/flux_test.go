package deepgramtest_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"headstart/turn/stt/deepgram/deepgramtest"
)

const fluxOptions = "/v2/listen?model=flux-general-multi&encoding=linear16&sample_rate=16000"

// TestFluxWire holds the messages of a turn, field by field, against what the
// plain library reads. Silence is sent as audio, so that the wall's clock has
// no say.
func TestFluxWire(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	server, at := start(t, deepgramtest.Script{Utterances: []deepgramtest.Utterance{{Text: "sí claro", Speech: 400 * time.Millisecond}}})
	conn, _, err := websocket.Dial(ctx, at.URL+fluxOptions+"&eager_eot_threshold=0.5", &websocket.DialOptions{HTTPClient: at.Client(), HTTPHeader: http.Header{"Authorization": {"Token key"}}})
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	for _, f := range []struct {
		kind websocket.MessageType
		data []byte
	}{
		{websocket.MessageBinary, append(tone(400*time.Millisecond, 5000), tone(200*time.Millisecond, 0)...)},
		{websocket.MessageText, []byte(`{"type":"Configure","keyterms":["Bupa"]}`)},
		{websocket.MessageText, []byte(`{"type":"CloseStream"}`)},
	} {
		if err := conn.Write(ctx, f.kind, f.data); err != nil {
			t.Fatalf("write: %v", err)
		}
	}
	type line struct {
		Type, Event, Transcript string
		Sequence                int     `json:"sequence_id"`
		Turn                    int     `json:"turn_index"`
		Until                   float64 `json:"audio_window_end"`
	}
	var got []line
	for {
		_, data, err := conn.Read(ctx)
		if websocket.CloseStatus(err) == websocket.StatusNormalClosure {
			break
		}
		if err != nil {
			t.Fatalf("read: %v", err)
		}
		var m line
		if err := json.Unmarshal(data, &m); err != nil {
			t.Fatalf("read %s: %v", data, err)
		}
		got = append(got, m)
	}
	want := []line{
		{Type: "Connected"},
		{Type: "TurnInfo", Event: "StartOfTurn", Sequence: 1, Until: 0.01},
		{Type: "TurnInfo", Event: "Update", Transcript: "sí", Sequence: 2, Until: 0.25},
		{Type: "TurnInfo", Event: "EagerEndOfTurn", Transcript: "sí claro", Sequence: 3, Until: 0.46},
		{Type: "TurnInfo", Event: "Update", Transcript: "sí claro", Sequence: 4, Until: 0.5},
		{Type: "TurnInfo", Event: "EndOfTurn", Transcript: "sí claro", Sequence: 5, Until: 0.55},
		{Type: "ConfigureSuccess", Sequence: 6},
		{Type: "TurnInfo", Event: "Update", Sequence: 7, Turn: 1, Until: 0.6},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("messages (-want +got):\n%s", diff)
	}
	if complaints := server.Record().Complaints; len(complaints) > 0 {
		t.Fatalf("complaints %q", complaints)
	}
}

func TestFluxChecksHandshakes(t *testing.T) {
	t.Parallel()
	_, at := start(t, deepgramtest.Script{Key: "key"})
	for _, test := range []struct{ name, query string }{
		{"an option of v1", fluxOptions + "&interim_results=true"},
		{"a model of v1", "/v2/listen?model=nova-3&encoding=linear16&sample_rate=16000"},
		{"too sure", fluxOptions + "&eot_threshold=0.95"},
		{"no number", fluxOptions + "&eot_threshold=high"},
		{"a guess surer than the end", fluxOptions + "&eager_eot_threshold=0.8"},
		{"too short a timeout", fluxOptions + "&eot_timeout_ms=100"},
		{"a hint for one language", "/v2/listen?model=flux-general-en&encoding=linear16&sample_rate=16000&language_hint=en"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at.URL+test.query, nil)
		if err != nil {
			t.Fatalf("make request: %v", err)
		}
		req.Header.Set("Authorization", "Token key")
		resp, err := at.Client().Do(req)
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %d, want 400", test.name, resp.StatusCode)
		}
	}
}
