package v1

import (
	"context"
	"errors"
	"net/http"
	"time"

	"go.uber.org/zap"

	"headstart/worker/transfer"
)

// Transfers passes callers on: a worker.Worker.
type Transfers interface {
	// Transfer returns once somebody took the caller; a *transfer.Error says why
	// nobody did.
	Transfer(ctx context.Context, call, to string) error
}

// transferWithin bounds a transfer: the phrase that tells the caller, 30 s of
// ringing, and what the servers between take.
const transferWithin = time.Minute

var errTransferring = errors.New("not known after " + transferWithin.String())

var (
	noTransfers  = refusal{http.StatusNotFound, "transfers", "This server passes no callers on."}
	badTransfer  = refusal{http.StatusBadRequest, "body", `Send {"to": "+34910000002"}, a telephone number or a SIP address.`}
	coldTransfer = refusal{http.StatusBadRequest, "mode", `The mode is "cold": the caller is sent on and the call ends here. Others are not made.`}
)

// Transferred is what came of a transfer.
type Transferred struct {
	Call string `json:"call"`
	To   string `json:"to"` // as it was asked
	Mode string `json:"mode"`
}

// statusOf is how each reason for keeping a caller is answered.
var statusOf = map[transfer.Code]int{
	transfer.NoAddress: http.StatusBadRequest, transfer.NoCall: http.StatusNotFound,
	transfer.NoPhone: http.StatusConflict, transfer.Busy: http.StatusConflict, transfer.Left: http.StatusConflict,
	transfer.Refused: http.StatusBadGateway, transfer.Failed: http.StatusBadGateway,
	transfer.Late: http.StatusGatewayTimeout, transfer.NoService: http.StatusServiceUnavailable,
}

// transferCall answers POST /v1/calls/{id}/transfer, when it is known what came of it.
func (s *Server) transferCall(w http.ResponseWriter, r *http.Request) {
	var asked struct{ To, Mode string }
	if !readJSON(w, r, &asked, badTransfer) {
		return
	}
	switch asked.Mode {
	case "", "cold":
	default:
		refuse(w, coldTransfer)
		return
	}
	// Who asked may leave: what was begun is finished.
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(r.Context()), transferWithin, errTransferring)
	defer cancel()
	call := r.PathValue("id")
	if err := s.cfg.Transfers.Transfer(ctx, call, asked.To); err != nil {
		code := transfer.CodeOf(err)
		s.log.Info("caller not passed on", zap.String("call", call), zap.String("code", string(code)), zap.Error(err))
		refuse(w, refusal{statusOf[code], string(code), err.Error()})
		return
	}
	answer(w, http.StatusOK, Transferred{Call: call, To: asked.To, Mode: "cold"})
}
