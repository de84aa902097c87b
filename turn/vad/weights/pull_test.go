package weights_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"headstart/turn/vad/weights"
)

// publisher serves a file and keeps the ranges that it was asked for.
type publisher struct {
	*httptest.Server

	mu     sync.Mutex // guards what follows: handlers write, the test reads
	ranges []string
}

func (p *publisher) asked() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.ranges)
}

func publish(t *testing.T, serve http.HandlerFunc) *publisher {
	t.Helper()
	p := &publisher{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.ranges = append(p.ranges, r.Header.Get("Range"))
		p.mu.Unlock()
		serve(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

func whole(file []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(file))
	}
}

// broken promises the whole file and hangs up after some of it.
func broken(file []byte, after int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(file)))
		_, _ = w.Write(file[:after]) // the test sees what came
		panic(http.ErrAbortHandler)
	}
}

func TestPull(t *testing.T) {
	t.Parallel()
	file := content()
	p := publish(t, whole(file))
	m, dir := model(p.URL, file), filepath.Join(t.TempDir(), "a", "b")
	var reported []int64
	for range 2 { // the second finds it there
		path, err := weights.Pull(t.Context(), p.Client(), m, dir, func(done, total int64) {
			if total != m.Size {
				t.Errorf("total %d, want %d", total, m.Size)
			}
			reported = append(reported, done)
		})
		if err != nil {
			t.Fatal(err)
		}
		if path != weights.Path(dir, m) {
			t.Fatalf("lies in %s, want %s", path, weights.Path(dir, m))
		}
		wantFile(t, path, file)
	}
	if diff := cmp.Diff([]string{""}, p.asked()); diff != "" {
		t.Fatalf("requests (-want +got):\n%s", diff)
	}
	if len(reported) < 3 || reported[0] != 0 || reported[len(reported)-1] != m.Size {
		t.Fatalf("progress %v does not run from 0 to %d", reported, m.Size)
	}
	wantOnly(t, dir, "test.bin")
}

// A spoilt file in the model's place is replaced.
func TestPullReplaces(t *testing.T) {
	t.Parallel()
	file := content()
	p := publish(t, whole(file))
	m, dir := model(p.URL, file), t.TempDir()
	if err := os.WriteFile(weights.Path(dir, m), []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	path, err := weights.Pull(t.Context(), p.Client(), m, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	wantFile(t, path, file)
}

func TestPullResumes(t *testing.T) {
	t.Parallel()
	file, other := content(), append(content(), "longer"...)
	for name, tc := range map[string]struct {
		second http.HandlerFunc
		ranges []string
	}{
		"where it broke off":             {whole(file), []string{"", "bytes=100000-"}},
		"from the start, if it must":     {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(file) }, []string{"", "bytes=100000-"}},
		"anew, when the file is another": {rangeOf(other, file), []string{"", "bytes=100000-", ""}},
		"anew, when there is no range":   {rangeOf(file[:10], file), []string{"", "bytes=100000-", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var again atomic.Bool
			p := publish(t, func(w http.ResponseWriter, r *http.Request) {
				if again.Swap(true) {
					tc.second(w, r)
					return
				}
				broken(file, 100_000)(w, r)
			})
			m, dir := model(p.URL, file), t.TempDir()
			if _, err := weights.Pull(t.Context(), p.Client(), m, dir, nil); err == nil {
				t.Fatal("a broken download was taken")
			}
			wantOnly(t, dir, "test.bin.part")
			wantFile(t, filepath.Join(dir, "test.bin.part"), file[:100_000])
			path, err := weights.Pull(t.Context(), p.Client(), m, dir, nil)
			if err != nil {
				t.Fatal(err)
			}
			wantFile(t, path, file)
			wantOnly(t, dir, "test.bin")
			if diff := cmp.Diff(tc.ranges, p.asked()); diff != "" {
				t.Fatalf("ranges asked for (-want +got):\n%s", diff)
			}
		})
	}
}

// rangeOf serves ranges of one file and, asked for no range, another.
func rangeOf(ranged, full []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Range") != "" {
			whole(ranged)(w, r)
			return
		}
		whole(full)(w, r)
	}
}

