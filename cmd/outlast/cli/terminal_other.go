//go:build !unix || solaris || aix

package cli

import (
	"errors"
	"os"
)

// Size is not known here.
func Size(*os.File) (width, height int) { return 0, 0 }

// IsTerminal reports whether somebody looks at a file, or types into it.
func IsTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Keys cannot be read one by one here.
func Keys(*os.File) (next func() (byte, error), restore func(), err error) {
	return nil, nil, errors.New("keys cannot be read here; say --once")
}
