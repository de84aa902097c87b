//go:build !linux

package postgrestest

import "syscall"

type account struct{ uid, gid uint32 }

// Without chroot there is no server to run: findRoot has said so before.
func inside(string, account) *syscall.SysProcAttr { return nil }

func postgresOf(string) (account, error) { return account{}, errNoServer }
