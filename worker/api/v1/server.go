/*
Package v1 is the operators' API: calls, logs, documents and contacts over HTTP.

	GET /v1/calls?limit=                    the last calls, newest first
	GET /v1/calls/{id}                      one call
	GET /v1/calls/{id}/log?after=&limit=    its log
	POST /v1/calls/{id}/transfer            passes the caller on: {"to"}, answered when somebody took them
	GET /v1/agents/{slug}/log?after=&limit= an agent's own log
	GET /v1/knowledge                       the bases
	GET /v1/knowledge/{base}                one, with its files
	PUT /v1/knowledge/{base}?language=&prune=  the folder of a base, whole: a tar (gzipped or not) or a zip
	DELETE /v1/knowledge/{base}
	PUT /v1/knowledge/{base}/files/{path}   one file of it, the body as it is
	DELETE /v1/knowledge/{base}/files/{path}
	GET /v1/knowledge/{base}/search?q=&k=   what an agent would be handed, and why
	POST /v1/knowledge/{base}/eval?k=       a golden: [{asks, expects}]
	GET /v1/contacts/{id}/memory            what is remembered of a contact, and was
	PUT /v1/contacts/{id}/memory/{fact}     corrects a fact: {"text"}
	DELETE /v1/contacts/{id}/memory/{fact}  erases one
	DELETE /v1/contacts/{id}                forgets the contact, with a receipt
	POST /v1/contacts/memory/eval?agent=    a golden: [{holds, asks, expects}]
	GET /v1/app                             a WebSocket by which an app holds agents: package worker/app

A log is JSON, or, for who accepts text/event-stream, each entry as it is
written: id is its seq, event its type, data the entry. Last-Event-ID, else
after, says where a reader goes on; the stream of a call ends with the event
end, after the seal. A stream that ends without it was cut: come back with the
id of the last entry.

The package owns who may read, and the deadline of every write. It never writes
a log, touches a call only to erase a contact and to have a caller passed on, knows no visitor (that is package api's page), and
never lets a reader slow who writes the log: one that does not take what it is
sent within 5 s is cut off.

How it fails. A port that is taken, and an address that others could reach
without a key, are errors of Listen. A store that is away is a 503, except for
the calls of this process, which need none. A refusal is a status, a code for
programs and a sentence for people.
*/
package v1

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"net/http"
	"sync"
	"time"

	"go.uber.org/zap"

	"headstart/turn"
	"headstart/worker/calllog"
	"headstart/worker/port"
)

const (
	headerWithin = 5 * time.Second
	idleWithin   = time.Minute
	// maxFollowers keeps a client that opens streams without end from taking
	// the files that calls need.
	maxFollowers = 256
)

// Logs are what is read: a calllog.Book.
type Logs interface {
	// Live lists the calls whose logs this process holds.
	Live() []calllog.Call
	// Read returns a piece of a log, as calllog.Book.Read does.
	Read(ctx context.Context, log string, after int64, limit int) (calllog.Page, error)
	// Follow yields a log's entries until its seal, as calllog.Book.Follow does.
	Follow(ctx context.Context, log string, after int64) iter.Seq2[turn.Entry, error]
}

// Config says where to listen and who may read. All but Addr may stay zero.
type Config struct {
	Addr string // to listen on, "127.0.0.1:8080"; required, and on loopback unless there is a Key
	// Key must be shown as Authorization: Bearer. Empty asks for none.
	Key    string
	Org    string   // tenant of the calls; "default"
	Agents []string // slugs whose logs are there before their first entry
	// Bases are the documents; nil keeps none.
	Bases *Bases
	// Contacts is what is remembered of callers; nil keeps none.
	Contacts Contacts
	// EvalMemory asks goldens of agents' memories; nil asks none.
	EvalMemory EvalMemory
	// Transfers passes callers on; nil passes none.
	Transfers Transfers
	// Apps serves the sockets of apps: an app.Holders. nil takes none.
	Apps http.Handler
}

// Validate joins every complaint about the configuration.
func (c Config) Validate() error {
	host, _, err := net.SplitHostPort(c.Addr)
	switch {
	case err != nil:
		return fmt.Errorf("api address: %w", err)
	case c.Key == "" && host != "localhost" && !net.ParseIP(host).IsLoopback():
		return fmt.Errorf("api address %s: others can reach it, and there is no key to ask them for", c.Addr)
	}
	return nil
}

