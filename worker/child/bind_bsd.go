//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package child

import "syscall"

// dieWithParent adds nothing here: a parent that is killed leaves its child.
func dieWithParent(*syscall.SysProcAttr) {}
