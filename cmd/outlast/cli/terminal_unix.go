//go:build unix && !solaris && !aix

package cli

import (
	"errors"
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

// Keys reads single keys from a terminal, without showing them: the function waits a fifth of a second for one, and returns 0 if none was
// typed. restore puts the terminal back as it was.
func Keys(f *os.File) (next func() (byte, error), restore func(), err error) {
	fd := int(f.Fd())
	before, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return nil, nil, err
	}
	now := *before
	now.Lflag &^= unix.ICANON | unix.ECHO
	now.Cc[unix.VMIN], now.Cc[unix.VTIME] = 0, 2
	if err := unix.IoctlSetTermios(fd, setTermios, &now); err != nil {
		return nil, nil, err
	}
	next = func() (byte, error) {
		var b [1]byte
		n, err := unix.Read(fd, b[:])
		if errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN) {
			err = nil
		}
		if n < 1 || err != nil {
			return 0, err
		}
		return b[0], nil
	}
	return next, func() { _ = unix.IoctlSetTermios(fd, setTermios, before) }, nil // a terminal that is gone needs nothing
}
