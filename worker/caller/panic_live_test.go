package caller_test

import (
	"testing"
	"time"

	"go.uber.org/zap"

	"headstart/turn/crew"
	"headstart/worker/caller"
	"headstart/worker/devserver/devservertest"
)

// A panic on any goroutine of a caller ends its Run, which tells it, and leaves
// nothing of the call behind. Another caller of the process goes on.
func TestAPanicEndsItsCallerAlone(t *testing.T) {
	t.Parallel()
	server := devservertest.Start(t)
	other, otherEnded, stop := alone(t)
	defer stop()
	t.Run("all", func(t *testing.T) {
		for kind, sabotage := range caller.Sabotages {
			t.Run(kind, func(t *testing.T) {
				t.Parallel()
				c, err := caller.Dial(t.Context(), caller.Config{
					URL: server.URL, APIKey: server.APIKey, APISecret: server.APISecret, Room: t.Name(), Log: zap.NewNop(),
				})
				if err != nil {
					t.Fatalf("dial: %v", err)
				}
				sabotage(c)
				ended := make(chan error, 1)
				go func() { ended <- c.Run(t.Context()) }()
				select {
				case err = <-ended:
				case <-time.After(patience):
					t.Fatal("the caller goes on")
				}
				if crew.In(err) == nil {
					t.Fatalf("ended with %v", err)
				}
				for range c.Events() { // they close
				}
			})
		}
	})
	select {
	case err := <-otherEnded:
		t.Fatalf("the other caller ended: %v", err)
	default:
	}
	if err := other.Hangup(); err != nil {
		t.Fatalf("hang up: %v", err)
	}
	if err := <-otherEnded; err != nil {
		t.Fatalf("the other caller: %v", err)
	}
}
