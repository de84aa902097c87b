package devserver

import "syscall"

// childAttributes keeps the terminal's interrupt from the child: whoever
// started the server ends it, after its own calls. The kernel kills the child
// when the thread that started it ends, so a killed parent leaves no server.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
