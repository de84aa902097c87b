package v1

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"headstart/worker/calllog"
)

const (
	// answerWithin bounds what one request asks of the store.
	answerWithin = 5 * time.Second
	defaultCalls = 20
	mostCalls    = 1000
)

// call is a calllog.Call as the wire carries it.
type call struct {
	ID      string    `json:"id"`
	Agent   string    `json:"agent"`
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"` // not there while the call lasts
	Reason  string    `json:"reason,omitempty"`
	Sealed  bool      `json:"sealed"` // the log is whole
}

func wire(c calllog.Call) call {
	return call{ID: c.ID, Agent: c.Agent, Started: c.Started.UTC(), Ended: c.Ended.UTC(), Reason: c.Reason, Sealed: c.Sealed}
}

// listCalls answers GET /v1/calls.
func (s *Server) listCalls(w http.ResponseWriter, r *http.Request) {
	limit, err := numberIn(r.FormValue("limit"), defaultCalls, 1, mostCalls)
	if err != nil {
		refuse(w, badNumber("limit"))
		return
	}
	ctx, cancel := patience(r.Context())
	defer cancel()
	list, err := s.newest(ctx, int(limit))
	if err != nil {
		s.storeFailed(w, err)
		return
	}
	calls := make([]call, 0, len(list))
	for _, c := range list {
		calls = append(calls, wire(c))
	}
	answer(w, http.StatusOK, map[string]any{"calls": calls})
}

// newest are the last calls of the store and of this process, which knows of
// its own before the store does.
func (s *Server) newest(ctx context.Context, limit int) ([]calllog.Call, error) {
	list := s.live() // before the store: a call leaves the process once it is there
	stored, err := s.calls.Calls(ctx, s.cfg.Org, limit)
	if err != nil {
		return nil, fmt.Errorf("list calls: %w", err)
	}
	for _, c := range stored {
		if !slices.ContainsFunc(list, func(l calllog.Call) bool { return l.ID == c.ID }) {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b calllog.Call) int {
		return cmp.Or(b.Started.Compare(a.Started), strings.Compare(a.ID, b.ID))
	})
	return list[:min(limit, len(list))], nil
}

// live are the org's calls in this process: a recovery may hold others'.
func (s *Server) live() []calllog.Call {
	return slices.DeleteFunc(s.logs.Live(), func(c calllog.Call) bool { return c.Org != s.cfg.Org })
}

// showCall answers GET /v1/calls/{id}.
func (s *Server) showCall(w http.ResponseWriter, r *http.Request) {
	if c, ok := s.find(w, r); ok {
		answer(w, http.StatusOK, wire(c))
	}
}

// find returns the call that the request names, or refuses it.
func (s *Server) find(w http.ResponseWriter, r *http.Request) (calllog.Call, bool) {
	id := r.PathValue("id")
	for _, c := range s.live() {
		if c.ID == id {
			return c, true
		}
	}
	ctx, cancel := patience(r.Context())
	defer cancel()
	c, err := s.calls.Call(ctx, s.cfg.Org, id)
	switch {
	case errors.Is(err, calllog.ErrUnknownCall):
		refuse(w, noCall)
	case err != nil:
		s.storeFailed(w, fmt.Errorf("find call: %w", err))
	}
	return c, err == nil
}

func (s *Server) storeFailed(w http.ResponseWriter, err error) {
	s.log.Warn("request not answered", zap.Error(err))
	refuse(w, noStore)
}

func patience(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, answerWithin, fmt.Errorf("not answered within %s", answerWithin))
}
