package devserver_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"headstart/worker/devserver"
	"headstart/worker/devserver/devservertest"
)

func TestServerAnswersAndEnds(t *testing.T) {
	t.Parallel()
	shared := devservertest.Start(t)
	if again := devservertest.Start(t); again != shared {
		t.Fatalf("a second server was started: %s beside %s", again.URL, shared.URL)
	}
	s, err := devserver.Start(t.Context(), devserver.Config{})
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	if s.URL == shared.URL || s.APISecret == shared.APISecret {
		t.Fatalf("two servers share an address or a secret: %s, %s", s.URL, shared.URL)
	}
	if status := get(t, s.URL); status != http.StatusOK {
		t.Fatalf("status %d, want 200", status)
	}
	if err := s.Stop(); err != nil {
		t.Fatalf("stop: %v", err)
	}
	select {
	case <-s.Done():
	default:
		t.Fatalf("stopped and not done")
	}
	if err := s.Stop(); err != nil {
		t.Fatalf("stop again: %v", err)
	}
	if status := get(t, s.URL); status != 0 {
		t.Fatalf("status %d after stop, want no answer", status)
	}
	if status := get(t, shared.URL); status != http.StatusOK {
		t.Fatalf("the other server answers %d, want 200", status)
	}
}

// TestServerDiesWithItsParent kills a process that runs a server.
func TestServerDiesWithItsParent(t *testing.T) {
	t.Parallel()
	if !diesWithParent {
		t.Skip("only Linux ends a child with its parent")
	}
	devservertest.Start(t) // found and built, or skipped
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), orphanEnv+"=1")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatalf("pipe: %v", err)
	}
	if err := parent.Start(); err != nil {
		t.Fatalf("start parent: %v", err)
	}
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("read the server's address: %v", err)
	}
	url = strings.TrimSpace(url)
	if status := get(t, url); status != http.StatusOK {
		t.Fatalf("status %d before, want 200", status)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatalf("kill parent: %v", err)
	}
	_ = parent.Wait()
	// The kernel kills it at once; the connection's end is when it is gone.
	deadline := time.Now().Add(time.Minute)
	for get(t, url) != 0 {
		if time.Now().After(deadline) {
			t.Fatalf("the server outlives its parent by a minute")
		}
	}
}

const orphanEnv = "DEVSERVER_TEST_ORPHAN"

// startAndWait is the parent of TestServerDiesWithItsParent.
func startAndWait() {
	s, err := devserver.Start(context.Background(), devserver.Config{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(s.URL)
	<-s.Done()
	os.Exit(1)
}

// get returns the status of the server's front page, 0 when nothing answers.
func get(t *testing.T, url string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http"+strings.TrimPrefix(url, "ws"), nil)
	if err != nil {
		t.Fatalf("make request: %v", err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

func TestStartTellsHowTheServerDied(t *testing.T) {
	t.Parallel()
	bin := buildFake(t, `package main
import "fmt"
func main() { fmt.Println("the moon is too close") }`)
	_, err := devserver.Start(t.Context(), devserver.Config{Binary: bin})
	if err == nil {
		t.Fatalf("a server that dies was started")
	}
	if got := strings.Count(err.Error(), "the moon is too close"); got != 3 {
		t.Fatalf("%d of 3 tries tell the last line: %v", got, err)
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	t.Parallel()
	bin := buildFake(t, `package main
import ("time"; "fmt")
func main() { fmt.Println("thinking"); time.Sleep(time.Hour) }`)
	enough := errors.New("enough")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, enough)
	defer cancel()
	_, err := devserver.Start(ctx, devserver.Config{Binary: bin})
	if !errors.Is(err, enough) || !strings.Contains(err.Error(), "thinking") {
		t.Fatalf("got %v, want the cause and the last lines", err)
	}
}
