/*
Package health tells the outside how the worker is: whether the process should
live, whether it should be given calls, and its figures.

	GET /         200 OK, or 503 and why: every try to reach LiveKit was spent, or a fatal self-check fails
	GET /ready    200 OK, or 503 and why: not registered, draining, full, or what makes / a 503
	GET /worker   what LiveKit's own workers tell of themselves, in JSON
	GET /metrics  Prometheus, under LiveKit's names where they mean the same

It decides nothing about calls and changes nothing. No answer and no label
carries a call's id, a number or a word of anybody.

How it fails. A port that is taken is an error of Listen. A self-check that
hangs is told as failing, and none is started beside it; when Run ends it is
left behind after CheckWithin. Requests that last are cut 2 s after Run was told
to end.
*/
package health

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"go.uber.org/zap"

	"headstart/worker/port"
)

const (
	headerWithin = 5 * time.Second
	writeWithin  = 10 * time.Second
	idleWithin   = time.Minute
)

// Status is the state of the worker at one moment.
type Status struct {
	Registered bool    // LiveKit can offer calls
	Spent      bool    // every try to reach LiveKit was spent: the process ends after its last call
	Draining   bool    // it refuses calls because it is ending
	Full       bool    // it refuses calls
	Load       float64 // as LiveKit is told, from 0 to below 1
	Calls      int     // taken and not over
	Held       int     // agents that an app holds
	Spooled    int64   // log entries that wait for the store
	Abandoned  int64   // what calls left behind because it did not end in time, ever
}

// Source tells the state of the worker. It is asked by several requests at
// once and must not block.
type Source interface {
	Status() Status
}

// Config says where to listen and who is asked about. All but Addr may stay zero.
type Config struct {
	Addr       string  // to listen on, ":8081"; required
	Node       string  // the machine's name, the label nodename
	AgentName  string  // of explicit dispatch
	WorkerType string  // LiveKit's name of the kind of jobs; "JT_ROOM"
	Version    string  // of the worker
	Checks     []Check // what the process tries by itself, now and then

	CheckEvery  time.Duration // between two runs of a self-check; 5 s
	CheckWithin time.Duration // for one to answer; 2 s
}

// Validate joins every complaint about the configuration.
func (c Config) Validate() error {
	var all []error
	if c.Addr == "" {
		all = append(all, errors.New("health address is missing"))
	}
	if c.CheckEvery < 0 || c.CheckWithin < 0 {
		all = append(all, fmt.Errorf("self-check times: %s or %s is negative", c.CheckEvery, c.CheckWithin))
	}
	seen := map[string]bool{}
	for _, check := range c.Checks {
		if check.Name == "" || check.Do == nil || seen[check.Name] {
			all = append(all, fmt.Errorf("self-check %q: without a name of its own or nothing to do", check.Name))
		}
		seen[check.Name] = true
	}
	return errors.Join(all...)
}

func (c Config) withDefaults() Config {
	c.WorkerType = cmp.Or(c.WorkerType, "JT_ROOM")
	c.CheckEvery = cmp.Or(c.CheckEvery, 5*time.Second)
	c.CheckWithin = cmp.Or(c.CheckWithin, 2*time.Second)
	return c
}

// Server answers requests while Run runs.
type Server struct {
	cfg      Config
	source   Source
	log      *zap.Logger
	metrics  *metrics
	checks   *checks
	listener net.Listener
	http     *http.Server
}

// Listen takes the port. Run answers on it; without Run, Close gives it back.
// The source is asked from Run on.
func Listen(ctx context.Context, cfg Config, source Source, log *zap.Logger) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("configure health: %w", err)
	}
	s, err := newServer(cfg, source, log.Named("health"))
	if err != nil {
		return nil, fmt.Errorf("configure health: %w", err)
	}
	var listen net.ListenConfig
	if s.listener, err = listen.Listen(ctx, "tcp", cfg.Addr); err != nil {
		return nil, fmt.Errorf("listen for health: %w", err)
	}
	return s, nil
}

func newServer(cfg Config, source Source, log *zap.Logger) (*Server, error) {
	complaints, err := zap.NewStdLogAt(log, zap.DebugLevel)
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg.withDefaults(), source: source, log: log}
	s.checks = newChecks(s.cfg, s.log)
	s.metrics = newMetrics(s.cfg.Node, source, s.checks)
	s.http = &http.Server{
		Handler: s.handler(), ErrorLog: complaints,
		ReadHeaderTimeout: headerWithin, ReadTimeout: headerWithin, WriteTimeout: writeWithin, IdleTimeout: idleWithin,
	}
	return s, nil
}

// Addr is where it listens: the port that was given for port 0.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Close gives the port back when Run was never called; after Run it does nothing.
func (s *Server) Close() error {
	if err := s.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("close health port: %w", err)
	}
	return nil
}

// Run answers requests and repeats the self-checks until ctx ends, then lets
// the requests that are being answered finish, for 2 s at most. It returns an
// error when the port was lost.
func (s *Server) Run(ctx context.Context) error {
	checking, stopChecking := context.WithCancel(ctx)
	var checks sync.WaitGroup
	checks.Go(func() { s.checks.run(checking) })
	defer checks.Wait()
	defer stopChecking()
	if err := port.Serve(ctx, s.listener, s.http, stopChecking); err != nil {
		return fmt.Errorf("answer for health: %w", err)
	}
	return nil
}
