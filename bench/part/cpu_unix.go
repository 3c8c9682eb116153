//go:build unix

package part

import (
	"syscall"
	"time"
)

// OwnCPU is the CPU time of this process. 0: it cannot be told.
func OwnCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
