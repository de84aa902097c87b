package devserver_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"headstart/worker/devserver"
	"headstart/worker/devserver/devservertest"
)

const diesWithParent = true

// TestServerListensOnLoopbackOnly reads the kernel's own list of sockets.
func TestServerListensOnLoopbackOnly(t *testing.T) {
	t.Parallel()
	devservertest.Start(t) // found and built, or skipped
	s, err := devserver.Start(t.Context(), devserver.Config{})
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	defer s.Stop()
	own := socketsOf(t, s)
	seen := 0
	for _, table := range []string{"tcp", "tcp6", "udp", "udp6"} {
		data, err := os.ReadFile("/proc/net/" + table)
		if err != nil {
			t.Fatalf("read sockets: %v", err)
		}
		for line := range strings.Lines(string(data)) {
			f := strings.Fields(line)
			if len(f) < 10 || !own[f[9]] || (strings.HasPrefix(table, "tcp") && f[3] != "0A") {
				continue
			}
			seen++
			if !strings.HasPrefix(f[1], "0100007F:") {
				t.Fatalf("%s socket at %s, want 127.0.0.1", table, f[1])
			}
		}
	}
	if seen < 2 {
		t.Fatalf("saw %d sockets, want one tcp and one udp at least", seen)
	}
}

// socketsOf returns the inodes of the sockets of the process that listens at
// the server's port.
func socketsOf(t *testing.T, s *devserver.Server) map[string]bool {
	t.Helper()
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", s.Pid()))
	if err != nil {
		t.Fatalf("list files: %v", err)
	}
	own := map[string]bool{}
	for _, link := range links {
		to, err := os.Readlink(link)
		if inode, ok := strings.CutPrefix(to, "socket:["); err == nil && ok {
			own[strings.TrimSuffix(inode, "]")] = true
		}
	}
	return own
}
