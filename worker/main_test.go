package worker_test

import (
	"testing"

	"go.uber.org/goleak"

	"headstart/store/postgres/postgrestest"
	"headstart/worker/room"
)

func TestMain(m *testing.M) {
	room.SilenceSDK()
	goleak.VerifyTestMain(postgrestest.Main(m))
}
