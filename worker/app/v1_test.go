package app_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/zap"

	"headstart/worker/api/v1"
	"headstart/worker/app"
	"headstart/worker/calllog"
	"headstart/worker/calllog/calllogtest"
)

// Over a real socket, at /v1: who shows no key, or comes from a page, is refused;
// who is let in is told when the process ends.
func TestAppsComeByTheOperatorsDoor(t *testing.T) {
	t.Parallel()
	store := &calllogtest.Store{}
	book, err := calllog.Open(calllog.Config{Dir: t.TempDir()}, store, zap.NewNop())
	if err != nil {
		t.Fatalf("open book: %v", err)
	}
	defer book.Close()
	const key = "a key of the test's"
	cfg := v1.Config{Addr: "127.0.0.1:0", Key: key, Apps: app.New(app.Config{Agents: []string{agent}}, book, zap.NewNop())}
	server, err := v1.Listen(t.Context(), cfg, book, store, zap.NewNop())
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	process, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(process) }()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	dial := func(header http.Header) (*websocket.Conn, int) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		conn, resp, err := websocket.Dial(ctx, "ws://"+server.Addr()+"/v1/app", &websocket.DialOptions{HTTPClient: client, HTTPHeader: header})
		if resp == nil {
			t.Fatalf("dial: %v", err)
		}
		return conn, resp.StatusCode
	}
	shown := http.Header{"Authorization": {"Bearer " + key}}
	for name, tt := range map[string]struct {
		header http.Header
		want   int
	}{
		"no key":    {nil, http.StatusUnauthorized},
		"wrong key": {http.Header{"Authorization": {"Bearer nope"}}, http.StatusUnauthorized},
		"a page":    {http.Header{"Authorization": {"Bearer " + key}, "Origin": {"http://elsewhere.test"}}, http.StatusForbidden},
	} {
		if _, status := dial(tt.header); status != tt.want {
			t.Fatalf("%s: status %d, want %d", name, status, tt.want)
		}
	}
	conn, status := dial(shown)
	equal(t, "status", http.StatusSwitchingProtocols, status)
	b := &business{t, conn}
	defer b.die()
	b.send(`{"type": "ping", "agent": "clinica", "call": null, "id": "p"}`)
	b.expect("pong", `{"id": "p"}`)
	end()
	b.over()
	if err := <-ended; err != nil {
		t.Fatalf("run: %v", err)
	}
}
