package turn_test

import (
	"testing"

	"go.uber.org/goleak"

	"headstart/turn/llm/openai/openaitest"
)

func TestMain(m *testing.M) {
	if err := openaitest.Warm(); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
