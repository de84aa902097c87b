// Package line is what both ends of a call do with LiveKit's SDK: publish a
// track, put packets in their place on it, send within a deadline, take notes
// from callbacks, and leave so that nothing is left. It knows nothing of calls.
//
// The SDK's own calls know no deadlines. Here each has one; when it passes, the
// error says what did not end and after how long.
package line

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/livekit/protocol/livekit"
	lksdk "github.com/livekit/server-sdk-go/v2"
	"github.com/pion/webrtc/v4"
	"github.com/pion/webrtc/v4/pkg/media"

	"headstart/turn/crew"
	"headstart/worker/room/audio"
)

// Write is how long a message to the room may take.
const Write = 2 * time.Second

// Silent is 20 ms of Opus silence (one CELT frame, full band).
var Silent = []byte{0xf8, 0xff, 0xfe}

// ErrLeft says that the room was left before what was asked could be done.
var ErrLeft = errors.New("the room was left")

// ErrStill marks what had to be left behind.
var ErrStill = errors.New("it did not end in time")

// Track is a published microphone.
type Track struct {
	ID    string // as the server names it
	track *lksdk.LocalTrack
}

// Publish publishes a microphone of that name. The SDK waits up to 10 s and
// knows no context, so it is left to itself when ctx ends first; leaving the
// room lets it go.
func Publish(ctx context.Context, room *lksdk.Room, name string) (*Track, error) {
	track, err := lksdk.NewLocalSampleTrack(webrtc.RTPCodecCapability{
		MimeType: webrtc.MimeTypeOpus, ClockRate: audio.SaidRate, Channels: 2, SDPFmtpLine: "minptime=10;useinbandfec=1",
	})
	if err != nil {
		return nil, fmt.Errorf("make track: %w", err)
	}
	var publication *lksdk.LocalTrackPublication
	done := make(chan error, 1)
	go func() {
		done <- crew.Guard(func() (err error) {
			publication, err = room.LocalParticipant.PublishTrack(track, &lksdk.TrackPublicationOptions{
				Name: name, Source: livekit.TrackSource_MICROPHONE,
			})
			return err
		})
	}()
	select {
	case <-ctx.Done():
		return nil, fmt.Errorf("publish track: %w", context.Cause(ctx))
	case err := <-done:
		if err != nil {
			return nil, fmt.Errorf("publish track: %w", err)
		}
		return &Track{ID: publication.SID(), track: track}, nil
	}
}

// firstTime is where a track's RTP clock begins; 0 would mean no time to the SDK.
const firstTime = 1 << 20

// Send writes an Opus packet of 20 ms at its slot: slots that were left out are
// a pause for the listener, not a loss. Before the track is negotiated packets
// are lost without a word; a subscription is the proof that it is.
func (t *Track) Send(packet []byte, slot int64) error {
	return t.track.WriteSample(media.Sample{
		Data: packet, Duration: audio.Frame, PacketTimestamp: uint32(firstTime + slot*audio.SaidFrame),
	}, nil)
}

// StopReading makes the read that waits on a track, and every later one,
// return. Its error only says that the track has ended already.
func StopReading(track *webrtc.TrackRemote) {
	if track != nil {
		_ = track.SetReadDeadline(time.Unix(1, 0))
	}
}

// Leave leaves the room and waits until its connections are closed, which the
// SDK does on its own time: 2 s in all.
func Leave(room *lksdk.Room) error {
	return LeaveAs(room, livekit.DisconnectReason_CLIENT_INITIATED)
}

// LeaveAs is Leave with a reason that the server is told, and passes on when it
// is one that clients may have.
func LeaveAs(room *lksdk.Room, reason livekit.DisconnectReason) error {
	gone := make(chan error, 1)
	go func() { gone <- crew.Guard(func() error { room.DisconnectWithReason(reason); return nil }) }()
	deadline := time.NewTimer(Write)
	defer deadline.Stop()
	select {
	case err := <-gone:
		if err != nil {
			return fmt.Errorf("leave room: %w", err)
		}
	case <-deadline.C:
		return fmt.Errorf("leave room: %w: still connected after %v", ErrStill, Write)
	}
	if !settled(room.LocalParticipant, deadline.C) {
		return fmt.Errorf("leave room: %w: its connections are still open after %v", ErrStill, Write)
	}
	return nil
}

// settled waits until both peer connections are closed.
func settled(local *lksdk.LocalParticipant, deadline <-chan time.Time) bool {
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for !shut(local.GetPublisherPeerConnection()) || !shut(local.GetSubscriberPeerConnection()) {
		select {
		case <-look.C:
		case <-deadline:
			return false
		}
	}
	return true
}

func shut(p *webrtc.PeerConnection) bool {
	return p == nil || p.ConnectionState() == webrtc.PeerConnectionStateClosed
}

// Await waits for loops that were told to end: 2 s at most.
func Await(end func() error) error {
	ended := make(chan error, 1)
	go func() { ended <- crew.Guard(end) }()
	deadline := time.NewTimer(Write)
	defer deadline.Stop()
	select {
	case err := <-ended:
		return err
	case <-deadline.C:
		return fmt.Errorf("end loops: %w: they still run after %v", ErrStill, Write)
	}
}
