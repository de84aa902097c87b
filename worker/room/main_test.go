package room_test

import (
	"context"
	"errors"
	"net"
	"testing"

	"go.uber.org/goleak"

	"headstart/turn"
	"headstart/worker/room"
)

var _ turn.Mouth = (*room.Room)(nil)

// TestMain answers no name: a LiveKit server without a configured STUN server
// sends its clients to public ones, whose names pion looks up without a
// context. Where there is no DNS that outlives a test by ten seconds.
func TestMain(m *testing.M) {
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("no names in tests")
	}}
	room.SilenceSDK()
	goleak.VerifyTestMain(m)
}
