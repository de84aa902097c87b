//go:build !unix

package load

import (
	"errors"
	"time"
)

// Used is not told on this platform.
func Used() (time.Duration, error) { return 0, errors.ErrUnsupported }
