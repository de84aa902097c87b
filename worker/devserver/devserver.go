// Package devserver runs a real LiveKit server on loopback as a child process,
// for development and for tests.
//
// It owns the child: its binary (found on PATH, kept in a cache, or built once
// from the nested module testdata/livekit), its configuration (loopback only,
// ports chosen free, keys drawn afresh), and its end. It never joins a room,
// never dispatches a job, and is never used against a server that others run.
//
// It fails by returning an error: Find when there is no binary and none can be
// built, Start when the server did not answer in time or died, with the last
// lines that it wrote. A server that dies later closes Done.
package devserver

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// ErrNoServer is returned by Find when there is no LiveKit server on this
// machine and no nested module to build one from.
var ErrNoServer = errors.New("no livekit-server on PATH and no testdata/livekit to build it from")

// Config says which LiveKit server to run. The zero value runs livekit-server
// from PATH, or else the one built from testdata/livekit.
type Config struct {
	Binary   string       // path of a LiveKit server; "" looks on PATH, then in CacheDir, then builds
	Module   string       // folder of testdata/livekit; "" looks from the working directory upward
	CacheDir string       // where a built server is kept; "" is headstart in the user's cache folder
	Progress func(string) // told in a line what takes long; nil is silence
	Log      io.Writer    // what the server writes; nil drops it
}

// Validate tells everything that is wrong with the configuration.
func (c Config) Validate() error {
	var complaints []error
	for _, f := range []struct{ name, path string }{{"module", c.Module}, {"cache dir", c.CacheDir}} {
		if f.path == "" {
			continue
		}
		if info, err := os.Stat(f.path); err == nil && !info.IsDir() {
			complaints = append(complaints, fmt.Errorf("%s %q is not a folder", f.name, f.path))
		}
	}
	return errors.Join(complaints...)
}

func (c Config) progress(format string, args ...any) {
	if c.Progress != nil {
		c.Progress(fmt.Sprintf(format, args...))
	}
}

func (c Config) cacheDir() (string, error) {
	if c.CacheDir != "" {
		return filepath.Abs(c.CacheDir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find cache folder: %w", err)
	}
	return filepath.Join(dir, "headstart"), nil
}
