package devserver

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"headstart/worker/child"
)

const (
	serverModule  = "github.com/livekit/livekit-server"
	serverPackage = serverModule + "/cmd/server"
	serverName    = "livekit-server"
)

// Find returns the path of a LiveKit server: Config.Binary, or livekit-server
// on PATH, or the one in the cache, which it builds first when it is not there
// (about two minutes on two cores, and about 500 MB of modules downloaded).
// Finders at the same time, in one process or several, build it once. It
// returns ErrNoServer when there is nothing to build from.
func Find(ctx context.Context, cfg Config) (string, error) {
	if err := cfg.Validate(); err != nil {
		return "", fmt.Errorf("check devserver configuration: %w", err)
	}
	if cfg.Binary != "" {
		path, err := exec.LookPath(cfg.Binary)
		if err != nil {
			return "", fmt.Errorf("find livekit server: %w", err)
		}
		return path, nil
	}
	if path, err := exec.LookPath(serverName); err == nil {
		return path, nil
	}
	return findBuilt(ctx, cfg)
}

func findBuilt(ctx context.Context, cfg Config) (string, error) {
	module, err := moduleFolder(cfg)
	if err != nil {
		return "", err
	}
	dir, err := cfg.cacheDir()
	if err != nil {
		return "", err
	}
	src, err := readSource(module)
	if err != nil {
		return "", err
	}
	target := filepath.Join(dir, src.name())
	waiting := func() { cfg.progress("waiting for another process that builds %s", filepath.Base(target)) }
	err = child.Once(ctx, target, isFile, waiting, func(ctx context.Context) error { return build(ctx, cfg, src, target) })
	if err != nil {
		return "", err
	}
	return target, nil
}

// source is the nested module that the server is built from.
type source struct {
	folder  string
	version string // of the server, as its go.mod requires it
	sums    string // a hash of go.mod and go.sum: another one is another binary
}

func (s source) name() string {
	name := fmt.Sprintf("%s-%s-%s-%s-%s", serverName, s.version, runtime.GOOS, runtime.GOARCH, s.sums)
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return name
}

func readSource(folder string) (source, error) {
	mod, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	if err != nil {
		return source{}, fmt.Errorf("read livekit module: %w", err)
	}
	sum, err := os.ReadFile(filepath.Join(folder, "go.sum"))
	if err != nil {
		return source{}, fmt.Errorf("read livekit module: %w", err)
	}
	version, ok := requiredVersion(string(mod))
	if !ok {
		return source{}, fmt.Errorf("read livekit module: %s requires no %s", folder, serverModule)
	}
	hash := sha256.Sum256(append(mod, sum...))
	return source{folder: folder, version: version, sums: fmt.Sprintf("%x", hash[:6])}, nil
}

func requiredVersion(mod string) (string, bool) {
	for line := range strings.Lines(mod) {
		f := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(f) >= 2 && f[0] == serverModule {
			return f[1], true
		}
	}
	return "", false
}

// moduleFolder is the configured folder, or testdata/livekit in the working
// directory or the nearest folder above it.
func moduleFolder(cfg Config) (string, error) {
	if cfg.Module != "" {
		return filepath.Abs(cfg.Module)
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find livekit module: %w", err)
	}
	for {
		folder := filepath.Join(dir, "testdata", "livekit")
		if isFile(filepath.Join(folder, "go.mod")) {
			return folder, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", ErrNoServer
		}
		dir = up
	}
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	return err == nil && info.Mode().IsRegular()
}
