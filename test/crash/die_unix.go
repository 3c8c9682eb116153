//go:build unix

package crash

import (
	"os"
	"syscall"
)

// die ends this process as kill -9 does.
func die() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) }

func stop(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }

func goOn(p *os.Process) error { return p.Signal(syscall.SIGCONT) }
