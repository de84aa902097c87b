package hub_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"headstart/retrieval/embed/embedtest"
	"headstart/retrieval/embed/hub"
)

// shelf is a hub of one model, and where it sends those who ask for large files.
type shelf struct {
	mu    sync.Mutex // guards what follows
	files map[string][]byte
	asked []string // path and range
	stop  int      // the next answer breaks off after so many bytes
	lie   bool     // the hub promises another hash
}

const name = "acme/tiny-8M"

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path, store := strings.CutPrefix(r.URL.Path, "/store/")
	path = strings.TrimPrefix(path, "/"+name+"/resolve/main/")
	file, ok := s.files[path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	sum := sha256.Sum256(file)
	if !store && strings.HasSuffix(path, ".safetensors") {
		if s.lie {
			sum[0]++
		}
		w.Header().Set("X-Linked-Etag", `"`+hex.EncodeToString(sum[:])+`"`)
		http.Redirect(w, r, "/store/"+path, http.StatusFound)
		return
	}
	s.asked = append(s.asked, strings.TrimSpace(path+" "+r.Header.Get("Range")))
	w.Header().Set("ETag", fmt.Sprintf("%q", hex.EncodeToString(sum[:5])))
	if s.stop > 0 && strings.HasSuffix(path, ".safetensors") {
		w.Header().Set("Content-Length", fmt.Sprint(len(file)))
		_, _ = w.Write(file[:s.stop]) // the test sees what came
		s.stop = 0
		panic(http.ErrAbortHandler)
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(file))
}

func (s *shelf) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
}

func newShelf() *shelf {
	weights := make([]byte, 600_000)
	for i := range weights {
		weights[i] = byte(i * i >> 3)
	}
	return &shelf{files: map[string][]byte{
		"config.json": []byte(`{"model_type":"model2vec"}`), "tokenizer.json": []byte(`{}`), "model.safetensors": weights, "README.md": []byte("no"),
	}}
}

func serve(t *testing.T, s *shelf) hub.Config {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return hub.Config{Base: server.URL, Dir: t.TempDir(), Client: server.Client()}
}

func TestPull(t *testing.T) {
	t.Parallel()
	s := newShelf()
	cfg := serve(t, s)
	progress := map[string][]int64{}
	cfg.Progress = func(file string, done, total int64) {
		if total != int64(len(s.files[file])) {
			t.Errorf("%s has %d bytes, want %d", file, total, len(s.files[file]))
		}
		progress[file] = append(progress[file], done)
	}
	dir, err := hub.Pull(t.Context(), cfg, name)
	if err != nil || dir != hub.Folder(cfg.Dir, name) {
		t.Fatalf("%s, %v", dir, err)
	}
	if d := cmp.Diff([]string{"config.json", "tokenizer.json", "model.safetensors"}, s.requests()); d != "" {
		t.Fatalf("requests (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"config.json", "headstart.json", "model.safetensors", "tokenizer.json"}, names(t, dir)); d != "" {
		t.Fatalf("files (-want +got):\n%s", d)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "model.safetensors")); err != nil || !bytes.Equal(got, s.files["model.safetensors"]) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	if p := progress["model.safetensors"]; !slices.IsSorted(p) || p[0] != 0 || p[len(p)-1] != 600_000 {
		t.Fatalf("progress %v", p)
	}
	if _, err := hub.Pull(t.Context(), cfg, name); err != nil || len(s.requests()) > 0 {
		t.Fatalf("what is there was asked for again, %v", err)
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, path) // it is below
			list = append(list, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(list)
	return list
}

// TestPullOfAGraph: any other model is a graph, with what says how it is pooled.
func TestPullOfAGraph(t *testing.T) {
	t.Parallel()
	s := &shelf{files: map[string][]byte{
		"config.json": []byte(`{"model_type":"bert"}`), "tokenizer.json": []byte(`{}`), "modules.json": []byte(`[]`),
		"1_Pooling/config.json": []byte(`{}`), "onnx/model.onnx": []byte("graph"), "pytorch_model.bin": []byte("large"),
	}}
	dir, err := hub.Pull(t.Context(), serve(t, s), name)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"1_Pooling/config.json", "config.json", "headstart.json", "modules.json", "onnx/model.onnx", "tokenizer.json"}, names(t, dir)); d != "" {
		t.Fatalf("files (-want +got):\n%s", d)
	}
}

