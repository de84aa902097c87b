package worker_test

import (
	"testing"

	"go.uber.org/goleak"

	"headstart/worker/room"
)

func TestMain(m *testing.M) {
	room.SilenceSDK()
	goleak.VerifyTestMain(m)
}
