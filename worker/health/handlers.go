package health

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"
)

// protocolVersion is of LiveKit's worker protocol, as dispatch speaks it.
const protocolVersion = 1

// workerInfo is what LiveKit's own workers answer.
type workerInfo struct {
	AgentName       string  `json:"agent_name"`
	WorkerType      string  `json:"worker_type"`
	WorkerLoad      float64 `json:"worker_load"`
	ActiveJobs      int     `json:"active_jobs"`
	SDKVersion      string  `json:"sdk_version"`
	ProtocolVersion int     `json:"protocol_version"`
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { verdict(w, s.unfit(s.source.Status())) })
	mux.HandleFunc("GET /ready", func(w http.ResponseWriter, _ *http.Request) { verdict(w, s.unready(s.source.Status())) })
	mux.HandleFunc("GET /worker", s.worker)
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4}))
	return mux
}

// unfit are the reasons why the process should not live.
func (s *Server) unfit(now Status) []string {
	var reasons []string
	if now.Spent {
		reasons = append(reasons, "LiveKit cannot be reached: every try was spent")
	}
	for _, name := range s.checks.fatal() {
		reasons = append(reasons, "self-check fails: "+name)
	}
	return reasons
}

// unready are the reasons why the worker should be given no calls.
func (s *Server) unready(now Status) []string {
	reasons := s.unfit(now)
	switch {
	case now.Draining:
		reasons = append(reasons, "draining")
	case now.Full:
		reasons = append(reasons, "full")
	}
	if !now.Registered && !now.Spent {
		reasons = append(reasons, "not registered with LiveKit")
	}
	return reasons
}

// verdict answers OK, or 503 and a reason a line.
func verdict(w http.ResponseWriter, against []string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	text := "OK"
	if len(against) > 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
		text = strings.Join(against, "\n") + "\n"
	}
	_, _ = io.WriteString(w, text) // who asked has gone: nobody to tell
}

func (s *Server) worker(w http.ResponseWriter, _ *http.Request) {
	now := s.source.Status()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	err := json.NewEncoder(w).Encode(workerInfo{
		AgentName: s.cfg.AgentName, WorkerType: s.cfg.WorkerType, WorkerLoad: now.Load, ActiveJobs: now.Calls,
		SDKVersion: s.cfg.Version, ProtocolVersion: protocolVersion,
	})
	if err != nil {
		s.log.Debug("worker's answer not written", zap.Error(err))
	}
}
