//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package calllog

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lock takes the file for this process until it is closed; the kernel lets go
// when the process dies, however it dies. It returns ErrOwned at once when
// another holds it.
func lock(file *os.File) error {
	err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrOwned
	}
	if err != nil {
		return fmt.Errorf("lock spool: %w", err)
	}
	return nil
}
