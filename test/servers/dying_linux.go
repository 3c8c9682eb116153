package servers

import "syscall"

// dying lets a server end when the thread that started it does, so that a test that is killed leaves none behind.
func dying() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
