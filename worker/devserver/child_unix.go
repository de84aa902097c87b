//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package devserver

import "syscall"

// childAttributes keeps the terminal's interrupt from the child: whoever
// started the server ends it, after its own calls. A parent that is killed
// leaves its server here.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
