package sqlite_test

import (
	"os"
	"syscall"
	"testing"
)

// freezable prepares a folder so that a file in it can be made read-only, also for root, who may write what its mode forbids: a
// file system of its own that is mounted anew.
func freezable(t *testing.T, dir string) (freeze func(path string)) {
	t.Helper()
	if os.Geteuid() != 0 {
		return func(path string) { forbid(t, path) }
	}
	if err := syscall.Mount("outlast", dir, "tmpfs", 0, "size=16m"); err != nil {
		t.Fatalf("mount a small file system for this test: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount = %v", err)
		}
	})
	return func(string) {
		if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
			t.Fatalf("mount read-only: %v", err)
		}
	}
}
