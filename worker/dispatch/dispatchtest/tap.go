package dispatchtest

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"

	"github.com/coder/websocket"
	"github.com/livekit/protocol/livekit"
	"google.golang.org/protobuf/proto"
)

// Tap stands between a worker and a real LiveKit server, hands each message on
// as it is, and notes how jobs are reported.
type Tap struct {
	// URL is where the worker registers. Rooms are joined at the server itself.
	URL string

	t      testing.TB
	target *url.URL

	mu         sync.Mutex // guards what follows: connections write, the test reads
	updates    map[string][]livekit.JobStatus
	terminated map[string]bool
}

// NewTap stands before a server until the test ends.
func NewTap(t testing.TB, server string) *Tap {
	t.Helper()
	target, err := url.Parse(server)
	if err != nil {
		t.Fatalf("read address: %v", err)
	}
	target.Path = "/agent"
	tap := &Tap{t: t, target: target, updates: map[string][]livekit.JobStatus{}, terminated: map[string]bool{}}
	web := httptest.NewServer(http.HandlerFunc(tap.serve))
	t.Cleanup(web.Close)
	tap.URL = "ws" + web.URL[len("http"):]
	return tap
}

// Updates returns the states reported of each job, in their order.
func (tap *Tap) Updates() map[string][]livekit.JobStatus {
	tap.mu.Lock()
	defer tap.mu.Unlock()
	all := make(map[string][]livekit.JobStatus, len(tap.updates))
	for id, states := range tap.updates {
		all[id] = append([]livekit.JobStatus(nil), states...)
	}
	return all
}

// Terminated returns the jobs that LiveKit ended.
func (tap *Tap) Terminated() map[string]bool {
	tap.mu.Lock()
	defer tap.mu.Unlock()
	return maps.Clone(tap.terminated)
}

func (tap *Tap) serve(w http.ResponseWriter, r *http.Request) {
	target := *tap.target
	target.RawQuery = r.URL.RawQuery
	far, _, err := websocket.Dial(r.Context(), target.String(), &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": r.Header["Authorization"]},
	})
	if err != nil {
		tap.t.Errorf("dial livekit: %v", err)
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer far.CloseNow()
	near, err := websocket.Accept(w, r, nil)
	if err != nil {
		tap.t.Errorf("accept worker: %v", err)
		return
	}
	defer near.CloseNow()
	near.SetReadLimit(-1)
	far.SetReadLimit(-1)
	ctx, over := context.WithCancel(context.WithoutCancel(r.Context())) // the connection is hijacked: either end ends it
	var back sync.WaitGroup
	back.Go(func() {
		defer over()
		relay(ctx, far, near, tap.noteServer)
	})
	relay(ctx, near, far, tap.note)
	over()
	back.Wait()
}

// relay hands messages on until one end is gone.
func relay(ctx context.Context, from, to *websocket.Conn, note func([]byte)) {
	for {
		kind, message, err := from.Read(ctx)
		if err != nil {
			return
		}
		note(message)
		if to.Write(ctx, kind, message) != nil {
			return
		}
	}
}

func (tap *Tap) note(message []byte) {
	var m livekit.WorkerMessage
	if err := proto.Unmarshal(message, &m); err != nil {
		tap.t.Errorf("read worker message: %v", err)
		return
	}
	u := m.GetUpdateJob()
	if u == nil {
		return
	}
	tap.mu.Lock()
	defer tap.mu.Unlock()
	tap.updates[u.GetJobId()] = append(tap.updates[u.GetJobId()], u.GetStatus())
}

func (tap *Tap) noteServer(message []byte) {
	var m livekit.ServerMessage
	if err := proto.Unmarshal(message, &m); err != nil {
		tap.t.Errorf("read server message: %v", err)
		return
	}
	if ended := m.GetTermination(); ended != nil {
		tap.mu.Lock()
		defer tap.mu.Unlock()
		tap.terminated[ended.GetJobId()] = true
	}
}
