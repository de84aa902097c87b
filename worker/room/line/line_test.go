package line_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"headstart/worker/room/line"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMailboxKeepsAllInOrder(t *testing.T) {
	t.Parallel()
	m := line.NewMailbox[int]()
	for i := range 5 {
		m.Put(i)
	}
	<-m.Bell()
	if diff := cmp.Diff([]int{0, 1, 2, 3, 4}, m.Take()); diff != "" {
		t.Fatalf("notes (-want +got):\n%s", diff)
	}
	select {
	case <-m.Bell():
		t.Fatal("the bell rings for nothing")
	default:
	}
}

func TestOutboxSendsInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		o := line.NewOutbox(make(chan struct{}))
		go o.Run(ctx)
		var sent []string
		o.Post(func() error { sent = append(sent, "posted"); return nil }, func(error) {})
		refused := errors.New("refused")
		err := o.Deliver(ctx, "say it", func() error { sent = append(sent, "delivered"); return refused })
		if !errors.Is(err, refused) || err.Error() != "say it: refused" {
			t.Fatalf("deliver: %v", err)
		}
		if diff := cmp.Diff([]string{"posted", "delivered"}, sent); diff != "" {
			t.Fatalf("order (-want +got):\n%s", diff)
		}
		stop()
		synctest.Wait()
	})
}

func TestOutboxWriteThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		release, closed := make(chan struct{}), make(chan struct{})
		o := line.NewOutbox(closed)
		ended := make(chan struct{})
		go func() { defer close(ended); o.Run(ctx) }()
		begin := time.Now()
		err := o.Deliver(ctx, "hang", func() error { <-release; return nil })
		if got := time.Since(begin); err == nil || got != line.Write {
			t.Fatalf("a write that hangs took %v: %v", got, err)
		}
		synctest.Wait()
		if n := o.Abandoned(); n != 1 {
			t.Fatalf("%d writes abandoned, want 1", n)
		}
		if err := o.Deliver(ctx, "go on", func() error { return nil }); err != nil || time.Since(begin) != line.Write {
			t.Fatalf("the write after it, %v after the first: %v", time.Since(begin), err)
		}
		stop()
		<-ended
		if got := time.Since(begin); got != line.Write {
			t.Fatalf("run ended after %v: it waits for what is abandoned", got)
		}
		close(closed)
		if err := o.Deliver(ctx, "late", func() error { return nil }); !errors.Is(err, line.ErrLeft) {
			t.Fatalf("deliver after the end: %v", err)
		}
		close(release)
		synctest.Wait()
	})
}

func TestOutboxDoesNotSendWhatNobodyWaitsFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		o := line.NewOutbox(make(chan struct{}))
		begin := time.Now()
		if err := o.Deliver(ctx, "early", func() error { t.Error("sent too late"); return nil }); err == nil || time.Since(begin) != line.Write {
			t.Fatalf("deliver without a sender took %v: %v", time.Since(begin), err)
		}
		go o.Run(ctx)
		if err := o.Deliver(ctx, "now", func() error { return nil }); err != nil {
			t.Fatal(err)
		}
		stop()
		synctest.Wait()
	})
}

func TestAwaitGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin, release := time.Now(), make(chan struct{})
		err := line.Await(func() error { <-release; return nil })
		if got := time.Since(begin); err == nil || got != line.Write {
			t.Fatalf("waited %v: %v", got, err)
		}
		close(release)
		synctest.Wait()
	})
}
