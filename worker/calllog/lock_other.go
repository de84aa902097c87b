//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package calllog

import "os"

// lock does nothing on systems without flock: there a spool folder must belong
// to one process only.
func lock(*os.File) error { return nil }
