// Package porttest listens in memory, for tests in virtual time of what answers on a
// port: a connection of the network would hold synctest's clock.
package porttest

import (
	"net"
	"sync"
)

// Pipes is a listener whose connections are in memory.
type Pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// Listen makes one.
func Listen() *Pipes { return &Pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

// Dial returns the caller's end of a connection, once the other was accepted.
func (p *Pipes) Dial() net.Conn {
	near, far := net.Pipe()
	p.conns <- far
	return near
}

// Accept implements net.Listener.
func (p *Pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. Connections go on.
func (p *Pipes) Close() error { p.once.Do(func() { close(p.closed) }); return nil }

// Addr implements net.Listener.
func (p *Pipes) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "pipe"} }