// Server answers requests while Run runs.
type Server struct {
	cfg       Config
	logs      Logs
	calls     calllog.Calls
	log       *zap.Logger
	listener  net.Listener
	http      *http.Server
	followers chan struct{}  // a place for each stream
	pushes    chan struct{}  // a place for each push
	sockets   sync.WaitGroup // of apps: the HTTP server knows of them no more
}

// Listen takes the port. Run answers on it; without Run, Close gives it back.
func Listen(ctx context.Context, cfg Config, logs Logs, calls calllog.Calls, log *zap.Logger) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("configure api: %w", err)
	}
	s := newServer(cfg, logs, calls, log)
	var listen net.ListenConfig
	var err error
	if s.listener, err = listen.Listen(ctx, "tcp", cfg.Addr); err != nil {
		return nil, fmt.Errorf("listen for api: %w", err)
	}
	if at, ok := s.listener.Addr().(*net.TCPAddr); cfg.Key == "" && !(ok && at.IP.IsLoopback()) {
		// A name may be anywhere, localhost too.
		return nil, errors.Join(fmt.Errorf("listen for api: %s is not on loopback, and there is no key", s.Addr()), s.Close())
	}
	return s, nil
}

func newServer(cfg Config, logs Logs, calls calllog.Calls, log *zap.Logger) *Server {
	cfg.Org = cmp.Or(cfg.Org, calllog.DefaultOrg)
	s := &Server{cfg: cfg, logs: logs, calls: calls, log: log.Named("api"), followers: make(chan struct{}, maxFollowers), pushes: make(chan struct{}, maxPushes)}
	s.http = &http.Server{
		Handler:           s.handler(),
		ReadHeaderTimeout: headerWithin, ReadTimeout: headerWithin, IdleTimeout: idleWithin, // writes have deadlines of their own
	}
	if complaints, err := zap.NewStdLogAt(s.log, zap.DebugLevel); err == nil {
		s.http.ErrorLog = complaints
	}
	return s
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/calls", s.listCalls)
	mux.HandleFunc("GET /v1/calls/{id}", s.showCall)
	mux.HandleFunc("GET /v1/calls/{id}/log", s.callLog)
	mux.HandleFunc("GET /v1/agents/{slug}/log", s.agentLog)
	mux.HandleFunc("POST /v1/calls/{id}/transfer", served(s.cfg.Transfers != nil, noTransfers, s.transferCall))
	s.routeKnowledge(mux)
	s.routeContacts(mux)
	mux.HandleFunc("GET /v1/app", s.serveApp)
	return s.guard(mux)
}

var noApps = refusal{http.StatusNotFound, "apps", "This server takes no apps."}

// serveApp answers GET /v1/app, for as long as the app stays.
func (s *Server) serveApp(w http.ResponseWriter, r *http.Request) {
	if s.cfg.Apps == nil {
		refuse(w, noApps)
		return
	}
	s.sockets.Add(1)
	defer s.sockets.Done()
	s.cfg.Apps.ServeHTTP(w, r)
}

// Addr is where it listens: the port that was given for port 0.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Close gives the port back when Run was never called; after Run it does nothing.
func (s *Server) Close() error {
	if err := s.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("close api port: %w", err)
	}
	return nil
}

// errEnding is why streams end that nobody left.
var errEnding = errors.New("the process is ending")

// Run answers requests until ctx ends, and tells followers what is written by
// then. Those that are still being answered 2 s later are cut. It returns an
// error when the port was lost.
func (s *Server) Run(ctx context.Context) error {
	answering, end := context.WithCancelCause(context.WithoutCancel(ctx)) // streams are told why they end
	defer end(nil)
	s.http.BaseContext = func(net.Listener) context.Context { return answering }
	if err := port.Serve(ctx, s.listener, s.http, func() { end(errEnding) }); err != nil {
		return fmt.Errorf("answer the api: %w", err)
	}
	s.sockets.Wait() // their own deadlines bound it
	return nil
}
