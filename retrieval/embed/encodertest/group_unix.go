//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package encodertest

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// killGroup ends a child of alone and all that it started.
func killGroup(p *os.Process) error {
	if err := syscall.Kill(-p.Pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("kill process group %d: %w", p.Pid, err)
	}
	return nil
}
