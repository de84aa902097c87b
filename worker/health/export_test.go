package health

import (
	"context"
	"net/http"
	"testing"

	"go.uber.org/zap"
)

// Unbound is a server without a port, for a bubble.
func Unbound(t testing.TB, cfg Config, source Source, log *zap.Logger) *Server {
	t.Helper()
	s, err := newServer(cfg, source, log)
	if err != nil {
		t.Fatalf("new server: %v", err)
	}
	return s
}

func (s *Server) Handler() http.Handler         { return s.http.Handler }
func (s *Server) RunChecks(ctx context.Context) { s.checks.run(ctx) }
