//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package child

import (
	"os"
	"os/exec"
)

// bind adds nothing here: a parent that is killed leaves its child.
func bind(*exec.Cmd) {}

func kill(p *os.Process) error { return p.Kill() }