// A server that refuses for a while costs nothing of what is in.
func TestPullKeepsWhatIsInWhenRefused(t *testing.T) {
	t.Parallel()
	file := content()
	p := publish(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	m, dir := model(p.URL, file), t.TempDir()
	part := weights.Path(dir, m) + ".part"
	if err := os.WriteFile(part, file[:77], 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := weights.Pull(t.Context(), p.Client(), m, dir, nil)
	var refused *weights.StatusError
	if !errors.As(err, &refused) || refused.Code != http.StatusServiceUnavailable {
		t.Fatalf("error %v, want a refusal with 503", err)
	}
	wantFile(t, part, file[:77])
}

func TestPullRefusesWrongHash(t *testing.T) {
	t.Parallel()
	file, wrong := content(), content()
	wrong[200_000]++
	p := publish(t, whole(wrong))
	m, dir := model(p.URL, file), t.TempDir()
	_, err := weights.Pull(t.Context(), p.Client(), m, dir, nil)
	var hash *weights.HashError
	if !errors.As(err, &hash) {
		t.Fatalf("error %v, want a wrong hash", err)
	}
	want := &weights.HashError{Model: "test", Path: weights.Path(dir, m) + ".part", Want: m.SHA256, Got: model("", wrong).SHA256}
	if diff := cmp.Diff(want, hash); diff != "" {
		t.Fatalf("error (-want +got):\n%s", diff)
	}
	wantOnly(t, dir)
}

// A server that sends more than the model has is cut off, and what it sent is
// not resumed into anything that passes.
func TestPullRefusesTooMuch(t *testing.T) {
	t.Parallel()
	file := content()
	p := publish(t, whole(append(content(), make([]byte, 1<<20)...)))
	m, dir := model(p.URL, file), t.TempDir()
	if _, err := weights.Pull(t.Context(), p.Client(), m, dir, nil); err == nil {
		t.Fatal("too long a file was taken")
	}
	if _, err := os.Stat(weights.Path(dir, m)); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("the model's place: %v, want nothing there", err)
	}
}

func TestPullCancelled(t *testing.T) {
	t.Parallel()
	file := content()
	gone := errors.New("operator went home")
	p := publish(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(file)))
		_, _ = w.Write(file[:50_000])
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	m, dir := model(p.URL, file), t.TempDir()
	ctx, cancel := context.WithCancelCause(t.Context())
	_, err := weights.Pull(ctx, p.Client(), m, dir, func(done, _ int64) {
		if done == 50_000 {
			cancel(gone)
		}
	})
	if !errors.Is(err, gone) {
		t.Fatalf("error %v, want the cause of the cancellation", err)
	}
	wantFile(t, weights.Path(dir, m)+".part", file[:50_000])
	p.Client().CloseIdleConnections()
}

// silent is a transport whose server sends a little every while, then nothing.
type silent struct{ pieces int }

func (s silent) RoundTrip(r *http.Request) (*http.Response, error) {
	body := &drip{ctx: r.Context(), left: s.pieces}
	if s.pieces < 0 {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	return &http.Response{StatusCode: http.StatusOK, Body: body, Request: r}, nil
}

// drip is a body that gives a byte each 20 s while some are left.
type drip struct {
	ctx  context.Context
	left int
}

func (d *drip) Read(p []byte) (int, error) {
	if d.left == 0 {
		<-d.ctx.Done()
		return 0, d.ctx.Err()
	}
	d.left--
	time.Sleep(20 * time.Second)
	return copy(p, "x"), nil
}

func (*drip) Close() error { return nil }

// A slow server is waited for, a silent one only so long.
func TestPullStalls(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		server silent
		waited time.Duration
	}{
		"before the answer": {silent{-1}, 30 * time.Second},
		"in the middle":     {silent{3}, 90 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				_, err := weights.Pull(t.Context(), &http.Client{Transport: tc.server}, model("http://publisher.test/x", content()), dir, nil)
				var stalled *weights.StallError
				if !errors.As(err, &stalled) {
					t.Fatalf("error %v, want a stall", err)
				}
				if diff := cmp.Diff(&weights.StallError{URL: "http://publisher.test/x", After: 30 * time.Second}, stalled); diff != "" {
					t.Fatalf("error (-want +got):\n%s", diff)
				}
				if waited := time.Since(began); waited != tc.waited {
					t.Fatalf("waited %s, want %s", waited, tc.waited)
				}
			})
		})
	}
}
