//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package encodertest

import "syscall"

// alone puts a child into a process group of its own. A test that is killed leaves
// its encoder here.
func alone() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
