package api_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait for the browser on a busy machine.
const patience = 40 * time.Second

// chromium is a tab of a headless browser, driven over its DevTools protocol
// on a pair of pipes: no port, and no library.
type chromium struct {
	t       *testing.T
	to      *os.File
	from    *os.File
	reader  *bufio.Reader
	session string
	last    int
	// complaints is what the page's console and the browser had to say.
	complaints []string
	console    []string // all of it
}

type message struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// browse starts a browser and opens a tab, and ends both with the test.
func browse(t *testing.T, flags ...string) *chromium {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		missing(t, "no chromium on PATH")
	}
	theirsIn, to := pipe(t)
	from, theirsOut := pipe(t)
	profile := t.TempDir()
	cmd := exec.Command(path, append([]string{
		"--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--mute-audio", "--hide-scrollbars",
		"--remote-debugging-pipe", "--user-data-dir=" + profile,
	}, flags...)...)
	cmd.ExtraFiles = []*os.File{theirsIn, theirsOut} // 3 and 4
	cmd.Env = append(os.Environ(), "HOME="+profile)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start chromium: %v", err)
	}
	t.Cleanup(func() {
		// It and its children: a group that is gone already is as well.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
		removeProfile(t, profile)
	})
	if err := errors.Join(theirsIn.Close(), theirsOut.Close()); err != nil {
		t.Fatal(err)
	}
	c := &chromium{t: t, to: to, from: from, reader: bufio.NewReaderSize(from, 1<<20)}
	c.attach()
	return c
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(r.Close(), w.Close()) }) // one end is closed before
	return r, w
}

// removeProfile goes before the test's own removal, which does not forgive
// that a killed child's last file appears meanwhile.
func removeProfile(t *testing.T, dir string) {
	var err error
	for range 50 {
		if err = os.RemoveAll(dir); err == nil {
			return
		}
	}
	t.Logf("remove the browser's profile: %v", err)
}

// attach opens the tab.
func (c *chromium) attach() {
	c.t.Helper()
	var target struct {
		TargetID string `json:"targetId"`
	}
	c.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct {
		SessionID string `json:"sessionId"`
	}
	c.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	c.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		c.call(domain+".enable", nil, nil)
	}
}

// call sends a command and waits for its answer; what happens meanwhile is heard.
func (c *chromium) call(method string, params, result any) {
	c.t.Helper()
	c.last++
	request := map[string]any{"id": c.last, "method": method, "params": params}
	if params == nil {
		request["params"] = map[string]any{}
	}
	if c.session != "" {
		request["sessionId"] = c.session
	}
	text, err := json.Marshal(request)
	if err != nil {
		c.t.Fatal(err)
	}
	deadline := time.Now().Add(2 * patience) // a command may wait for the page itself
	if err := errors.Join(c.to.SetWriteDeadline(deadline), c.from.SetReadDeadline(deadline)); err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.to.Write(append(text, 0)); err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	for {
		m := c.hear(method)
		if m.ID != c.last {
			continue
		}
		if m.Error != nil {
			c.t.Fatalf("%s: %s", method, m.Error.Message)
		}
		if result != nil {
			if err := json.Unmarshal(m.Result, result); err != nil {
				c.t.Fatalf("%s: %v", method, err)
			}
		}
		return
	}
}

func (c *chromium) hear(method string) message {
	c.t.Helper()
	text, err := c.reader.ReadBytes(0)
	if err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	var m message
	if err := json.Unmarshal(text[:len(text)-1], &m); err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	var console struct {
		Type string `json:"type"`
	}
	switch m.Method {
	case "Runtime.exceptionThrown", "Log.entryAdded":
		c.complaints = append(c.complaints, string(m.Params))
	case "Runtime.consoleAPICalled":
		c.console = append(c.console, string(m.Params))
		if json.Unmarshal(m.Params, &console) == nil && console.Type == "error" {
			c.complaints = append(c.complaints, string(m.Params))
		}
	}
	return m
}

