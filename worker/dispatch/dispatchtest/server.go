// Package dispatchtest is a LiveKit agent endpoint in memory, for tests of what
// registers with it. It speaks the real protocol over pipes, so that it works
// in a synctest bubble, where time is exact.
//
// It owns no policy: a test offers, assigns and terminates, and reads what the
// worker sent and when. It fails the test on a frame that is no worker
// message, and on a first message that is no registration.
package dispatchtest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/livekit/protocol/auth"
	"github.com/livekit/protocol/livekit"
	"google.golang.org/protobuf/proto"
)

// The keys that the server knows, and its address.
const (
	URL    = "ws://livekit.test/prefix/"
	Key    = "APItest"
	Secret = "a secret of the test server's own"
)

// Server is the endpoint.
type Server struct {
	t      testing.TB
	pipes  chan net.Conn
	closed chan struct{}
	conns  chan *Conn

	mu     sync.Mutex // guards all below: the test writes, requests read
	status int        // answered instead of a websocket; 0 is none
	down   bool
	mute   bool
	deaf   bool
	frozen chan struct{} // nil, or closed when reading may go on
	dials  []time.Time
}

// NewServer starts an endpoint that ends with the test.
func NewServer(t testing.TB) *Server {
	s := &Server{
		t:      t,
		pipes:  make(chan net.Conn),
		closed: make(chan struct{}),
		conns:  make(chan *Conn, 64),
	}
	web := &http.Server{Handler: http.HandlerFunc(s.serve)}
	done := make(chan error, 1)
	go func() { done <- web.Serve(listener{s}) }()
	t.Cleanup(func() {
		_ = web.Close()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("serve: %v", err)
		}
	})
	return s
}

// HTTPClient dials the server, whatever the address.
func (s *Server) HTTPClient() *http.Client {
	transport := &http.Transport{DialContext: s.dial, DisableKeepAlives: true}
	return &http.Client{Transport: transport}
}

// Refuse answers each dial with an HTTP status; 0 ends that.
func (s *Server) Refuse(status int) { s.set(func() { s.status = status }) }

// Down fails each dial while it is true.
func (s *Server) Down(down bool) { s.set(func() { s.down = down }) }

// Mute leaves each registration without an answer while it is true.
func (s *Server) Mute(mute bool) { s.set(func() { s.mute = mute }) }

// Deaf answers no ping of connections made while it is true.
func (s *Server) Deaf(deaf bool) { s.set(func() { s.deaf = deaf }) }

// Dials tells when the server was dialled.
func (s *Server) Dials() []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]time.Time(nil), s.dials...)
}

// Conn waits for the next worker that registers.
func (s *Server) Conn(ctx context.Context) *Conn {
	s.t.Helper()
	select {
	case c := <-s.conns:
		return c
	case <-ctx.Done():
		s.t.Fatalf("wait for a worker: %v", context.Cause(ctx))
		return nil
	}
}

func (s *Server) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *Server) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	s.mu.Lock()
	s.dials = append(s.dials, time.Now())
	down := s.down
	s.mu.Unlock()
	if down {
		return nil, errors.New("connection refused, as the test asked")
	}
	near, far := net.Pipe()
	select {
	case s.pipes <- far:
		return near, nil
	case <-s.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// refusal is the status for a request that gets no websocket; 0 for one that
// does.
func (s *Server) refusal(r *http.Request) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status != 0 {
		return s.status
	}
	if r.URL.Path != "/prefix/agent" || r.URL.Query().Get("protocol") != "1" {
		return http.StatusNotFound
	}
	token := r.Header.Get("Authorization")
	if len(token) < 7 || token[:7] != "Bearer " {
		return http.StatusUnauthorized
	}
	verifier, err := auth.ParseAPIToken(token[7:])
	if err != nil || verifier.APIKey() != Key {
		return http.StatusUnauthorized
	}
	if _, grants, err := verifier.Verify(Secret); err != nil || grants.Video == nil || !grants.Video.Agent {
		return http.StatusUnauthorized
	}
	return 0
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if status := s.refusal(r); status != 0 {
		w.WriteHeader(status)
		return
	}
	s.mu.Lock()
	mute, deaf := s.mute, s.deaf
	s.mu.Unlock()
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		OnPingReceived: func(context.Context, []byte) bool { return !deaf },
	})
	if err != nil {
		s.t.Errorf("accept worker: %v", err)
		return
	}
	defer ws.CloseNow()
	c := &Conn{t: s.t, ws: ws}
	first, err := c.read()
	if err != nil {
		return
	}
	if c.Registration = first.GetRegister(); c.Registration == nil {
		s.t.Errorf("first message is %T, want a registration", first.GetMessage())
		return
	}
	if !mute {
		c.send(&livekit.ServerMessage{Message: &livekit.ServerMessage_Register{
			Register: &livekit.RegisterWorkerResponse{WorkerId: "AW_test"},
		}})
		s.conns <- c
	}
	for err == nil {
		s.waitFrozen()
		_, err = c.read()
	}
}

