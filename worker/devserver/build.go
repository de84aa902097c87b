package devserver

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"headstart/worker/child"
)

const (
	progressEvery = 5 * time.Second
	killWait      = 5 * time.Second // for the compilers that a cancelled build leaves
)

// build compiles the server to a temporary name beside target and renames it,
// so that a finder without the lock never sees half of a file.
func build(ctx context.Context, cfg Config, src source, target string) error {
	temp, err := os.MkdirTemp(filepath.Dir(target), "build-")
	if err != nil {
		return fmt.Errorf("make build folder: %w", err)
	}
	defer os.RemoveAll(temp)
	out := filepath.Join(temp, filepath.Base(target))
	if err := compile(ctx, cfg, src, out); err != nil {
		return err
	}
	if err := os.Rename(out, target); err != nil {
		return fmt.Errorf("keep built livekit server: %w", err)
	}
	return nil
}

func compile(ctx context.Context, cfg Config, src source, out string) error {
	began, lines := time.Now(), child.NewLines(20, nil)
	cmd := buildCommand(ctx, src, out, lines)
	cfg.progress("building %s %s from %s: about two minutes the first time", serverName, src.version, src.folder)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start go build of livekit server: %w", err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			return buildResult(ctx, cfg, err, lines, time.Since(began))
		case <-tick.C:
			count, last := lines.Last()
			cfg.progress("building %s %s: %d packages, %s, now %s",
				serverName, src.version, count, time.Since(began).Round(time.Second), cmp.Or(last, "at the start"))
		}
	}
}

// buildCommand leaves out -trimpath: one set of flags everywhere, or the whole
// build cache is made anew. Without cgo the server needs no C compiler; on
// macOS one of its modules has no build without it.
func buildCommand(ctx context.Context, src source, out string, lines *child.Lines) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", "build", "-v", "-mod=readonly", "-buildvcs=false",
		"-ldflags=-s -w", "-o", out, serverPackage)
	cmd.Dir = src.folder
	cmd.Env = append(cmd.Environ(), "GOWORK=off")
	if runtime.GOOS != "darwin" {
		cmd.Env = append(cmd.Env, "CGO_ENABLED=0")
	}
	cmd.Stdout, cmd.Stderr = lines, lines
	cmd.WaitDelay = killWait
	return cmd
}

func buildResult(ctx context.Context, cfg Config, err error, lines *child.Lines, took time.Duration) error {
	if cause := context.Cause(ctx); cause != nil && err != nil {
		return fmt.Errorf("build livekit server, stopped after %s: %w", took.Round(time.Second), cause)
	}
	if err != nil {
		return fmt.Errorf("build livekit server: %w\n%s", err, lines)
	}
	cfg.progress("built %s in %s", serverName, took.Round(time.Second))
	return nil
}
