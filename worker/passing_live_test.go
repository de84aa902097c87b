package worker_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/livekit/protocol/auth"
	"github.com/livekit/protocol/livekit"
	"github.com/twitchtv/twirp"

	"headstart/turn"
	"headstart/worker/caller"
	"headstart/worker/dispatch"
	"headstart/worker/transfer"
)

// sipService stands before a LiveKit server and answers transfers in its place, as it
// does where it has a SIP service.
type sipService struct {
	livekit.SIP // answers nothing else
	*httptest.Server

	key, secret string

	mu     sync.Mutex // guards what follows
	answer func() (*livekit.TransferSIPParticipantResponse, error)
	asked  []*livekit.TransferSIPParticipantRequest
}

func newSIPService(t *testing.T, r *reported) *sipService {
	t.Helper()
	to, err := url.Parse(r.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	to.Scheme = "http"
	s := &sipService{key: r.server.APIKey, secret: r.server.APISecret}
	proxy := httputil.NewSingleHostReverseProxy(to)
	sip := livekit.NewSIPServer(s)
	var open sync.WaitGroup
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		open.Add(1)
		defer open.Done()
		if !strings.HasPrefix(r.URL.Path, sip.PathPrefix()) {
			proxy.ServeHTTP(w, r)
			return
		}
		if !s.allowed(r) {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		sip.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close(); open.Wait() })
	return s
}

