package devserver

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

const (
	startTries   = 3                // ports are free when chosen, not when bound
	startWithin  = 20 * time.Second // measured: 10-50 ms; a busy machine is slower
	politeWait   = 300 * time.Millisecond
	forcedWait   = 3 * time.Second
	killedWait   = 5 * time.Second
	logLinesKept = 20
)

// Server is a LiveKit server that runs as a child of this process.
type Server struct {
	URL       string // ws://127.0.0.1:port
	APIKey    string
	APISecret string

	cmd   *exec.Cmd
	lines *lines
	done  chan struct{} // closed when the child has ended and was waited for
	err   error         // how it ended; written before done closes, read after
}

// Start finds a server, starts it on free loopback ports and returns when it
// answers with the keys that were made for it. ctx bounds the start, building
// included, not the life of the server: end it with Stop. A server that dies
// before it answers is started anew on other ports, three times in all.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	binary, err := Find(ctx, cfg)
	if err != nil {
		return nil, err
	}
	var failures []error
	for range startTries {
		s, err := startOnce(ctx, cfg, binary)
		if err == nil {
			return s, nil
		}
		failures = append(failures, err)
		if context.Cause(ctx) != nil {
			break
		}
	}
	return nil, fmt.Errorf("start livekit server: %w", errors.Join(failures...))
}

func startOnce(ctx context.Context, cfg Config, binary string) (*Server, error) {
	port, udp, err := freePorts()
	if err != nil {
		return nil, err
	}
	s := &Server{
		URL:       fmt.Sprintf("ws://127.0.0.1:%d", port),
		APIKey:    "dev" + rand.Text()[:8],
		APISecret: rand.Text() + rand.Text(),
		lines:     newLines(logLinesKept, cfg.Log),
		done:      make(chan struct{}),
	}
	s.cmd = exec.Command(binary)
	// Nothing is inherited: LIVEKIT_KEYS, NODE_IP or REDIS_HOST of this process
	// would override the configuration.
	s.cmd.Env = []string{"LIVEKIT_CONFIG=" + s.config(port, udp)}
	s.cmd.Stdout, s.cmd.Stderr = s.lines, s.lines
	s.cmd.WaitDelay = killWait
	s.cmd.SysProcAttr = childAttributes()
	started := make(chan error, 1)
	go s.watch(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("run %s: %w", binary, err)
	}
	if err := s.waitReady(ctx); err != nil {
		return nil, errors.Join(err, s.kill())
	}
	return s, nil
}

// watch starts the child and waits for it on one thread, kept for the child's
// whole life: Linux kills the child when that thread ends.
func (s *Server) watch(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(s.done)
	s.err = s.cmd.Start()
	started <- s.err
	if s.err == nil {
		s.err = s.cmd.Wait()
	}
}

// config binds loopback only. tcp_port must be 0: any other listens on every
// interface. Without node_ip the server asks a STUN server who it is.
func (s *Server) config(port, udp int) string {
	return strings.Join([]string{
		fmt.Sprintf("port: %d", port),
		`bind_addresses: ["127.0.0.1"]`,
		fmt.Sprintf("keys: {%s: %s}", s.APIKey, s.APISecret),
		"rtc:",
		"  node_ip: 127.0.0.1",
		"  use_external_ip: false",
		"  enable_loopback_candidate: true",
		"  tcp_port: 0",
		"  allow_tcp_fallback: false",
		fmt.Sprintf("  udp_port: %d", udp),
		// Without one of its own the server sends clients to public STUN servers,
		// whose names they would look up. Nothing answers at this port, and nothing
		// need; the media port will not do, since browsers take what comes from a
		// STUN server for nothing else.
		fmt.Sprintf(`  stun_servers: ["127.0.0.1:%d"]`, port),
		"  interfaces: {includes: [lo, lo0]}",
		`  ips: {includes: ["127.0.0.1/32"]}`,
	}, "\n")
}

// freePorts returns a TCP and a UDP port that were free on loopback just now.
func freePorts() (tcp, udp int, err error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, 0, fmt.Errorf("choose tcp port: %w", err)
	}
	defer l.Close()
	p, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		return 0, 0, fmt.Errorf("choose udp port: %w", err)
	}
	defer p.Close()
	return l.Addr().(*net.TCPAddr).Port, p.LocalAddr().(*net.UDPAddr).Port, nil
}

// Done is closed when the server has ended, by Stop or by itself.
func (s *Server) Done() <-chan struct{} { return s.done }

// Pid is the process id of the server.
func (s *Server) Pid() int { return s.cmd.Process.Pid }

// LastLines returns the last lines that the server wrote.
func (s *Server) LastLines() string { return s.lines.tail() }

// Stop ends the server and waits until it is gone: asked first, then told, then
// killed, within nine seconds in all. Stopping a server that has ended already
// is no error.
func (s *Server) Stop() error {
	// The server waits for its participants after the first signal and no
	// longer after the second.
	for _, wait := range []time.Duration{politeWait, forcedWait} {
		if err := s.cmd.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
			break // a system that has no signals
		}
		if s.endsWithin(wait) {
			return nil
		}
	}
	return s.kill()
}

func (s *Server) kill() error {
	if err := s.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill livekit server: %w", err)
	}
	if !s.endsWithin(killedWait) {
		return fmt.Errorf("kill livekit server: still there after %s", killedWait)
	}
	return nil
}

func (s *Server) endsWithin(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-s.done:
		return true
	case <-timer.C:
		return false
	}
}
