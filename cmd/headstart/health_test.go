package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"headstart/worker/caller"
	"headstart/worker/devserver/devservertest"
)

// ask gets a path of a worker's health answers.
func ask(t *testing.T, addr, path string) (status int, body string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	resp, err := client.Get("http://" + addr + path)
	if err != nil {
		t.Fatalf("get %s: %v", path, err)
	}
	text, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		t.Fatalf("read %s: %v", path, err)
	}
	return resp.StatusCode, string(text)
}

// A worker that never reaches LiveKit lives while it tries, is not ready, and
// ends with 1: nothing is left that looks healthy.
func TestNoLiveKitEndsTheProcessWithOne(t *testing.T) {
	t.Parallel()
	child := exec.CommandContext(t.Context(), os.Args[0], "start", "--agent", agentFile(t, nil), "--data", t.TempDir(), "--health-addr", "127.0.0.1:0")
	child.Env = append(os.Environ(), asMain+"=1", "LIVEKIT_URL=ws://127.0.0.1:1", "LIVEKIT_API_KEY=key", "LIVEKIT_API_SECRET=secret")
	stderr, err := child.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	asked, last := false, ""
	for s := bufio.NewScanner(stderr); s.Scan(); {
		last = s.Text()
		var line struct{ Msg, Address string }
		if json.Unmarshal(s.Bytes(), &line) != nil || line.Msg != "health" {
			continue
		}
		asked = true
		if status, body := ask(t, line.Address, "/"); status != 200 || body != "OK" {
			t.Errorf("/: %d %q", status, body)
		}
		if status, body := ask(t, line.Address, "/ready"); status != 503 || body != "not registered with LiveKit\n" {
			t.Errorf("/ready: %d %q", status, body)
		}
	}
	exit, ok := errors.AsType[*exec.ExitError](child.Wait())
	if !asked || !ok || exit.ExitCode() != exitFailure || !strings.Contains(last, "livekit cannot be reached") {
		t.Fatalf("asked %t, ended with %v, its last words: %s", asked, exit, last)
	}
}

// Two calls, from ready to drained, as a probe and a dashboard see it.
func TestHealthOfCalls(t *testing.T) {
	t.Parallel()
	live := devservertest.Start(t)
	agents, err := readAgents([]string{agentFile(t, func(s string) string { return s + "greeting: {say: Buenos días.}\n" })})
	if err != nil {
		t.Fatal(err)
	}
	srv, err := openServer(t.Context(), settings{
		url: live.URL, apiKey: live.APIKey, apiSecret: live.APISecret, agentName: t.Name(), data: t.TempDir(), models: t.TempDir(),
		maxCalls: 4, loadThreshold: 1, healthAddr: "127.0.0.1:0", drain: time.Minute,
	}, agents, true, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	serving, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- srv.serve(serving, context.WithoutCancel(serving)) }()
	defer func() {
		stop()
		if err := errors.Join(<-served, srv.close()); err != nil {
			t.Errorf("serve: %v", err)
		}
	}()
	if err := registered(t.Context(), srv, served); err != nil {
		t.Fatal(err)
	}
	addr := srv.health.Addr()
	if status, body := ask(t, addr, "/ready"); status != 200 || body != "OK" {
		t.Fatalf("/ready: %d %q", status, body)
	}
	hangUp := ring(t, srv)
	hangUp()
	eventually(t, func() bool {
		_, figures := ask(t, addr, "/metrics")
		return strings.Contains(figures, `headstart_calls_ended_total{reason="caller_hung_up"} 1`+"\n")
	})
	hangUp = ring(t, srv)
	var info struct {
		AgentName  string  `json:"agent_name"`
		ActiveJobs int     `json:"active_jobs"`
		WorkerLoad float64 `json:"worker_load"`
	}
	eventually(t, func() bool { // the first call's end is counted before its place is free
		_, body := ask(t, addr, "/worker")
		if err := json.Unmarshal([]byte(body), &info); err != nil {
			t.Fatalf("/worker: %q: %v", body, err)
		}
		return info.ActiveJobs == 1
	})
	if info.AgentName != t.Name() || info.WorkerLoad < 0.25 {
		t.Fatalf("/worker: %+v", info)
	}
	stop()
	eventually(t, func() bool { _, body := ask(t, addr, "/ready"); return body == "draining\n" })
	if status, _ := ask(t, addr, "/"); status != 200 {
		t.Fatalf("/ of a draining worker: %d", status)
	}
	hangUp()
}

// ring calls the worker and hears its greeting.
func ring(t *testing.T, srv *server) (hangUp func()) {
	t.Helper()
	c, err := caller.Dial(t.Context(), caller.Config{
		URL: srv.settings.url, APIKey: srv.settings.apiKey, APISecret: srv.settings.apiSecret, Room: t.Name() + time.Now().Format("150405.000000"), AgentName: srv.settings.agentName,
		Kind: caller.Phone, Number: "+34600123456", Log: zap.NewNop(),
	})
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan error, 1)
	go func() { gone <- c.Run(context.WithoutCancel(t.Context())) }()
	hearing, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := c.WaitSound(hearing, c.Dialed()); err != nil {
		t.Fatalf("no greeting: %v", err)
	}
	return func() {
		if err := errors.Join(c.Hangup(), <-gone); err != nil {
			t.Errorf("hang up: %v", err)
		}
	}
}

// eventually looks each 20 ms until something of the real world is so.
func eventually(t *testing.T, so func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !so() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited %v for nothing", patience)
		}
	}
}

func TestProcessorsFromTheEnvironment(t *testing.T) {
	for value, want := range map[string]float64{"": 0, "2": 2, "0.5": 0.5} {
		t.Setenv("NUM_CPUS", value)
		if got, err := processors(); err != nil || got != want {
			t.Errorf("NUM_CPUS=%q: %v, %v", value, got, err)
		}
	}
	for _, value := range []string{"0", "-1", "many", "NaN"} {
		t.Setenv("NUM_CPUS", value)
		if _, err := processors(); err == nil {
			t.Errorf("NUM_CPUS=%q was taken", value)
		}
	}
}

func TestWhereHealthIsTold(t *testing.T) {
	for _, tt := range []struct {
		name       string
		env        *string
		start, dev string
	}{
		{"by default", nil, ":8081", "off"},
		{"by the environment", new("127.0.0.1:9"), "127.0.0.1:9", "127.0.0.1:9"},
		{"nowhere", new(""), "", ""},
	} {
		if tt.env == nil {
			t.Setenv("HEADSTART_HEALTH_ADDR", "")
			os.Unsetenv("HEADSTART_HEALTH_ADDR")
		} else {
			t.Setenv("HEADSTART_HEALTH_ADDR", *tt.env)
		}
		start, dev := startCommand().Flag("health-addr").DefValue, devCommand().Flag("health-addr").DefValue
		if start != tt.start || dev != tt.dev {
			t.Errorf("%s: start %q, dev %q, want %q and %q", tt.name, start, dev, tt.start, tt.dev)
		}
	}
}
