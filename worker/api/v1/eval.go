package v1

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"go.uber.org/zap"

	"headstart/memory/golden"
)

// evalWithin bounds a golden: its questions are embedded one by one.
const evalWithin = 5 * time.Minute

// ErrNoAgent means that no agent of that name with a memory is served here.
var ErrNoAgent = errors.New("no such agent with a memory")

// EvalMemory asks a golden of an agent's memory: each question's facts are held by
// a contact of its own, which is gone when it returns. An empty agent is the first
// that has a memory. It fails with ErrNoAgent, the embedder's or the store's.
type EvalMemory func(ctx context.Context, agent string, questions []golden.Question) (golden.Report, error)

// evalMemory answers POST /v1/contacts/memory/eval?agent=.
func (s *Server) evalMemory(w http.ResponseWriter, r *http.Request) {
	if !isJSON(r) {
		refuse(w, noJSON)
		return
	}
	questions, err := golden.ReadQuestions(http.MaxBytesReader(w, r.Body, largestBody))
	if err != nil {
		refuse(w, refusal{http.StatusBadRequest, "golden", fmt.Sprintf("Send [{holds, asks, expects}]: %v.", err)})
		return
	}
	ctx, cancel := context.WithTimeoutCause(r.Context(), evalWithin, fmt.Errorf("not evaluated within %v", evalWithin))
	defer cancel()
	report, err := s.cfg.EvalMemory(ctx, r.FormValue("agent"), questions)
	switch {
	case errors.Is(err, ErrNoAgent):
		refuse(w, noMemory)
	case err != nil:
		s.log.Warn("golden not evaluated", zap.Error(err))
		refuse(w, noStore)
	default:
		answer(w, http.StatusOK, report)
	}
}

var noMemory = refusal{http.StatusNotFound, "agent", "No agent of that name with a memory is served here."}
