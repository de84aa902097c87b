package devserver_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"headstart/worker/devserver"
)

func TestFindTakesTheBinaryGiven(t *testing.T) {
	t.Parallel()
	got, err := devserver.Find(t.Context(), devserver.Config{Binary: os.Args[0]})
	if err != nil || got != os.Args[0] {
		t.Fatalf("got %q, %v", got, err)
	}
	_, err = devserver.Find(t.Context(), devserver.Config{Binary: filepath.Join(t.TempDir(), "none")})
	if !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("got %v, want that there is none", err)
	}
}

func TestFindPrefersThePath(t *testing.T) {
	dir := t.TempDir()
	want := filepath.Join(dir, "livekit-server")
	if err := os.WriteFile(want, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatalf("write: %v", err)
	}
	t.Setenv("PATH", dir)
	got, err := devserver.Find(t.Context(), devserver.Config{})
	if err != nil || got != want {
		t.Fatalf("got %q, %v, want %q", got, err, want)
	}
}

func TestFindSaysThatThereIsNone(t *testing.T) {
	t.Setenv("PATH", "")
	t.Chdir(t.TempDir())
	_, err := devserver.Find(t.Context(), devserver.Config{})
	if !errors.Is(err, devserver.ErrNoServer) {
		t.Fatalf("got %v, want %v", err, devserver.ErrNoServer)
	}
}

// TestFindBuildsOnce lets eight finders loose on an empty cache. The module is
// a small one in the place of LiveKit's, built by the real compiler.
func TestFindBuildsOnce(t *testing.T) {
	t.Parallel()
	module, cache := fakeModule(t, "package main\nfunc main() {}\n"), t.TempDir()
	var mu sync.Mutex
	built := 0
	progress := func(line string) {
		mu.Lock()
		defer mu.Unlock()
		if strings.HasPrefix(line, "built ") {
			built++
		}
	}
	var wg sync.WaitGroup
	paths, errs := make([]string, 8), make([]error, 8)
	for i := range paths {
		wg.Go(func() {
			paths[i], errs[i] = devserver.Find(t.Context(),
				devserver.Config{Module: module, CacheDir: cache, Progress: progress})
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatalf("find: %v", err)
	}
	for _, path := range paths {
		if path != paths[0] || !strings.Contains(path, "v0.0.1") {
			t.Fatalf("paths differ or lack the version: %q, %q", path, paths[0])
		}
	}
	if built != 1 {
		t.Fatalf("built %d times, want once", built)
	}
	if left, _ := filepath.Glob(filepath.Join(cache, "build-*")); len(left) != 0 {
		t.Fatalf("left behind: %v", left)
	}
}

func TestFindTellsWhyItDidNotBuild(t *testing.T) {
	t.Parallel()
	module := fakeModule(t, "package main\nfunc main() { undefinedThing() }\n")
	_, err := devserver.Find(t.Context(), devserver.Config{Module: module, CacheDir: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "undefinedThing") {
		t.Fatalf("got %v, want the compiler's complaint", err)
	}
}

func TestValidateJoinsComplaints(t *testing.T) {
	t.Parallel()
	err := devserver.Config{Module: os.Args[0], CacheDir: os.Args[0]}.Validate()
	if err == nil || strings.Count(err.Error(), "is not a folder") != 2 {
		t.Fatalf("got %v, want two complaints", err)
	}
}

// fakeModule writes a nested module whose livekit-server is the given main.
func fakeModule(t *testing.T, main string) string {
	t.Helper()
	dir := t.TempDir()
	const path = "github.com/livekit/livekit-server"
	files := map[string]string{
		"go.mod":                    fmt.Sprintf("module fake\n\ngo 1.26.0\n\ntool %s/cmd/server\n\nrequire %s v0.0.1\n\nreplace %s => ./server\n", path, path, path),
		"go.sum":                    "",
		"server/go.mod":             "module " + path + "\n\ngo 1.26.0\n",
		"server/cmd/server/main.go": main,
	}
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatalf("make folder: %v", err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatalf("write %s: %v", name, err)
		}
	}
	return dir
}

func buildFake(t *testing.T, main string) string {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Fatalf("no go command to build a fake server with: %v", err)
	}
	path, err := devserver.Find(t.Context(), devserver.Config{Module: fakeModule(t, main), CacheDir: t.TempDir()})
	if err != nil {
		t.Fatalf("build fake server: %v", err)
	}
	return path
}
