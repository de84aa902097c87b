package caller_test

import (
	"context"
	"errors"
	"math"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"headstart/worker/caller"
	"headstart/worker/devserver/devservertest"
	"headstart/worker/room"
)

// TestMain answers no name: see the package room's.
func TestMain(m *testing.M) {
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("no names in tests")
	}}
	room.SilenceSDK()
	goleak.VerifyTestMain(m)
}

const patience = time.Minute

func sine(d time.Duration, rate int) []int16 {
	pcm := make([]int16, int(d*time.Duration(rate)/time.Second))
	for i := range pcm {
		pcm[i] = int16(16384 * math.Sin(2*math.Pi*440*float64(i)/float64(rate)))
	}
	return pcm
}

// alone is a call in a room in which nobody else is.
func alone(t *testing.T) (*caller.Caller, <-chan error, context.CancelFunc) {
	t.Helper()
	server := devservertest.Start(t)
	c, err := caller.Dial(t.Context(), caller.Config{
		URL: server.URL, APIKey: server.APIKey, APISecret: server.APISecret, Room: t.Name(), Kind: caller.Phone, Log: zap.NewNop(),
	})
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	return c, ended, stop
}

// What an agent writes as soon as it sees the caller is not lost.
func TestWhoHasDialledIsReached(t *testing.T) {
	t.Parallel()
	for range 5 {
		c, ended, stop := alone(t)
		if there, err := c.Reachable(); err != nil || !there {
			t.Errorf("reached: %v, %v", there, err)
		}
		stop()
		<-ended
	}
}

func TestSayTakesItsTime(t *testing.T) {
	t.Parallel()
	c, ended, stop := alone(t)
	defer stop()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	asked := time.Now()
	started, err := c.Say(ctx, sine(300*time.Millisecond, 16000), 16000)
	if err != nil {
		t.Fatalf("say: %v", err)
	}
	// the last of 15 frames leaves 280 ms after the first
	if took := time.Since(started); started.Before(asked) || took < 200*time.Millisecond || took > patience {
		t.Fatalf("300ms took %v", took)
	}
	if started, err := c.Say(ctx, nil, 16000); err != nil || !started.IsZero() {
		t.Fatalf("saying nothing: %v, %v", started, err)
	}
	enough, minute := errors.New("enough"), sine(time.Minute, 16000)
	short, cancelShort := context.WithTimeoutCause(ctx, 200*time.Millisecond, enough)
	defer cancelShort()
	if started, err := c.Say(short, minute, 16000); !errors.Is(err, enough) || started.IsZero() {
		t.Fatalf("a minute in 200ms: started %v, %v", started, err)
	}
	if _, err := c.Say(ctx, []int16{1}, 1); err == nil {
		t.Fatal("1 Hz is taken")
	}
	if err := c.Hangup(); err != nil {
		t.Fatalf("hang up: %v", err)
	}
	if err := <-ended; err != nil {
		t.Fatalf("run: %v", err)
	}
	if _, err := c.Say(ctx, sine(time.Second, 16000), 16000); !errors.Is(err, room.ErrLeft) {
		t.Fatalf("say after the hang-up: %v", err)
	}
}

func TestWaitsEnd(t *testing.T) {
	t.Parallel()
	c, ended, stop := alone(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := c.WaitSilent(ctx, 100*time.Millisecond); err != nil {
		t.Fatalf("a call without an agent is not silent: %v", err)
	}
	enough := errors.New("enough")
	short, cancelShort := context.WithTimeoutCause(ctx, 100*time.Millisecond, enough)
	defer cancelShort()
	if _, err := c.WaitSound(short, c.Dialed()); !errors.Is(err, enough) {
		t.Fatalf("wait for a sound: %v", err)
	}
	if err := c.Answered(short); !errors.Is(err, enough) {
		t.Fatalf("wait for an answer: %v", err)
	}
	if err := c.DTMF(ctx, "1x"); err == nil || !strings.Contains(err.Error(), `'x'`) {
		t.Fatalf("key x: %v", err)
	}
	if diff := cmp.Diff(0, len(c.Heard(time.Time{}, time.Time{}))); diff != "" {
		t.Fatalf("heard nobody (-want +got):\n%s", diff)
	}
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Fatalf("run whose context ended: %v", err)
	}
	if err := c.Answered(ctx); !errors.Is(err, room.ErrLeft) {
		t.Fatalf("wait for an answer after the end: %v", err)
	}
}

func TestValidateJoinsComplaints(t *testing.T) {
	t.Parallel()
	err := caller.Config{Kind: 9, Noise: -1}.Validate()
	for _, part := range []string{"url", "api key", "api secret", "room", "kind 9", "noise -1", "logger"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in: %v", part, err)
		}
	}
}

func TestDialNobody(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := caller.Dial(ctx, caller.Config{URL: "ws://127.0.0.1:1", APIKey: "k", APISecret: "s", Room: "r", Log: zap.NewNop()})
	if err == nil {
		t.Fatal("port 1 answers")
	}
}
