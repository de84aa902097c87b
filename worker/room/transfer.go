package room

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/livekit/protocol/auth"
	"github.com/livekit/protocol/livekit"
	"github.com/twitchtv/twirp"
	"google.golang.org/protobuf/types/known/durationpb"
)

// answerMargin is how much longer than the ringing the server may take to say how
// it ended.
const answerMargin = 5 * time.Second

// SIPFailure is why the telephone network did not do what it was asked.
type SIPFailure struct {
	Status  int    // of SIP, 486 for one; 0 when no telephone said anything
	Reason  string // in the network's words, or the server's
	Late    bool   // nobody answered in time
	Service bool   // no SIP service answered the server
}

// Error tells the failure.
func (f *SIPFailure) Error() string {
	if f.Status != 0 {
		return fmt.Sprintf("sip %d: %s", f.Status, f.Reason)
	}
	return f.Reason
}

// Refer sends the telephone of a participant elsewhere: "tel:+34910000002" or
// "sip:desk@example.org". It returns once somebody there has answered, within the
// time for ringing and 5 s; the SIP service then takes the participant out of
// the room. A *SIPFailure says why nobody did; the call then goes on.
func (r *Room) Refer(ctx context.Context, identity, to string, ringing time.Duration) error {
	within := ringing + answerMargin
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("no answer after %v", within))
	defer cancel()
	ctx, client, err := r.request(ctx, func(t *auth.AccessToken) {
		t.SetSIPGrant(&auth.SIPGrant{Call: true}).SetVideoGrant(&auth.VideoGrant{RoomAdmin: true, Room: r.Name()})
	})
	if err != nil {
		return fmt.Errorf("refer: %w", err)
	}
	answer, err := livekit.NewSIPProtobufClient(httpURL(r.config.URL), client).TransferSIPParticipant(ctx, &livekit.TransferSIPParticipantRequest{
		RoomName: r.Name(), ParticipantIdentity: identity, TransferTo: to, RingingTimeout: durationpb.New(ringing),
	})
	if err != nil {
		return fmt.Errorf("refer: %w", sipFailure(ctx, err))
	}
	if answer.GetStatus() == livekit.SIPTransferStatus_STS_TRANSFER_FAILED { // the one failure that is no error there
		return fmt.Errorf("refer: %w", &SIPFailure{Status: int(answer.GetSipStatus().GetCode()), Reason: answer.GetReason().String()})
	}
	return nil
}

// sipFailure reads the server's error: what the telephone network said stands
// beside it.
func sipFailure(ctx context.Context, err error) error {
	said, ok := errors.AsType[twirp.Error](err)
	switch {
	case ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded):
		return context.Cause(ctx) // nobody wants to know any more
	case ctx.Err() != nil:
		return &SIPFailure{Reason: context.Cause(ctx).Error(), Late: true}
	case !ok:
		return err
	}
	f := &SIPFailure{Reason: said.Msg()}
	if status, err := strconv.Atoi(said.Meta("sip_status_code")); err == nil {
		f.Status, f.Reason = status, said.Meta("sip_status")
		return f
	}
	switch {
	case said.Code() == twirp.DeadlineExceeded, said.Meta("sip_transfer_reason") == livekit.SIPTransferReason_STR_RINGING_TIMEOUT.String():
		f.Late = true
	case said.Code() == twirp.Unavailable:
		f.Service = true
	}
	return f
}
