//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package devserver

import "syscall"

// childAttributes adds nothing here: a parent that is killed leaves its server.
func childAttributes() *syscall.SysProcAttr { return nil }
