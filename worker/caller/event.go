package caller

import (
	"context"
	"time"

	"github.com/livekit/protocol/livekit"
	lksdk "github.com/livekit/server-sdk-go/v2"
	"github.com/pion/webrtc/v4"

	"headstart/worker/room/line"
	"headstart/worker/room/stream"
)

// Event is something that the caller's client would show.
type Event interface{ event() }

// AgentJoined says that an agent is in the room.
type AgentJoined struct{ Identity string }

// AgentLeft says that it is gone.
type AgentLeft struct{ Identity string }

// AgentState tells what the agent says that it does: "listening", "thinking".
type AgentState struct{ State string }

// Transcript is the text of a segment so far. The last one of a segment has
// Final and Done set.
type Transcript struct {
	Identity string // who said it
	Segment  string
	Track    string // the track in which it was said
	Text     string
	Final    bool // the words will not change
	Done     bool // this stream of text is complete
	At       time.Time
}

// Key is a key that somebody in the room pressed, an agent in a menu for one.
type Key struct {
	Identity string
	Digit    string
	Code     uint32 // the event's, of RFC 4733
	At       time.Time
}

// Closed says why the room is gone: LiveKit's name for it. It is the last event.
type Closed struct{ Reason string }

func (AgentJoined) event() {}
func (AgentLeft) event()   {}
func (AgentState) event()  {}
func (Transcript) event()  {}
func (Key) event()         {}
func (Closed) event()      {}

// The topics and attributes of agents' text.
const (
	transcriptTopic = "lk.transcription"
	chatTopic       = "lk.chat"
	attrFinal       = "lk.transcription_final"
	attrSegment     = "lk.segment_id"
	attrTrack       = "lk.transcribed_track_id"
	attrState       = "lk.agent.state"
)

// heardTrack is the note of a track that was subscribed to.
type heardTrack struct {
	track    *webrtc.TrackRemote
	identity string
}

// burst is the note of a callback that panicked.
type burst struct{ err error }

// callbacks only write notes: some of them run while the SDK holds its locks.
func (c *Caller) callbacks() *lksdk.RoomCallback {
	put := c.mailbox.Put
	return &lksdk.RoomCallback{
		OnParticipantConnected: func(p *lksdk.RemoteParticipant) {
			if isAgent(p) {
				put(AgentJoined{Identity: p.Identity()})
			}
		},
		OnParticipantDisconnected: func(p *lksdk.RemoteParticipant) {
			if isAgent(p) {
				put(AgentLeft{Identity: p.Identity()})
			}
		},
		OnDisconnected: func() { put(Closed{Reason: c.sdk.DisconnectReason().String()}) },
		OnLocalTrackSubscribed: func(*lksdk.LocalTrackPublication, *lksdk.LocalParticipant) {
			c.answerOnce.Do(func() { close(c.answered) })
		},
		ParticipantCallback: lksdk.ParticipantCallback{
			OnTrackSubscribed: func(track *webrtc.TrackRemote, _ *lksdk.RemoteTrackPublication, p *lksdk.RemoteParticipant) {
				if isAgent(p) && track.Kind() == webrtc.RTPCodecTypeAudio {
					put(heardTrack{track: track, identity: p.Identity()})
				}
			},
			OnDataPacket: func(packet lksdk.DataPacket, from lksdk.DataReceiveParams) {
				if key, ok := packet.(*livekit.SipDTMF); ok {
					put(Key{Identity: from.SenderIdentity, Digit: key.GetDigit(), Code: key.GetCode(), At: time.Now()})
				}
			},
			OnAttributesChanged: func(changed map[string]string, p lksdk.Participant) {
				if state, ok := changed[attrState]; ok && p.Kind() == lksdk.ParticipantAgent {
					put(AgentState{State: state})
				}
			},
		},
	}
}

func isAgent(p *lksdk.RemoteParticipant) bool { return p.Kind() == lksdk.ParticipantAgent }

func (c *Caller) hearText(u stream.Update) {
	if u.Topic != transcriptTopic || (u.Text == "" && !u.Done) {
		return
	}
	c.mailbox.Put(Transcript{
		Identity: u.Identity, Segment: u.Attributes[attrSegment], Track: u.Attributes[attrTrack],
		Text: u.Text, Final: u.Attributes[attrFinal] == "true", Done: u.Done, At: time.Now(),
	})
}

// Events gives what happens, in order. It closes when Run returns; what was not
// read by then can still be read. When nobody reads, the last 4,096 are kept.
func (c *Caller) Events() <-chan Event { return c.events }

// Chat types a text to the agent.
func (c *Caller) Chat(ctx context.Context, text string) error {
	typed := stream.Text{ID: stream.NewID(), Topic: chatTopic, At: time.Now()}
	return c.outbox.Deliver(ctx, "chat", func() error {
		if err := line.AwaitSendable(ctx, c.sdk, c.left); err != nil {
			return err
		}
		for _, p := range typed.Whole(text) {
			if err := c.sdk.LocalParticipant.PublishDataPacket(p, lksdk.WithDataPublishReliable(true)); err != nil {
				return err
			}
		}
		return nil
	})
}

// SetAttributes changes the caller's attributes, as the telephone network does
// with "sip.callStatus". It needs Config.CanUpdateMetadata.
func (c *Caller) SetAttributes(ctx context.Context, attributes map[string]string) error {
	return c.outbox.Deliver(ctx, "set attributes", func() error {
		c.sdk.LocalParticipant.SetAttributes(attributes)
		return nil
	})
}
