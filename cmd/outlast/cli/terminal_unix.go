//go:build unix

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// Size is that of a terminal, in letters and lines; 0, 0 if it is none.
func Size(f *os.File) (width, height int) {
	ws, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, 0
	}
	return int(ws.Col), int(ws.Row)
}

// IsTerminal reports whether somebody looks at a file, or types into it.
func IsTerminal(f *os.File) bool {
	_, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	return err == nil
}
