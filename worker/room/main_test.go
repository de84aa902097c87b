package room_test

import (
	"testing"

	"go.uber.org/goleak"

	"headstart/turn"
	"headstart/worker/room"
)

var _ turn.Mouth = (*room.Room)(nil)

func TestMain(m *testing.M) {
	room.SilenceSDK()
	goleak.VerifyTestMain(m)
}