// eval runs JavaScript in the page and waits for its promise.
func (c *chromium) eval(script string, result any) {
	c.t.Helper()
	var answer struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		Exception *struct {
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	c.call("Runtime.evaluate", map[string]any{"expression": script, "awaitPromise": true, "returnByValue": true}, &answer)
	if answer.Exception != nil {
		c.t.Fatalf("%s: %s", script, answer.Exception.Exception.Description)
	}
	if result != nil {
		if err := json.Unmarshal(answer.Result.Value, result); err != nil {
			c.t.Fatalf("%s: %v", script, err)
		}
	}
}

// await waits until something is so in the page; else it shows what is there.
func (c *chromium) await(condition string) {
	c.t.Helper()
	var seen string
	c.eval(fmt.Sprintf(`new Promise((done) => {
		const until = performance.now() + %d;
		const look = () => {
			if (%s) return done('');
			if (performance.now() > until) return done(document.body?.innerText ?? 'nothing');
			setTimeout(look, 20);
		};
		look();
	})`, patience.Milliseconds(), condition), &seen)
	if seen != "" {
		c.picture("failed")
		c.t.Fatalf("not so after %v: %s; the page shows:\n%s\nand said: %s", patience, condition, seen, strings.Join(append(c.complaints, c.console...), "\n"))
	}
}

// visit opens a page of this size and waits until it has started.
func (c *chromium) visit(url, language string, width, height int) {
	c.t.Helper()
	c.call("Emulation.setUserAgentOverride", map[string]any{"userAgent": "Mozilla/5.0 (X11; Linux x86_64) Chrome/150 Test", "acceptLanguage": language}, nil)
	c.size(width, height)
	c.call("Page.navigate", map[string]any{"url": url}, nil)
	c.await(`document.documentElement?.dataset.loaded === 'true'`)
}

func (c *chromium) size(width, height int) {
	c.t.Helper()
	c.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
}

// mood sets the colour scheme that the reader likes. Without motion pictures
// are alike.
func (c *chromium) mood(scheme string) {
	c.t.Helper()
	c.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{
		{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"},
	}}, nil)
}

// click presses the mouse on an element, which counts as a person's doing.
func (c *chromium) click(selector string) {
	c.t.Helper()
	var at struct{ X, Y float64 }
	c.eval(fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.scrollIntoView({block: 'nearest'}); const r = e.getBoundingClientRect(); return {X: r.x + r.width / 2, Y: r.y + r.height / 2}; })()`, selector), &at)
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		c.call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": at.X, "y": at.Y, "button": "left", "clickCount": 1}, nil)
	}
}

// write types into what has the focus, and presses Enter.
func (c *chromium) write(text string) {
	c.t.Helper()
	c.call("Input.insertText", map[string]any{"text": text}, nil)
	for _, kind := range []string{"keyDown", "keyUp"} {
		key := map[string]any{"type": kind, "key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13}
		if kind == "keyDown" {
			key["text"] = "\r"
		}
		c.call("Input.dispatchKeyEvent", key, nil)
	}
}

// picture keeps what the page looks like.
func (c *chromium) picture(name string) {
	c.t.Helper()
	var shot struct{ Data string }
	c.call("Page.captureScreenshot", map[string]any{"format": "png"}, &shot)
	png, err := base64.StdEncoding.DecodeString(shot.Data)
	if err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(c.t.ArtifactDir(), name+".png"), png, 0o644); err != nil {
		c.t.Fatal(err)
	}
}

// calm fails the test when the page or the browser complained: an exception, a
// breach of the page's own policy, a file that is not there.
func (c *chromium) calm() {
	c.t.Helper()
	if len(c.complaints) > 0 {
		c.t.Fatalf("the page complains:\n%s", strings.Join(c.complaints, "\n"))
	}
}
