//go:build unix

package main

import (
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// wantFiles is how many files and connections a process should be able to have.
const wantFiles = 4096

// limits looks at what the system allows this user's processes.
func (c *chart) limits() {
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &r); err != nil {
		c.add("files", worth, err.Error(), "")
		return
	}
	if r.Cur < wantFiles {
		c.add("files", worth, fmt.Sprintf("a process may have %d files and connections open", r.Cur), fmt.Sprintf("ulimit -n %d, or LimitNOFILE= in its unit, for many calls at once", 65536))
		return
	}
	c.add("files", good, fmt.Sprintf("a process may have %d files and connections open", r.Cur), "")
}

// freeDisk is how many bytes are left where a file is.
func freeDisk(path string) (uint64, bool) {
	var s unix.Statfs_t
	if path == "" || unix.Statfs(filepath.Dir(path), &s) != nil {
		return 0, false
	}
	return uint64(s.Bavail) * uint64(s.Bsize), true
}
