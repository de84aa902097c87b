package devserver_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv(orphanEnv) != "" {
		startAndWait()
	}
	goleak.VerifyTestMain(m)
}
