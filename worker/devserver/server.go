package devserver

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

	"headstart/worker/child"
)

const (
	startWithin = 20 * time.Second // measured: 10-50 ms; a busy machine is slower
	politeWait  = 300 * time.Millisecond
	forcedWait  = 3 * time.Second
)

// Server is a LiveKit server that runs as a child of this process.
type Server struct {
	URL       string // ws://127.0.0.1:port
	APIKey    string
	APISecret string

	child *child.Child
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
	s, err := child.Tries(ctx, func() (*Server, error) { return startOnce(ctx, cfg, binary) })
	if err != nil {
		return nil, fmt.Errorf("start livekit server: %w", err)
	}
	return s, nil
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
	}
	cmd := exec.Command(binary)
	// Nothing is inherited: LIVEKIT_KEYS, NODE_IP or REDIS_HOST of this process
	// would override the configuration.
	cmd.Env = []string{"LIVEKIT_CONFIG=" + s.config(port, udp)}
	if s.child, err = child.Start("livekit server", cmd, cfg.Log); err != nil {
		return nil, err
	}
	return s, s.awaitReady(ctx)
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
	if tcp, err = child.FreePort(); err != nil {
		return 0, 0, err
	}
	p, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		return 0, 0, fmt.Errorf("choose udp port: %w", err)
	}
	defer p.Close()
	return tcp, p.LocalAddr().(*net.UDPAddr).Port, nil
}

// Done is closed when the server has ended, by Stop or by itself.
func (s *Server) Done() <-chan struct{} { return s.child.Done() }

// Pid is the process id of the server.
func (s *Server) Pid() int { return s.child.Pid() }

// LastLines returns the last lines that the server wrote.
func (s *Server) LastLines() string { return s.child.LastLines() }

// Stop ends the server and waits until it is gone: asked first, then told, then
// killed. Stopping a server that has ended already is no error.
func (s *Server) Stop() error {
	// The server waits for its participants after the first signal and no
	// longer after the second.
	return s.child.End(child.Ask{Signal: os.Interrupt, Within: politeWait}, child.Ask{Signal: os.Interrupt, Within: forcedWait})
}
