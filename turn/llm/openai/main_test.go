package openai_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"headstart/turn/llm/openai/openaitest"
)

func TestMain(m *testing.M) {
	if err := openaitest.Warm(context.Background()); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
