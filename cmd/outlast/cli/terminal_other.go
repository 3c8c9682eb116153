//go:build !unix

package cli

import "os"

// Size is not known here.
func Size(*os.File) (width, height int) { return 0, 0 }

// IsTerminal reports whether somebody looks at a file, or types into it.
func IsTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
