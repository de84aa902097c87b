//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package postgrestest

// tryLock is not asked: findRoot gives up before, on a system that has no chroot.
func tryLock(string) (unlock func(), held bool, err error) { return func() {}, false, nil }
