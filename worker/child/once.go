package child

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// lockPoll is how often another process is looked for that makes the same.
const lockPoll = 200 * time.Millisecond

// Once makes what a child is run from, at a path, unless it is there: those who want it
// at the same time, in one process or several, make it once. wait is told, once, that
// another is at it.
func Once(ctx context.Context, path string, there func(path string) bool, wait func(), build func(context.Context) error) error {
	if there(path) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make cache folder: %w", err)
	}
	unlock, err := lock(ctx, path+".lock", wait)
	if err != nil {
		return err
	}
	defer unlock()
	if there(path) {
		return nil // by who held the lock before
	}
	return build(ctx)
}

func lock(ctx context.Context, path string, wait func()) (unlock func(), err error) {
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for told := false; ; told = true {
		unlock, held, err := tryLock(path)
		if err != nil {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if !held {
			return unlock, nil
		}
		if !told {
			wait()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for another process that makes %s: %w", filepath.Base(path), context.Cause(ctx))
		}
	}
}
