package v1

import (
	"fmt"
	"math"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"headstart/turn"
	"headstart/worker/calllog"
)

const (
	defaultEntries = 500
	mostEntries    = 1000
)

// page is a piece of a log as the wire carries it.
type page struct {
	Entries []turn.Entry `json:"entries"`
	Highest int64        `json:"highest"` // seq known
	Sealed  bool         `json:"sealed"`  // nothing will follow the highest
}

// callLog answers GET /v1/calls/{id}/log.
func (s *Server) callLog(w http.ResponseWriter, r *http.Request) {
	if c, ok := s.find(w, r); ok {
		s.tell(w, r, c.ID)
	}
}

// agentLog answers GET /v1/agents/{slug}/log. An agent that is not served here
// is known by what it has written.
func (s *Server) agentLog(w http.ResponseWriter, r *http.Request) {
	slug := r.PathValue("slug")
	name := calllog.LogName("", slug)
	if !slices.Contains(s.cfg.Agents, slug) {
		ctx, cancel := patience(r.Context())
		defer cancel()
		known, err := s.logs.Read(ctx, name, 0, 1)
		switch {
		case err != nil:
			s.storeFailed(w, err)
			return
		case known.Highest == 0:
			refuse(w, noAgent)
			return
		}
	}
	s.tell(w, r, name)
}

// tell gives a log that exists, in the form that was asked for.
func (s *Server) tell(w http.ResponseWriter, r *http.Request, log string) {
	w.Header().Set("Vary", "Accept")
	after, err := numberIn(r.FormValue("after"), 0, 0, math.MaxInt64)
	if err != nil {
		refuse(w, badNumber("after"))
		return
	}
	limit, err := numberIn(r.FormValue("limit"), defaultEntries, 1, mostEntries)
	if err != nil {
		refuse(w, badNumber("limit"))
		return
	}
	if wantsStream(r.Header.Values("Accept")) {
		s.stream(w, r, log, cursor(r, after))
		return
	}
	ctx, cancel := patience(r.Context())
	defer cancel()
	piece, err := s.logs.Read(ctx, log, after, int(limit))
	if err != nil {
		s.storeFailed(w, err)
		return
	}
	answer(w, http.StatusOK, page{Entries: append([]turn.Entry{}, piece.Entries...), Highest: piece.Highest, Sealed: piece.Sealed})
}

// cursor is where a stream goes on: a browser that comes back says it in a
// header and asks for the same URL. What is no number is as if it were not said.
func cursor(r *http.Request, after int64) int64 {
	last, err := numberIn(r.Header.Get("Last-Event-ID"), after, 0, math.MaxInt64)
	if err != nil {
		return after
	}
	return last
}

func wantsStream(accept []string) bool {
	for kind := range strings.SplitSeq(strings.Join(accept, ","), ",") {
		if name, _, err := mime.ParseMediaType(kind); err == nil && name == "text/event-stream" {
			return true
		}
	}
	return false
}

// numberIn reads a number between two others, or the default when there is none.
func numberIn(text string, otherwise, least, most int64) (int64, error) {
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read number: %w", err)
	}
	if n < least || n > most {
		return 0, fmt.Errorf("read number: %d is not between %d and %d", n, least, most)
	}
	return n, nil
}
