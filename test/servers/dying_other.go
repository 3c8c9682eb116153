//go:build unix && !linux

package servers

import "syscall"

// dying has no way to tie a server to this process here: one that is killed leaves it behind.
func dying() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