func TestPullResumes(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		change bool
		second string
	}{
		"the same file":  {false, "model.safetensors bytes=200000-"},
		"a new revision": {true, "model.safetensors bytes=200000-"}, // and is sent all of it
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newShelf()
			s.stop = 200_000
			cfg := serve(t, s)
			if _, err := hub.Pull(t.Context(), cfg, name); err == nil || !strings.Contains(err.Error(), "pull again to resume") {
				t.Fatalf("half a file is whole: %v", err)
			}
			if _, err := os.Stat(filepath.Join(hub.Folder(cfg.Dir, name), "model.safetensors")); !errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("half a file is under its name: %v", err)
			}
			if s.requests(); c.change {
				s.files["model.safetensors"] = append([]byte("new"), s.files["model.safetensors"]...)
			}
			dir, err := hub.Pull(t.Context(), cfg, name)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff([]string{c.second}, s.requests()); d != "" {
				t.Fatalf("requests (-want +got):\n%s", d)
			}
			if got, err := os.ReadFile(filepath.Join(dir, "model.safetensors")); err != nil || !bytes.Equal(got, s.files["model.safetensors"]) {
				t.Fatalf("%d bytes, %v", len(got), err)
			}
			if files := names(t, dir); len(files) != 4 {
				t.Fatalf("left behind: %v", files)
			}
		})
	}
}

// TestChangeIsRefused: the first pull decides what the model is, whatever the hub
// says later.
func TestChangeIsRefused(t *testing.T) {
	t.Parallel()
	s := newShelf()
	cfg := serve(t, s)
	dir, err := hub.Pull(t.Context(), cfg, name)
	if err != nil {
		t.Fatal(err)
	}
	first := s.files["model.safetensors"]
	s.files["model.safetensors"] = []byte("another model")
	path := filepath.Join(dir, "model.safetensors")
	for _, spoil := range []func() error{func() error { return os.Remove(path) }, func() error { return os.WriteFile(path, []byte("spoilt"), 0o644) }} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		_, err = hub.Pull(t.Context(), cfg, name)
		changed, ok := errors.AsType[*hub.ChangedError](err)
		if !ok || changed.File != "model.safetensors" || !strings.Contains(err.Error(), "remove "+dir) {
			t.Fatalf("took another model: %v", err)
		}
		if slices.ContainsFunc(names(t, dir), func(n string) bool { return strings.Contains(n, ".part") }) {
			t.Fatalf("left behind: %v", names(t, dir))
		}
	}
	if _, err := hub.Identify(dir, map[string][]byte{"model.safetensors": []byte("spoilt")}); err == nil {
		t.Fatal("a file that changed is identified")
	}
	s.files["model.safetensors"] = first
	if _, err := hub.Pull(t.Context(), cfg, name); err != nil {
		t.Fatalf("the model that it was: %v", err)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	s := newShelf()
	s.lie = true
	cfg := serve(t, s)
	if _, err := hub.Pull(t.Context(), cfg, name); err == nil || !strings.Contains(err.Error(), "the hub promised") {
		t.Fatalf("took what the hub did not promise: %v", err)
	}
	for _, bad := range []string{"", "tiny", "a/b/c", "../x", "a/..", "a/b?x", "-a/b", "a/.b"} {
		if _, err := hub.Pull(t.Context(), cfg, bad); err == nil || !strings.Contains(err.Error(), "OWNER/MODEL") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := hub.Pull(t.Context(), cfg, "acme/other"); err == nil || !strings.Contains(err.Error(), "tokenizer.json: the hub has no such file") {
		t.Fatalf("a model that is not there: %v", err)
	}
	private := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "", http.StatusUnauthorized) }))
	defer private.Close()
	cfg.Base = private.URL
	_, err := hub.Pull(t.Context(), cfg, "acme/secret")
	if status, ok := errors.AsType[*hub.StatusError](err); !ok || status.Code != http.StatusUnauthorized || !strings.Contains(err.Error(), "is the name right") {
		t.Fatalf("a model that is private: %v", err)
	}
}

func TestSilenceIsGivenUp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		silent := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		cfg := hub.Config{Dir: dir, Client: &http.Client{Transport: embedtest.Transport(silent)}}
		began := time.Now()
		_, err := hub.Pull(t.Context(), cfg, name)
		if _, ok := errors.AsType[*hub.StallError](err); !ok || time.Since(began) != 30*time.Second {
			t.Fatalf("%v after %s", err, time.Since(began))
		}
	})
}
