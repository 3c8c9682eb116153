package sqlite_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/sqlite"
)

func TestOpenRefusesWhatItCannotKeepPromisesOn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		make func(t *testing.T, path string)
		want string
	}{
		{"a text file", func(t *testing.T, path string) {
			writeFile(t, path, strings.Repeat("this is no database\n", 100))
		}, "not a database"},
		{"a database of another program", func(t *testing.T, path string) { foreign(t, path, "create table theirs (x)") }, "another program"},
		{"a newer schema", func(t *testing.T, path string) {
			_ = mustOpen(t, path).Close()
			foreign(t, path, "pragma user_version = 999")
		}, "update this program"},
		{"a read-only file", func(t *testing.T, path string) {
			freeze := freezable(t, filepath.Dir(path))
			_ = mustOpen(t, path).Close()
			freeze(path)
		}, "writable"},
		{"another namespace", func(t *testing.T, path string) {
			s, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, Namespace: "other"})
			if err != nil {
				t.Fatal(err)
			}
			_ = s.Close()
		}, "namespace"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "file.db")
			c.make(t, path)
			if s, err := openAt(t.Context(), path); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Open = %v, want one that says %q", err, c.want)
				if err == nil {
					_ = s.Close()
				}
			}
		})
	}
	if _, err := openAt(t.Context(), filepath.Join(t.TempDir(), "none", "file.db")); err == nil || !strings.Contains(err.Error(), "make it first") {
		t.Errorf("Open in a folder that is not there = %v, want one that names it", err)
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func foreign(t *testing.T, path, query string) {
	t.Helper()
	if err := sqlite.Foreign(path, query); err != nil {
		t.Fatal(err)
	}
}

// forbid takes the right to write away from everybody but root.
func forbid(t *testing.T, path string) {
	t.Helper()
	if err := os.Chmod(path, 0o444); err != nil {
		t.Fatal(err)
	}
}

func TestAFileOfTheFirstSchemaIsBroughtUpToDate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "first.db")
	s := mustOpen(t, path)
	present := s.Info().Schema
	spec := newSpec()
	if _, err := s.Submit(t.Context(), store.SubmitRequest{Specs: []store.Spec{spec}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		"drop table broken", "drop index task_asked", "alter table task drop column asked", "drop table blob", "drop table chunk", "delete from meta where name = 'id'",
		"drop index lane_urgent", "drop index lane_suspect", "pragma user_version = 1",
	} {
		foreign(t, path, statement)
	}
	s = mustOpen(t, path)
	if _, err := s.Get(t.Context(), spec.ID); err != nil {
		t.Errorf("Get of what was there = %v, want no error", err)
	}
	if err := s.PutChunk(t.Context(), "k", 0, []byte("x")); err != nil || s.Info().ID == "" || s.Info().Schema != present {
		t.Errorf("PutChunk = %v in a file of schema %d, ID %q; want it to work", err, s.Info().Schema, s.Info().ID)
	}
}

// A new file is its owner's alone, and so is what stands beside it; one that is there keeps its mode.
func TestANewFileIsItsOwnersAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new.db")
	s := mustOpen(t, path)
	if _, err := s.Submit(t.Context(), store.SubmitRequest{Specs: []store.Spec{newSpec()}}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v; want 0600", name, info.Mode(), err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o660); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, path)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o660 {
		t.Errorf("after it was opened again: %v, %v; want 0660", info.Mode(), err)
	}
}
