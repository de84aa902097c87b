package postgrestest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// inside runs a child in the folder as its user "postgres", apart from the
// terminal's interrupt. The kernel kills it when the thread that started it
// ends, so a killed test leaves no server.
func inside(root string, u account) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Chroot: root, Credential: &syscall.Credential{Uid: u.uid, Gid: u.gid},
		Setpgid: true, Pdeathsig: syscall.SIGKILL,
	}
}

type account struct{ uid, gid uint32 }

// postgresOf reads the folder's own list of users.
func postgresOf(root string) (account, error) {
	users, err := os.ReadFile(filepath.Join(root, "etc", "passwd"))
	if err != nil {
		return account{}, fmt.Errorf("read users: %w", err)
	}
	for line := range strings.Lines(string(users)) {
		f := strings.Split(line, ":")
		if f[0] != "postgres" || len(f) < 4 {
			continue
		}
		uid, uidErr := strconv.ParseUint(f[2], 10, 32)
		gid, gidErr := strconv.ParseUint(f[3], 10, 32)
		if uidErr == nil && gidErr == nil {
			return account{uint32(uid), uint32(gid)}, nil
		}
	}
	return account{}, fmt.Errorf("read users: no postgres in %s", root)
}
