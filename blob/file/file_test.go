package file_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/outlast-go/outlast/blob"
	"github.com/outlast-go/outlast/blob/blobtest"
	"github.com/outlast-go/outlast/blob/file"
)

func open(t testing.TB, dir string) *file.Store {
	t.Helper()
	s, err := file.Open(dir)
	if err != nil {
		t.Fatalf("Open = %v, want no error", err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestConformance(t *testing.T) {
	blobtest.Run(t, func(t testing.TB) blobtest.Config {
		dir := filepath.Join(t.TempDir(), "blobs")
		return blobtest.Config{Open: func(t testing.TB) blob.Store { return open(t, dir) }}
	})
}

const task = "0197f1c2-7d1e-7b0a-9c55-3f0e8f6a1b2c"

func TestACrashLeavesTemporaryFilesThatTidyRemoves(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	key := blob.NewKey("owner", task)
	if err := s.Put(t.Context(), key, strings.NewReader("whole")); err != nil {
		t.Fatal(err)
	}
	for name, age := range map[string]time.Duration{"old": time.Hour, "young": time.Second} { // what processes left that were killed
		path := filepath.Join(dir, "tmp", name)
		if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-age)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	page, err := s.List(t.Context(), "", 10)
	if err != nil || len(page.Items) != 1 {
		t.Errorf("List = %+v, %v, want what is whole alone", page.Items, err)
	}
	if n, err := s.Tidy(t.Context(), time.Minute); n != 1 || err != nil {
		t.Errorf("Tidy = %d, %v, want 1", n, err)
	}
	left, err := os.ReadDir(filepath.Join(dir, "tmp"))
	if err != nil || len(left) != 1 || left[0].Name() != "young" {
		t.Errorf("left in tmp: %v, %v, want what somebody may still write", left, err)
	}
}

func TestNoLinkLeadsOutOfTheFolder(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	s := open(t, dir)
	secret := filepath.Join(outside, "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	key := blob.NewKey("owner", task)
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "2c"), 0o700), os.Symlink(secret, filepath.Join(dir, "2c", strings.Replace(key, "/", ".", 1)))); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Get(t.Context(), key); err == nil {
		_ = r.Close()
		t.Error("Get through a link = no error, want one")
	}
	other := strings.Replace(task, "2c", "2d", 1)
	if err := os.Symlink(outside, filepath.Join(dir, other[len(other)-2:])); err != nil {
		t.Fatal(err)
	}
	_ = s.Put(t.Context(), blob.NewKey("owner", other), strings.NewReader("x"))
	names, err := os.ReadDir(outside)
	if err != nil || len(names) != 1 {
		t.Errorf("the folder outside has %v, %v, want the secret alone", names, err)
	}
}

func TestTheFolderIsItsOwnersAlone(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	s := open(t, dir)
	key := blob.NewKey("owner", task)
	if err := s.Put(t.Context(), key, bytes.NewReader(nil)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, "2c"): 0o700, filepath.Join(dir, "2c", strings.Replace(key, "/", ".", 1)): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, %v, want %v", path, info.Mode(), err, want)
		}
	}
}