// Freeze stops reading all connections, each after one more message, until the
// returned function is called: what workers write then goes nowhere.
func (s *Server) Freeze() (thaw func()) {
	frozen := make(chan struct{})
	s.set(func() { s.frozen = frozen })
	return func() {
		s.set(func() { s.frozen = nil })
		close(frozen)
	}
}

func (s *Server) waitFrozen() {
	s.mu.Lock()
	frozen := s.frozen
	s.mu.Unlock()
	if frozen != nil {
		<-frozen
	}
}

// listener hands the far ends of the pipes to the HTTP server.
type listener struct{ s *Server }

func (l listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.s.pipes:
		return c, nil
	case <-l.s.closed:
		return nil, net.ErrClosed
	}
}

func (l listener) Close() error { close(l.s.closed); return nil }

func (l listener) Addr() net.Addr { return &net.UnixAddr{Name: "livekit.test", Net: "pipe"} }

// Received is a message of the worker.
type Received struct {
	At      time.Time
	Message *livekit.WorkerMessage
}

// Conn is one registered worker connection.
type Conn struct {
	Registration *livekit.RegisterWorkerRequest

	t  testing.TB
	ws *websocket.Conn

	mu       sync.Mutex // guards received: the connection writes, the test reads
	received []Received
}

// Drop ends the connection without a word.
func (c *Conn) Drop() { _ = c.ws.CloseNow() }

// Offer asks whether the worker takes a job.
func (c *Conn) Offer(job *livekit.Job) {
	c.send(&livekit.ServerMessage{Message: &livekit.ServerMessage_Availability{
		Availability: &livekit.AvailabilityRequest{Job: job},
	}})
}

// Assign gives the worker a job.
func (c *Conn) Assign(job *livekit.Job, token string) {
	c.send(&livekit.ServerMessage{Message: &livekit.ServerMessage_Assignment{
		Assignment: &livekit.JobAssignment{Job: job, Token: token},
	}})
}

// Terminate ends a job.
func (c *Conn) Terminate(id string) {
	c.send(&livekit.ServerMessage{Message: &livekit.ServerMessage_Termination{
		Termination: &livekit.JobTermination{JobId: id},
	}})
}

// GoAway asks the worker to register elsewhere.
func (c *Conn) GoAway() {
	c.send(&livekit.ServerMessage{Message: &livekit.ServerMessage_GoAway{GoAway: &livekit.AgentHttp_GoAway{}}})
}

// Garbage sends a frame that is no server message.
func (c *Conn) Garbage() {
	if err := c.ws.Write(c.t.Context(), websocket.MessageBinary, []byte{0xff, 0xff, 0xff}); err != nil {
		c.t.Errorf("send garbage: %v", err)
	}
}

// Received returns all messages so far, the registration first.
func (c *Conn) Received() []Received {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Received(nil), c.received...)
}

// Answers returns the answers to the offers of one job, or of all for "".
func (c *Conn) Answers(id string) []*livekit.AvailabilityResponse {
	var all []*livekit.AvailabilityResponse
	for _, r := range c.Received() {
		if a := r.Message.GetAvailability(); a != nil && (id == "" || a.GetJobId() == id) {
			all = append(all, a)
		}
	}
	return all
}

// Updates returns the states reported of one job.
func (c *Conn) Updates(id string) []livekit.JobStatus {
	var all []livekit.JobStatus
	for _, r := range c.Received() {
		if u := r.Message.GetUpdateJob(); u != nil && u.GetJobId() == id {
			all = append(all, u.GetStatus())
		}
	}
	return all
}

// Statuses returns the worker's own reports.
func (c *Conn) Statuses() []*livekit.UpdateWorkerStatus {
	var all []*livekit.UpdateWorkerStatus
	for _, r := range c.Received() {
		if u := r.Message.GetUpdateWorker(); u != nil {
			all = append(all, u)
		}
	}
	return all
}

func (c *Conn) send(msg *livekit.ServerMessage) {
	data, err := proto.Marshal(msg)
	if err != nil {
		c.t.Errorf("encode server message: %v", err)
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.t.Context()), 10*time.Second)
	defer cancel()
	if err := c.ws.Write(ctx, websocket.MessageBinary, data); err != nil {
		c.t.Errorf("send server message: %v", err)
	}
}

func (c *Conn) read() (*livekit.WorkerMessage, error) {
	kind, data, err := c.ws.Read(context.WithoutCancel(c.t.Context()))
	if err != nil {
		return nil, err
	}
	msg := &livekit.WorkerMessage{}
	if err := proto.Unmarshal(data, msg); err != nil || kind != websocket.MessageBinary {
		c.t.Errorf("worker sent no worker message: %v", err)
		return nil, errors.New("no worker message")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.received = append(c.received, Received{At: time.Now(), Message: msg})
	return msg, nil
}
