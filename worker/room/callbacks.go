package room

import (
	"github.com/livekit/protocol/livekit"
	lksdk "github.com/livekit/server-sdk-go/v2"
	"github.com/pion/webrtc/v4"

	"headstart/worker/room/line"
	"headstart/worker/room/stream"
)

// The notes that the callbacks leave for the loop.
type (
	joined    struct{ participant *lksdk.RemoteParticipant }
	departed  struct{ participant *lksdk.RemoteParticipant }
	published struct {
		publication *lksdk.RemoteTrackPublication
		participant *lksdk.RemoteParticipant
	}
	subscribed struct {
		track       *webrtc.TrackRemote
		publication *lksdk.RemoteTrackPublication
		participant *lksdk.RemoteParticipant
	}
	changed struct {
		attributes map[string]string
		identity   string
	}
	graded struct {
		identity string
		quality  livekit.ConnectionQuality
	}
	pressed struct {
		identity string
		packet   *livekit.SipDTMF
	}
	typed        struct{ identity, text string }
	listened     struct{}
	reconnecting struct{}
	reconnected  struct{}
	closed       struct{ reason livekit.DisconnectReason }
	burst        struct{ err error } // a callback panicked
)

// callbacks only write notes: some of them run while the SDK holds its locks.
func (r *Room) callbacks() *lksdk.RoomCallback {
	put := r.mailbox.Put
	return &lksdk.RoomCallback{
		OnParticipantConnected:    func(p *lksdk.RemoteParticipant) { put(joined{p}) },
		OnParticipantDisconnected: func(p *lksdk.RemoteParticipant) { put(departed{p}) },
		OnReconnecting:            func() { r.renewal.begin(); put(reconnecting{}) },
		OnReconnected:             func() { r.renewal.end(); put(reconnected{}) },
		OnDisconnected:            func() { put(closed{r.sdk.DisconnectReason()}) },
		OnLocalTrackSubscribed:    func(*lksdk.LocalTrackPublication, *lksdk.LocalParticipant) { put(listened{}) },
		ParticipantCallback: lksdk.ParticipantCallback{
			OnTrackPublished: func(t *lksdk.RemoteTrackPublication, p *lksdk.RemoteParticipant) { put(published{t, p}) },
			OnTrackSubscribed: func(track *webrtc.TrackRemote, t *lksdk.RemoteTrackPublication, p *lksdk.RemoteParticipant) {
				put(subscribed{track, t, p})
			},
			OnAttributesChanged: func(attributes map[string]string, p lksdk.Participant) {
				put(changed{attributes, p.Identity()})
			},
			OnConnectionQualityChanged: func(u *livekit.ConnectionQualityInfo, p lksdk.Participant) {
				put(graded{p.Identity(), u.GetQuality()})
			},
			OnDataPacket: func(packet lksdk.DataPacket, from lksdk.DataReceiveParams) {
				switch v := packet.(type) {
				case *livekit.SipDTMF:
					put(pressed{from.SenderIdentity, v})
				case *livekit.ChatMessage:
					put(typed{from.SenderIdentity, v.GetMessage()})
				}
			},
		},
	}
}

// keyOf is the key of a packet: its digit, or else what its code stands for. It
// is false for what no telephone has.
func keyOf(p *livekit.SipDTMF) (string, bool) {
	if p.GetDigit() == "" {
		return line.Key(p.GetCode())
	}
	_, ok := line.KeyCode(p.GetDigit())
	return p.GetDigit(), ok
}

// chatTopic is where clients type.
const chatTopic = "lk.chat"

func (r *Room) hearText(u stream.Update) {
	if u.Topic == chatTopic && u.Done {
		r.mailbox.Put(typed{u.Identity, u.Text})
	}
}
