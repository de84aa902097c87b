//go:build unix

package load

import (
	"fmt"
	"syscall"
	"time"
)

// Used is the processor time of this process so far, in user and in system
// mode, over all its threads; never that of other processes or of children.
func Used() (time.Duration, error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, fmt.Errorf("get resource usage: %w", err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), nil
}
