package deepgram_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"
	"go.uber.org/zap"

	"headstart/turn/stt/deepgram"
	"headstart/turn/stt/deepgram/deepgramtest"
	"headstart/turn/stt/line/linetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake starts a scripted Deepgram for one test.
func fake(t *testing.T, script deepgramtest.Script) (*deepgramtest.Server, deepgram.Config) {
	t.Helper()
	server := deepgramtest.New(script)
	config := deepgram.Config{APIKey: "secret", BaseURL: "ws://deepgram.test", HTTPClient: linetest.Serve(t, server)}
	t.Cleanup(server.Close)
	return server, config
}

// call runs one Recognise while speak feeds it, and gives what was heard.
func call(ctx context.Context, t *testing.T, config deepgram.Config, speak func(*linetest.Mouth)) ([]linetest.Heard, error) {
	t.Helper()
	recogniser, err := deepgram.New(config, zap.NewNop())
	if err != nil {
		t.Fatalf("new recogniser: %v", err)
	}
	return linetest.Call(ctx, t, recogniser, speak)
}
