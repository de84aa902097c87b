package api_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/livekit/protocol/auth"
	"go.uber.org/zap"

	"headstart/worker/api"
)

func TestRequestsThatAreRefused(t *testing.T) {
	t.Parallel()
	pages, stop := open(t, newDoor(), api.Config{Hosts: []string{"demo.example"}})
	defer stop()
	visit := enter(t, pages)
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	bare := func(r *http.Request) { r.Header = http.Header{"Content-Type": {"application/json; charset=utf-8"}} }
	const browser = `{"mode":"browser"}`
	for _, c := range []struct {
		name, method, path, body string
		change                   func(*http.Request)
		status                   int
		code                     string
	}{
		{"a name with a port", "GET", "/", "", host("localhost:8080"), 200, ""},
		{"IPv4", "GET", "/", "", host("127.0.0.1:8080"), 200, ""},
		{"IPv6", "GET", "/", "", host("[::1]:8080"), 200, ""},
		{"a configured name", "GET", "/", "", host("Demo.Example"), 200, ""},
		{"another name", "GET", "/", "", host("evil.example"), 421, "host"},
		{"a name that ends alike", "GET", "/", "", host("evil-demo.example"), 421, "host"},
		{"no name", "GET", "/", "", host(""), 421, "host"},
		{"another name's visit", "POST", "/visits", browser, host("evil.example:80"), 421, "host"},
		{"a program", "POST", "/visits", browser, bare, 201, ""},
		{"another site", "POST", "/visits", browser, header("Sec-Fetch-Site", "cross-site"), 403, "origin"},
		{"a sister site", "POST", "/visits", browser, header("Sec-Fetch-Site", "same-site"), 403, "origin"},
		{"an old browser on another site", "POST", "/visits", browser, func(r *http.Request) {
			r.Header.Del("Sec-Fetch-Site")
			r.Header.Set("Origin", "http://evil.example")
		}, 403, "origin"},
		{"a form", "POST", "/visits", browser, header("Content-Type", "text/plain"), 415, "type"},
		{"a hang-up without a type", "DELETE", visit, "", header("Content-Type", ""), 415, "type"},
		{"no JSON", "POST", "/visits", "mode=typed", nil, 400, "json"},
		{"no mode", "POST", "/visits", "{}", nil, 400, "mode"},
		{"a large body", "POST", "/visits", `{"mode":"` + strings.Repeat("x", 40<<10) + `"}`, nil, 413, "long"},
		{"nothing typed", "POST", visit + "/messages", `{"text":" \n"}`, nil, 400, "empty"},
		{"much typed", "POST", visit + "/messages", `{"text":"` + strings.Repeat("ñ", 4001) + `"}`, nil, 413, "long"},
		{"a message to nobody", "POST", "/visits/x/messages", `{"text":"a"}`, nil, 404, "visit"},
		{"events of nobody", "GET", "/visits/x/events", "", nil, 404, "visit"},
		{"hanging up for nobody", "DELETE", "/visits/x", "", nil, 404, "visit"},
		{"no list of visits", "GET", "/visits", "", nil, 405, ""},
		{"no library before the build", "GET", "/dist/livekit-client.umd.js", "", nil, 404, "path"},
		{"no template", "GET", "/static/index.html", "", nil, 404, "path"},
		{"no folder", "GET", "/static/", "", nil, 404, ""},
		{"no hidden file", "GET", "/dist/.gitkeep", "", nil, 404, "path"},
	} {
		if c.change == nil {
			c.change = func(*http.Request) {}
		}
		w := ask(t.Context(), pages, c.method, c.path, c.body, c.change)
		if w.Code != c.status {
			t.Errorf("%s: %d %s, want %d", c.name, w.Code, w.Body, c.status)
		}
		if c.code == "" {
			continue
		}
		if code := field(t, w, "code"); code != c.code || field(t, w, "error") == "" {
			t.Errorf("%s: %s, want code %q and a sentence", c.name, w.Body, c.code)
		}
	}
}

func TestThePageSaysWhatItIsTold(t *testing.T) {
	t.Parallel()
	pages, stop := open(t, newDoor(), api.Config{
		URL: "https://x.livekit.cloud", Title: "Norte <b>", Language: "es-ES", VoiceNote: `Its "ears"`,
	})
	defer stop()
	w := ask(t.Context(), pages, "GET", "/", "")
	for _, part := range []string{
		"<title>Norte &lt;b&gt;</title>", `data-agent-language="es-ES"`, `data-voice="false"`, "Its &#34;ears&#34;",
	} {
		if !strings.Contains(w.Body.String(), part) {
			t.Errorf("%s is not in the page", part)
		}
	}
	policy := w.Header().Get("Content-Security-Policy")
	want := "connect-src 'self' wss://x.livekit.cloud https://x.livekit.cloud wss://*.livekit.cloud https://*.livekit.cloud;"
	if !strings.Contains(policy, want) || !strings.Contains(policy, "script-src 'self';") || strings.Contains(policy, "unsafe") {
		t.Fatalf("policy %q", policy)
	}
}

func TestAnAssetIsSentOnce(t *testing.T) {
	t.Parallel()
	pages, stop := open(t, newDoor(), api.Config{})
	defer stop()
	first := ask(t.Context(), pages, "GET", "/static/page.js", "")
	if kind := first.Header().Get("Content-Type"); first.Code != 200 || !strings.HasPrefix(kind, "text/javascript") {
		t.Fatalf("page.js: %d, %s", first.Code, kind)
	}
	again := ask(t.Context(), pages, "GET", "/static/page.js", "", func(r *http.Request) {
		r.Header.Set("If-None-Match", first.Header().Get("ETag"))
	})
	if again.Code != http.StatusNotModified {
		t.Fatalf("again: %d", again.Code)
	}
}

