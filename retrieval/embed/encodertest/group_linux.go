package encodertest

import "syscall"

// alone puts a child into a process group of its own. The kernel kills it when the
// thread that started it ends, so a killed test leaves no encoder.
func alone() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
