package v1

import (
	"net"
	"net/http"

	"go.uber.org/zap"

	"headstart/worker/calllog"
)

// MaxFollowers is how many streams are told at once.
const MaxFollowers = maxFollowers

// On is a server on a listener that the test has made.
func On(listener net.Listener, cfg Config, logs Logs, calls calllog.Calls) *Server {
	s := newServer(cfg, logs, calls, zap.NewNop())
	s.listener = listener
	return s
}

// Handler is what answers, without a listener.
func Handler(cfg Config, logs Logs, calls calllog.Calls) http.Handler {
	return newServer(cfg, logs, calls, zap.NewNop()).handler()
}
