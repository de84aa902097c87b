package child_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"headstart/worker/child"
)

// actEnv makes a process of this test the child of another.
const actEnv = "CHILD_TEST_ACT"

func TestMain(m *testing.M) {
	if what := os.Getenv(actEnv); what != "" {
		act(what)
	}
	goleak.VerifyTestMain(m)
}

// act is what children do.
func act(what string) {
	asked := make(chan os.Signal, 1)
	switch what {
	case "deaf":
		signal.Ignore(os.Interrupt)
	case "polite":
		signal.Notify(asked, os.Interrupt)
	case "parent":
		signal.Ignore(os.Interrupt)
		own := exec.Command(os.Args[0])
		own.Env = []string{actEnv + "=deaf", portEnv + "=" + os.Getenv(portEnv)}
		_ = own.Start()
	}
	fmt.Println("the moon is near")
	if what == "dies" {
		os.Exit(3)
	}
	if port := os.Getenv(portEnv); port != "" && what != "parent" {
		_, _ = net.Dial("tcp4", "127.0.0.1:"+port) // its end is when the process is gone
	}
	select {
	case <-asked:
		os.Exit(0)
	case <-time.After(time.Minute):
		os.Exit(1)
	}
}

// portEnv is where a child of a child connects to.
const portEnv = "CHILD_TEST_PORT"

func start(t *testing.T, what string, env ...string) *child.Child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(env, actEnv+"="+what)
	c, err := child.Start("neighbour", cmd, nil)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	t.Cleanup(func() {
		if err := c.End(); err != nil {
			t.Errorf("end: %v", err)
		}
	})
	return c
}

// said is ready when the child has written something.
func said(c *child.Child) func(context.Context) error {
	return func(context.Context) error {
		if c.LastLines() == "" {
			return errors.New("silence")
		}
		return nil
	}
}

var patient = child.Patience{Within: time.Minute, Every: 5 * time.Millisecond}

// A child that ends before it is ready, or is not ready in time, is told with what it
// wrote, and is gone.
func TestAChildThatIsNotReady(t *testing.T) {
	t.Parallel()
	enough := errors.New("enough")
	for _, c := range []struct {
		name, what string
		within     time.Duration
		cancel     bool
		says       []string
	}{
		{"it dies", "dies", time.Minute, false, []string{"neighbour ended", "exit status 3", "the moon is near"}},
		{"it is late", "deaf", 300 * time.Millisecond, false, []string{"wait for neighbour", "no answer after 300ms", "not today"}},
		{"nobody waits any more", "deaf", time.Minute, true, []string{"wait for neighbour", "enough", "the moon is near"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			n := start(t, c.what)
			err := n.Await(ctx, child.Patience{Within: c.within, Every: 5 * time.Millisecond}, func(context.Context) error {
				if c.cancel && n.LastLines() != "" {
					cancel(enough)
				}
				return errors.New("not today")
			})
			for _, words := range c.says {
				if err == nil || !strings.Contains(err.Error(), words) {
					t.Fatalf("%v does not say %q", err, words)
				}
			}
			<-n.Done()
		})
	}
}

// A child is asked as long as it was said, and killed when that did not help; with it
// goes what it started.
func TestEnd(t *testing.T) {
	t.Parallel()
	t.Run("polite", func(t *testing.T) {
		t.Parallel()
		c := start(t, "polite")
		if err := c.Await(t.Context(), patient, said(c)); err != nil {
			t.Fatal(err)
		}
		if err := c.End(child.Ask{Signal: os.Interrupt, Within: time.Minute}); err != nil {
			t.Fatal(err)
		}
		if err := c.End(); err != nil {
			t.Fatalf("end again: %v", err)
		}
	})
	t.Run("deaf, with a child of its own", func(t *testing.T) {
		t.Parallel()
		listener, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		_, port, _ := net.SplitHostPort(listener.Addr().String())
		c := start(t, "parent", portEnv+"="+port)
		grandchild, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer grandchild.Close()
		if err := c.End(child.Ask{Signal: os.Interrupt, Within: 50 * time.Millisecond}); err != nil {
			t.Fatal(err)
		}
		_ = grandchild.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := bufio.NewReader(grandchild).ReadByte(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("what the child started lives on: %v", err)
		}
	})
}

// A start is tried three times, and tells each failure.
func TestTries(t *testing.T) {
	t.Parallel()
	n := 0
	_, err := child.Tries(t.Context(), func() (int, error) { n++; return n, fmt.Errorf("failure %d", n) })
	if err == nil || err.Error() != "failure 1\nfailure 2\nfailure 3" {
		t.Fatalf("%v", err)
	}
	got, err := child.Tries(t.Context(), func() (int, error) {
		if n++; n < 5 {
			return 0, errors.New("not yet")
		}
		return n, nil
	})
	if got != 5 || err != nil {
		t.Fatalf("%d, %v", got, err)
	}
}

// Who wants the same thing at once has it made once; who waits can give up.
func TestOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "cache", "thing")
	there := func(path string) bool { _, err := os.Stat(path); return err == nil }
	var all sync.WaitGroup
	begun, waits := make(chan struct{}), make(chan struct{}, 4)
	build := func(context.Context) error {
		close(begun) // a second time panics
		<-waits
		return os.WriteFile(path, nil, 0o600)
	}
	for range 4 {
		all.Go(func() {
			if err := child.Once(t.Context(), path, there, func() { waits <- struct{}{} }, build); err != nil {
				t.Error(err)
			}
		})
	}
	<-begun
	gone, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	if err := child.Once(gone, path, there, func() {}, build); err != nil && !strings.Contains(err.Error(), "enough") {
		t.Fatalf("who gave up: %v", err)
	}
	all.Wait()
	if !there(path) {
		t.Fatal("it was not made")
	}
}
