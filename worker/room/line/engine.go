package line

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"
	"unsafe"

	"github.com/livekit/protocol/livekit"
	lksdk "github.com/livekit/server-sdk-go/v2"
	"github.com/livekit/server-sdk-go/v2/signalling"
	"github.com/pion/webrtc/v4"
)

// ErrLayout says that the SDK no longer looks as this package knows it.
var ErrLayout = errors.New("the SDK's room has changed: its engine is not where it was")

// Drop ends a room as a machine that loses its power does: nobody is told. The
// SDK has no way to do so but through its private fields; the error and the tests
// hold it to the version in go.mod. It waits as Leave does.
func Drop(room *lksdk.Room) error {
	engine, err := engineOf(room)
	if err != nil {
		return fmt.Errorf("drop room: %w", err)
	}
	transport, err := transportOf(engine)
	if err != nil {
		return fmt.Errorf("drop room: %w", err)
	}
	engine.Close()
	if err := Await(func() error { transport.Close(); return nil }); err != nil {
		return fmt.Errorf("drop room: %w", err)
	}
	deadline := time.NewTimer(Write)
	defer deadline.Stop()
	if !settled(room.LocalParticipant, deadline.C) {
		return fmt.Errorf("drop room: its connections are still open after %v", Write)
	}
	return Leave(room) // the line is closed by now: this only tidies up on our side
}

// Announce tells the server what a published track can do, which the SDK has no
// words for.
func Announce(room *lksdk.Room, track string, features ...livekit.AudioTrackFeature) error {
	engine, err := engineOf(room)
	if err != nil {
		return fmt.Errorf("announce track: %w", err)
	}
	transport, err := transportOf(engine)
	if err != nil {
		return fmt.Errorf("announce track: %w", err)
	}
	err = transport.SendMessage(&livekit.SignalRequest{Message: &livekit.SignalRequest_UpdateAudioTrack{
		UpdateAudioTrack: &livekit.UpdateLocalAudioTrack{TrackSid: track, Features: features},
	}})
	if err != nil {
		return fmt.Errorf("announce track: %w", err)
	}
	return nil
}

// AwaitSendable waits until a data packet would be sent at once: until ctx ends,
// or left closes, and 2 s at most. The SDK's own wait goes on for seconds in a room
// that was left meanwhile.
func AwaitSendable(ctx context.Context, room *lksdk.Room, left <-chan struct{}) error {
	return AwaitOpen(ctx, func() (bool, error) {
		select {
		case <-left:
			return false, ErrLeft
		default:
			return sendable(room)
		}
	})
}

func sendable(room *lksdk.Room) (bool, error) {
	engine, err := engineOf(room)
	if err != nil {
		return false, fmt.Errorf("look at the data channels: %w", err)
	}
	if publisher, there := engine.Publisher(); !there || !publisher.IsConnected() {
		return false, nil
	}
	for _, kind := range []livekit.DataPacket_Kind{livekit.DataPacket_RELIABLE, livekit.DataPacket_LOSSY} {
		if channel := engine.GetDataChannel(kind); channel == nil || channel.ReadyState() != webrtc.DataChannelStateOpen {
			return false, nil
		}
	}
	return true, nil
}

func engineOf(room *lksdk.Room) (*lksdk.RTCEngine, error) {
	field := reflect.ValueOf(room).Elem().FieldByName("engine")
	if !field.IsValid() || field.Type() != reflect.TypeFor[*lksdk.RTCEngine]() || field.IsNil() {
		return nil, ErrLayout
	}
	return *(**lksdk.RTCEngine)(unsafe.Pointer(field.UnsafeAddr())), nil
}

func transportOf(engine *lksdk.RTCEngine) (signalling.SignalTransport, error) {
	field := reflect.ValueOf(engine).Elem().FieldByName("signalTransport")
	if !field.IsValid() || field.Type() != reflect.TypeFor[signalling.SignalTransport]() || field.IsNil() {
		return nil, ErrLayout
	}
	return *(*signalling.SignalTransport)(unsafe.Pointer(field.UnsafeAddr())), nil
}

// reachWithin is how long the channel may take to open on which the server hands on
// what others send: its handshake runs while the connection is new.
const reachWithin = 10 * time.Second

// AwaitReachable waits until what others send reaches the room, until ctx ends, and
// 10 s at most.
func AwaitReachable(ctx context.Context, room *lksdk.Room) error {
	return awaitOpen(ctx, reachWithin, func() (bool, error) { return Reachable(room) })
}

// AwaitOpen waits until open is so: 2 s at most.
func AwaitOpen(ctx context.Context, open func() (bool, error)) error {
	return awaitOpen(ctx, Write, open)
}

func awaitOpen(ctx context.Context, within time.Duration, open func() (bool, error)) error {
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	for {
		if ok, err := open(); ok || err != nil {
			return err
		}
		select {
		case <-look.C:
		case <-deadline.C:
			return fmt.Errorf("open data channel: %w: not open after %v", ErrStill, within)
		case <-ctx.Done():
			return fmt.Errorf("open data channel: %w", context.Cause(ctx))
		}
	}
}

// Reachable tells whether what others send reaches the room: the channel on which
// the server hands messages on is open. The server drops what comes before.
func Reachable(room *lksdk.Room) (bool, error) {
	engine, err := engineOf(room)
	if err != nil {
		return false, fmt.Errorf("look at the data channel: %w", err)
	}
	channel := engine.GetDataChannelSub(livekit.DataPacket_RELIABLE)
	if room.LocalParticipant.GetSubscriberPeerConnection() == nil { // one connection for both ways
		channel = engine.GetDataChannel(livekit.DataPacket_RELIABLE)
	}
	return channel != nil && channel.ReadyState() == webrtc.DataChannelStateOpen, nil
}
