//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package encodertest

import (
	"os"
	"syscall"
)

// alone adds nothing here: a test that is killed leaves its encoder.
func alone() *syscall.SysProcAttr { return nil }

func killGroup(p *os.Process) error { return p.Kill() }