func TestABrowserGetsWhatItNeedsToJoin(t *testing.T) {
	t.Parallel()
	pages, err := api.New(api.Config{URL: "http://127.0.0.1:7880", APIKey: "key", APISecret: "secret", AgentName: "norte", JobMetadata: `{"agent":"x"}`}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	w := ask(t.Context(), pages, "POST", "/visits", `{"mode":"browser"}`)
	verifier, err := auth.ParseAPIToken(field(t, w, "token"))
	if err != nil {
		t.Fatal(err)
	}
	_, grants, err := verifier.Verify("secret")
	if err != nil {
		t.Fatal(err)
	}
	agents := grants.RoomConfig.Agents
	if len(agents) != 1 || agents[0].GetAgentName() != "norte" || agents[0].GetMetadata() != `{"agent":"x"}` {
		t.Fatalf("agents %v", agents)
	}
	got := map[string]string{"url": field(t, w, "url"), "room": grants.Video.Room, "identity": grants.Identity, "kind": grants.Kind}
	want := map[string]string{"url": "ws://127.0.0.1:7880", "room": field(t, w, "room"), "identity": field(t, w, "identity"), "kind": "standard"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("token (-want +got):\n%s", diff)
	}
	if again := ask(t.Context(), pages, "POST", "/visits", `{"mode":"browser"}`); field(t, again, "room") == field(t, w, "room") {
		t.Fatal("two visitors share a room")
	}
}

func TestPlacesAreCounted(t *testing.T) {
	t.Parallel()
	d := newDoor()
	pages, stop := open(t, d, api.Config{})
	defer stop()
	visits := make([]string, 20)
	for i := range visits {
		visits[i] = enter(t, pages)
	}
	w := ask(t.Context(), pages, "POST", "/visits", `{"mode":"typed"}`)
	if w.Code != http.StatusTooManyRequests || field(t, w, "code") != "full" || !strings.Contains(field(t, w, "error"), "20 places") {
		t.Fatalf("the 21st: %d %s", w.Code, w.Body)
	}
	if w := ask(t.Context(), pages, "POST", "/visits", `{"mode":"browser"}`); w.Code != http.StatusCreated {
		t.Fatalf("a browser by itself: %d %s", w.Code, w.Body)
	}
	if w := ask(t.Context(), pages, "DELETE", visits[7], ""); w.Code != http.StatusNoContent {
		t.Fatalf("hang up: %d %s", w.Code, w.Body)
	}
	enter(t, pages)
}

func TestAVisitThatCannotJoinTakesNoPlace(t *testing.T) {
	t.Parallel()
	d := newDoor()
	d.refuse = errors.New("nobody home")
	pages, stop := open(t, d, api.Config{MaxVisits: 1})
	for i := range 1000 { // the place is free before the refusal is told
		d.panics = i%2 == 1
		w := ask(t.Context(), pages, "POST", "/visits", `{"mode":"typed"}`)
		if w.Code != http.StatusBadGateway || field(t, w, "code") != "unreachable" || strings.Contains(w.Body.String(), "nobody home") {
			t.Fatalf("open: %d %s", w.Code, w.Body)
		}
	}
	if w := ask(t.Context(), pages, "POST", "/visits", `{"mode":"browser"}`); w.Code != http.StatusInternalServerError || field(t, w, "code") != "token" {
		t.Fatalf("a token that cannot be made: %d %s", w.Code, w.Body)
	}
	stop()
	if w := ask(t.Context(), pages, "POST", "/visits", `{"mode":"typed"}`); w.Code != http.StatusServiceUnavailable || field(t, w, "code") != "closed" {
		t.Fatalf("after the end: %d %s", w.Code, w.Body)
	}
}

func TestWhoHeardTheEndFindsThePlaceFree(t *testing.T) {
	t.Parallel()
	d := newDoor()
	pages, stop := open(t, d, api.Config{MaxVisits: 1})
	defer stop()
	for range 300 {
		reader := read(t, pages, enter(t, pages), "")
		person := <-d.visitors
		person.gone <- nil
		<-reader.done
	}
}

func TestNobodyRunsThePages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pages, err := api.New(api.Config{URL: "ws://x", Door: newDoor(), MaxVisits: 1}, zap.NewNop())
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // who was refused holds no place
			began := time.Now()
			w := ask(t.Context(), pages, "POST", "/visits", `{"mode":"typed"}`)
			if w.Code != http.StatusServiceUnavailable || time.Since(began) != 2*time.Second {
				t.Fatalf("open: %d %s after %v", w.Code, w.Body, time.Since(began))
			}
		}
	})
}

func TestValidateJoinsComplaints(t *testing.T) {
	t.Parallel()
	_, err := api.New(api.Config{URL: "ftp://x", JobMetadata: "m", Language: "españolísimo", Hosts: []string{"a:1"}, MaxVisits: -1, Idle: -1}, zap.NewNop())
	for _, part := range []string{"ftp://x", "api key", "api secret", "job metadata", "españolísimo", `"a:1"`, "max visits -1", "idle -1"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in: %v", part, err)
		}
	}
}
