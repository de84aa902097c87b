// Package port answers HTTP on a TCP port of this process, from when it is told to until
// what is being answered has ended.
//
// It never takes a port, and knows nothing of who asks or what. A port that was lost is
// an error; requests that last are cut, 2 s after the end was asked for.
package port

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"
)

// endWithin is how long requests may last after the end was asked for.
const endWithin = 2 * time.Second

// Serve answers until ctx ends and the requests that are being answered have: those that
// last are cut, which the server's ErrorLog is told. ending, unless it is nil, is called
// before that wait, to end what would last. It returns an error when the port was lost.
func Serve(ctx context.Context, listener net.Listener, server *http.Server, ending func()) error {
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	if ending != nil {
		ending()
	}
	// The requests that are being answered outlive ctx, for as long as it says.
	closing, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), endWithin, fmt.Errorf("requests lasted longer than %s", endWithin))
	defer cancel()
	if err := server.Shutdown(closing); err != nil {
		if server.ErrorLog != nil {
			server.ErrorLog.Printf("requests cut: %v", context.Cause(closing))
		}
		_ = server.Close() // its error is that of connections which are cut
	}
	<-served
	return nil
}
