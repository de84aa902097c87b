package child

import "syscall"

// dieWithParent has the kernel kill the child when the thread that started it ends, so
// that a killed parent leaves none.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }
