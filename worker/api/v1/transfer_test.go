package v1_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	v1 "headstart/worker/api/v1"
	"headstart/worker/transfer"
)

// switchboard answers transfers, and keeps what it was asked.
type switchboard struct {
	answer   error
	call, to string
}

func (b *switchboard) Transfer(_ context.Context, call, to string) error {
	b.call, b.to = call, to
	return b.answer
}

func TestTransferCall(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, body string
		answer     error
		status     int
		want       string // of the body
		asked      bool
	}{
		{"taken", `{"to":"+34910000002"}`, nil, 200, `{"call":"call-1","to":"+34910000002","mode":"cold"}`, true},
		{"taken, and said to be cold", `{"to":"sip:a@b","mode":"cold"}`, nil, 200, `"to":"sip:a@b"`, true},
		{"another mode", `{"to":"+34910000002","mode":"warm"}`, nil, 400, `"code":"mode"`, false},
		{"no JSON", `to=+34910000002`, nil, 400, `"code":"body"`, false},
		{"no address", `{"to":"x"}`, transfer.New(transfer.NoAddress, "No."), 400, `{"code":"to","error":"No."}`, true},
		{"no call", `{"to":"x"}`, transfer.New(transfer.NoCall, "No."), 404, `"code":"call"`, true},
		{"no telephone", `{"to":"x"}`, transfer.New(transfer.NoPhone, "No."), 409, `"code":"no_phone"`, true},
		{"not now", `{"to":"x"}`, transfer.New(transfer.Busy, "No."), 409, `"code":"not_now"`, true},
		{"the call ended", `{"to":"x"}`, transfer.New(transfer.Left, "No."), 409, `"code":"call_is_ended"`, true},
		{"refused", `{"to":"x"}`, transfer.New(transfer.Refused, "SIP 486."), 502, `"code":"not_taken","error":"SIP 486."`, true},
		{"late", `{"to":"x"}`, transfer.New(transfer.Late, "No."), 504, `"code":"not_answered"`, true},
		{"no SIP", `{"to":"x"}`, transfer.New(transfer.NoService, "No."), 503, `"code":"no_sip"`, true},
		{"broken", `{"to":"x"}`, transfer.New(transfer.Failed, "No."), 502, `"code":"failed"`, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			board := &switchboard{answer: tt.answer}
			w := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/v1/calls/call-1/transfer", strings.NewReader(tt.body))
			r.Header.Set("Content-Type", "application/json")
			v1.Handler(v1.Config{Transfers: board}, nil, nil).ServeHTTP(w, r)
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
				t.Fatalf("answered %d %s, want %d with %s", w.Code, w.Body, tt.status, tt.want)
			}
			if asked := board.call != ""; asked != tt.asked || asked && board.call != "call-1" {
				t.Fatalf("asked %+v", board)
			}
		})
	}
}

func TestNobodyTransfers(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	v1.Handler(v1.Config{}, nil, nil).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/v1/calls/call-1/transfer", nil))
	if w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), `"code":"transfers"`) {
		t.Fatalf("answered %d %s", w.Code, w.Body)
	}
}
