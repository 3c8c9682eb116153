//go:build unix

package sqlite_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestFilesThatProcessesLeftBehindGo(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sweep.db")
	s := mustOpen(t, path)
	if err := join(t.Context(), s, "w"); err != nil {
		t.Fatal(err)
	}
	locks, err := filepath.Glob(filepath.Join(path+".workers", "*.lock"))
	if err != nil || len(locks) != 1 {
		t.Fatalf("lock files = %v, %v, want one", locks, err)
	}
	left := filepath.Join(path+".workers", ".new-left")
	writeFile(t, left, "")
	fresh := filepath.Join(path+".workers", ".new-fresh")
	writeFile(t, fresh, "")
	long := time.Now().Add(-2 * time.Hour)
	for _, file := range []string{left, locks[0]} {
		if err := os.Chtimes(file, long, long); err != nil {
			t.Fatal(err)
		}
	}
	mustOpen(t, path)
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Stat of an old file that nobody holds = %v, want that it is gone", err)
	}
	for _, file := range []string{fresh, locks[0]} {
		if _, err := os.Stat(file); err != nil {
			t.Errorf("Stat of %s = %v, want that it stays", filepath.Base(file), err)
		}
	}
}
