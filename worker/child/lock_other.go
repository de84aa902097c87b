//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package child

// tryLock locks nothing here: two at once may both make it, which costs time only
// where each renames the whole into place.
func tryLock(string) (unlock func(), held bool, err error) {
	return func() {}, false, nil
}
