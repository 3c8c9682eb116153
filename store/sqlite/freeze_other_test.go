//go:build !linux

package sqlite_test

import "testing"

// freezable prepares a folder so that a file in it can be made read-only.
func freezable(t *testing.T, _ string) (freeze func(path string)) {
	t.Helper()
	return func(path string) { forbid(t, path) }
}
