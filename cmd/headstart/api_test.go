package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"headstart/turn"
)

// operator reads a worker's /v1.
type operator struct {
	base string // http://127.0.0.1:port
	key  string
}

func (o operator) ask(ctx context.Context, path, accept string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, o.base+path, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", accept)
	if o.key != "" {
		r.Header.Set("Authorization", "Bearer "+o.key)
	}
	return http.DefaultClient.Do(r)
}

// get reads a JSON answer, and returns the status.
func (o operator) get(t *testing.T, path string, into any) int {
	t.Helper()
	resp, err := o.ask(t.Context(), path, "application/json")
	if err != nil {
		t.Fatalf("get %s: %v", path, err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		t.Fatalf("get %s: %s, %v", path, resp.Status, err)
	}
	return resp.StatusCode
}

// follow reads a log's stream until its end, or until it breaks, and tells
// whether it came to its end.
func (o operator) follow(ctx context.Context, path string) (entries []turn.Entry, whole bool, err error) {
	resp, err := o.ask(ctx, path, "text/event-stream")
	if err != nil {
		return nil, false, err
	}
	defer resp.Body.Close()
	ended := false
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		line := lines.Text()
		data, isData := strings.CutPrefix(line, "data: ")
		switch {
		case line == "event: end":
			ended = true
		case isData && !ended:
			var e turn.Entry
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				return entries, false, err
			}
			entries = append(entries, e)
		}
	}
	return entries, ended, nil
}

// calls is the answer of /v1/calls.
type calls struct {
	Calls []struct {
		ID, Reason string
		Sealed     bool
	}
}

// piece is the answer of a log's path.
type piece struct {
	Entries []turn.Entry
	Highest int64
	Sealed  bool
}

// A call that goes on is followed from outside, to its end; so it is for who
// shows the key and for nobody else.
func TestOperatorsFollowACall(t *testing.T) {
	t.Setenv("HEADSTART_API_KEY", "a key of the test's")
	k := newKilling(t)
	w := k.start()
	stranger, owner := operator{base: w.api}, operator{base: w.api, key: "a key of the test's"}
	var refused struct{ Code string }
	if status := stranger.get(t, "/v1/calls", &refused); status != http.StatusUnauthorized || refused.Code != "key" {
		t.Fatalf("without the key: %d %q", status, refused.Code)
	}
	c, gone, id := k.call(w, owner)
	type told struct {
		entries []turn.Entry
		whole   bool
		err     error
	}
	following := make(chan told, 1)
	go func() {
		entries, whole, err := owner.follow(t.Context(), "/v1/calls/"+id+"/log")
		following <- told{entries, whole, err}
	}()
	if _, err := c.WaitSound(t.Context(), c.Dialed()); err != nil {
		t.Fatalf("no greeting: %v", err)
	}
	if err := errors.Join(c.Hangup(), <-gone); err != nil {
		t.Fatal(err)
	}
	got := <-following
	if got.err != nil || !got.whole {
		t.Fatalf("the stream: whole %v, %v", got.whole, got.err)
	}
	for i, e := range got.entries {
		if e.Seq != int64(i+1) {
			t.Fatalf("entry %d has seq %d", i+1, e.Seq)
		}
	}
	if first, last := got.entries[0], got.entries[len(got.entries)-1]; first.Type != "call.started" || last.Type != "call.summary" {
		t.Fatalf("from %s to %s", first.Type, last.Type)
	}
	for _, args := range [][]string{{id}, {id, "--json"}, {id, "--follow"}} {
		out, err := command(t, append([]string{"log", "--api", w.api}, args...)...)
		if err != nil || strings.Count(out, "call.started") != 1 || strings.Count(out, "call.summary") != 1 {
			t.Fatalf("log %v: %q, %v", args, out, err)
		}
	}
	if out, err := command(t, "log", "--api", w.api+"/"); err != nil || !strings.Contains(out, id) {
		t.Fatalf("the list: %q, %v", out, err)
	}
	for _, follow := range []string{"--follow", "--json"} {
		_, err := command(t, "log", "--api", w.api, "call-nope", follow)
		if refused, ok := errors.AsType[*refusedError](err); !ok || refused.Code != "call" {
			t.Fatalf("a call that is not there: %v", err)
		}
	}
	w.terminate()
}

func TestWhereTheAPIMayBe(t *testing.T) {
	t.Setenv("LIVEKIT_URL", "ws://127.0.0.1:1")
	t.Setenv("LIVEKIT_API_KEY", "k")
	t.Setenv("LIVEKIT_API_SECRET", "s")
	_, err := command(t, "start", "--agent", agentFile(t, nil), "--data", t.TempDir(), "--api-addr", "0.0.0.0:0")
	if _, usage := errors.AsType[usageError](err); !usage || !strings.Contains(err.Error(), "HEADSTART_API_KEY") {
		t.Fatalf("an address that others reach, without a key: %v", err)
	}
	for _, off := range []string{"", "off"} {
		if _, on := (settings{apiAddr: off}).apiConfig(nil); on {
			t.Fatalf("%q is on", off)
		}
	}
}