// allowed asks of a token what LiveKit's server does.
func (s *sipService) allowed(r *http.Request) bool {
	v, err := auth.ParseAPIToken(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	if err != nil || v.APIKey() != s.key {
		return false
	}
	_, grants, err := v.Verify(s.secret)
	return err == nil && grants.SIP != nil && grants.SIP.Call && grants.Video != nil && grants.Video.RoomAdmin && grants.Video.Room != ""
}

func (s *sipService) TransferSIPParticipant(_ context.Context, req *livekit.TransferSIPParticipantRequest) (*livekit.TransferSIPParticipantResponse, error) {
	s.mu.Lock()
	s.asked = append(s.asked, req)
	answer := s.answer
	s.mu.Unlock()
	return answer()
}

// answers changes what is answered.
func (s *sipService) answers(with func() (*livekit.TransferSIPParticipantResponse, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = with
}

func (s *sipService) requests() []*livekit.TransferSIPParticipantRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// taken is the answer of a transfer that was made.
func taken() (*livekit.TransferSIPParticipantResponse, error) {
	return &livekit.TransferSIPParticipantResponse{Status: livekit.SIPTransferStatus_STS_TRANSFER_SUCCESSFUL}, nil
}

// refused is the answer of one that was not, as the server tells it.
func refused(code twirp.ErrorCode, why *livekit.SIPTransferError) (*livekit.TransferSIPParticipantResponse, error) {
	err := twirp.NewError(code, "transfer failed")
	for k, v := range why.TwirpErrorMeta() {
		err = err.WithMeta(k, v)
	}
	return nil, err
}

// passed asks for a transfer beside the test.
func (r *reported) passed(room, to string) <-chan error {
	outcome := make(chan error, 1)
	id := r.callIn(room)
	go func() { outcome <- r.worker.Transfer(r.t.Context(), id, to) }()
	return outcome
}

// callIn is the id of the call in a room.
func (b *bench) callIn(room string) (id string) {
	b.t.Helper()
	b.eventually("the call has begun", func() bool {
		for _, c := range b.book.Live() {
			page, err := b.book.Read(b.t.Context(), c.ID, 0, 10)
			if err == nil && len(page.Entries) > 0 && first[turn.CallStarted](page.Entries).Room == b.t.Name()+"-"+room {
				id = c.ID
			}
		}
		return id != ""
	})
	return id
}

// newSwitchboard is a worker whose LiveKit has a SIP service.
func newSwitchboard(t *testing.T, name string, answer func() (*livekit.TransferSIPParticipantResponse, error)) (*reported, *sipService) {
	t.Helper()
	var sip *sipService
	r := newReported(t, name, nil, func(_ *reported, a *dispatch.Assignment) { a.URL = sip.URL })
	sip = newSIPService(t, r)
	sip.answer = answer
	return r, sip
}

// saidAs is what the agent said, by kind.
func saidAs(entries []turn.Entry) (kinds []string) {
	for _, a := range all[turn.TurnAgent](entries) {
		kinds = append(kinds, a.Kind)
	}
	return kinds
}

const desk = "tel:+34910000002"

// The caller is told, their telephone is referred, and the call ends as transferred,
// also when they leave the room before LiveKit has said what came of it.
func TestACallerIsTransferred(t *testing.T) {
	t.Parallel()
	var ana *caller.Caller
	r, sip := newSwitchboard(t, "transferred", func() (*livekit.TransferSIPParticipantResponse, error) {
		if err := ana.Hangup(); err != nil { // their telephone is with somebody else now
			t.Errorf("hang up: %v", err)
		}
		return taken()
	})
	ana = r.dial("phone", phone)
	hearTo(t, ana, ana.Dialed())
	if err := <-r.passed("phone", "910 000 002"); err != nil {
		t.Fatalf("transfer: %v", err)
	}
	entries := r.ended("phone", turn.End{Reason: "transferred", By: "supervisor"}, livekit.JobStatus_JS_SUCCESS)
	want := []turn.CallTransfer{{To: desk, Mode: "cold", Outcome: "begun"}, {To: desk, Mode: "cold", Outcome: "transferred"}}
	if diff := cmp.Diff(want, all[turn.CallTransfer](entries)); diff != "" {
		t.Fatalf("transfer (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"greeting", "handover"}, saidAs(entries)); diff != "" {
		t.Fatalf("said (-want +got):\n%s", diff)
	}
	if failures := all[turn.Failure](entries); len(failures) > 0 {
		t.Fatalf("errors %+v", failures)
	}
	asked := sip.requests()
	if len(asked) != 1 || asked[0].GetTransferTo() != desk || asked[0].GetParticipantIdentity() != ana.Identity() || asked[0].GetRoomName() != ana.Room() || asked[0].GetRingingTimeout().AsDuration() != 30*time.Second {
		t.Fatalf("the SIP service was asked %v", asked)
	}
}

// Nobody takes the caller: the agent says so, answers them, and can try again.
func TestACallerWhomNobodyTakes(t *testing.T) {
	t.Parallel()
	busy := &livekit.SIPTransferError{Reason: livekit.SIPTransferReason_STR_REJECTED, SipStatus: &livekit.SIPStatus{Code: livekit.SIPStatusCode_SIP_STATUS_BUSY_HERE, Status: "Busy Here"}}
	late := &livekit.SIPTransferError{Reason: livekit.SIPTransferReason_STR_RINGING_TIMEOUT}
	r, sip := newSwitchboard(t, "kept", func() (*livekit.TransferSIPParticipantResponse, error) {
		return refused(twirp.FailedPrecondition, busy)
	})
	ana := r.dial("phone", phone)
	hearTo(t, ana, ana.Dialed())
	for _, tt := range []struct {
		to   string
		say  func() (*livekit.TransferSIPParticipantResponse, error)
		want transfer.Code
	}{
		{desk, func() (*livekit.TransferSIPParticipantResponse, error) {
			return refused(twirp.FailedPrecondition, busy)
		}, transfer.Refused},
		{"sip:desk@example.org", func() (*livekit.TransferSIPParticipantResponse, error) { return refused(twirp.Unknown, late) }, transfer.Late},
		{"nowhere", taken, transfer.NoAddress},
	} {
		sip.answers(tt.say)
		err := <-r.passed("phone", tt.to)
		if got := transfer.CodeOf(err); err == nil || got != tt.want {
			t.Fatalf("transfer to %s: %q, %v, want %q", tt.to, got, err, tt.want)
		}
	}
	asked := time.Now()
	if err := ana.Chat(t.Context(), "¿Qué seguros aceptan para las consultas?"); err != nil {
		t.Fatalf("chat: %v", err)
	}
	hearTo(t, ana, asked)
	r.eventually("the question is answered", func() bool {
		page, err := r.book.Read(t.Context(), r.callIn("phone"), 0, 1000)
		return err == nil && len(all[turn.TurnAgent](page.Entries)) > 0 && saidAs(page.Entries)[len(saidAs(page.Entries))-1] == "reply"
	})
	if err := ana.Hangup(); err != nil {
		t.Fatalf("hang up: %v", err)
	}
	entries := r.ended("phone", turn.End{Reason: "caller_hung_up", By: "caller"}, livekit.JobStatus_JS_SUCCESS)
	failures := all[turn.Failure](entries)
	if len(failures) != 2 || failures[0].Code != turn.CodeTransfer || !failures[0].Recoverable || !strings.Contains(failures[0].Message, "486 Busy Here") {
		t.Fatalf("errors %+v", failures)
	}
}

// The caller hangs up while it rings at the other side: nobody is transferred.
func TestACallerWhoDoesNotWait(t *testing.T) {
	t.Parallel()
	var ana *caller.Caller
	r, _ := newSwitchboard(t, "unheld", func() (*livekit.TransferSIPParticipantResponse, error) {
		if err := ana.Hangup(); err != nil {
			t.Errorf("hang up: %v", err)
		}
		return &livekit.TransferSIPParticipantResponse{Status: livekit.SIPTransferStatus_STS_TRANSFER_FAILED, Reason: livekit.SIPTransferReason_STR_CALL_ENDED}, nil
	})
	ana = r.dial("phone", phone)
	hearTo(t, ana, ana.Dialed())
	if err := <-r.passed("phone", desk); transfer.CodeOf(err) != transfer.Refused {
		t.Fatalf("transfer: %v", err)
	}
	r.ended("phone", turn.End{Reason: "caller_hung_up", By: "caller"}, livekit.JobStatus_JS_SUCCESS)
}

// LiveKit without a SIP service, a caller without a telephone, and a call that is
// none: each is said, and ends no call.
func TestTransfersThatCannotBe(t *testing.T) {
	t.Parallel()
	r := newReported(t, "unable", nil, nil)
	if err := r.worker.Transfer(t.Context(), "call-none", desk); transfer.CodeOf(err) != transfer.NoCall {
		t.Fatalf("transfer of no call: %v", err)
	}
	for _, tt := range []struct {
		room   string
		change func(*caller.Config)
		want   transfer.Code
	}{
		{"web", nil, transfer.NoPhone},
		{"phone", phone, transfer.NoService},
	} {
		t.Run(tt.room, func(t *testing.T) {
			r := &reported{bench: r.in(t), tap: r.tap}
			ana := r.dial(tt.room, tt.change)
			hearTo(t, ana, ana.Dialed())
			if err := <-r.passed(tt.room, desk); transfer.CodeOf(err) != tt.want {
				t.Fatalf("transfer: %v, want %q", err, tt.want)
			}
			if err := ana.Hangup(); err != nil {
				t.Fatalf("hang up: %v", err)
			}
			r.ended(tt.room, turn.End{Reason: "caller_hung_up", By: "caller"}, livekit.JobStatus_JS_SUCCESS)
		})
	}
}
