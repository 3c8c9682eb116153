package sqlite_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/sqlite"
)

// inBackground runs fn beside the test; wait waits for its end.
func inBackground(t *testing.T, fn func()) (wait func()) {
	t.Helper()
	var running sync.WaitGroup
	running.Go(fn)
	return running.Wait
}

func TestSubmitsThatComeTogetherShareCommits(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "gather.db"))
	tx, err := s.Begin(t.Context()) // nobody is written meanwhile, so that all wait
	if err != nil {
		t.Fatal(err)
	}
	const callers = 64
	var running sync.WaitGroup
	started := make(chan struct{}, callers)
	for range callers {
		running.Go(func() {
			started <- struct{}{}
			if _, err := s.Submit(t.Context(), store.SubmitRequest{Specs: []store.Spec{newSpec()}}); err != nil {
				t.Errorf("Submit = %v, want no error", err)
			}
		})
	}
	for range callers {
		<-started
	}
	before := s.Commits()
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	running.Wait()
	if n := s.Commits() - before; n > callers/8 {
		t.Errorf("%d submits that came together took %d commits, want a few", callers, n)
	}
}

func TestCloseLeavesNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 5 {
		s, err := openAt(t.Context(), filepath.Join(t.TempDir(), "leak.db"))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := inBackground(t, func() { _ = s.Watch(ctx, "w", []string{"q"}, func(store.Notice) {}) })
		if _, err := s.Submit(t.Context(), store.SubmitRequest{Specs: []store.Spec{newSpec()}}); err != nil {
			t.Fatal(err)
		}
		cancel()
		done()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Now(t.Context()); err == nil {
			t.Error("Now after Close has no error")
		}
	}
	deadline := time.Now().Add(5 * time.Second)
	for runtime.NumGoroutine() > before && time.Now().Before(deadline) {
		runtime.Gosched()
	}
	if after := runtime.NumGoroutine(); after > before {
		buf := make([]byte, 1<<16)
		t.Errorf("%d goroutines before, %d after:\n%s", before, after, buf[:runtime.Stack(buf, true)])
	}
}

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
			_ = mustOpen(t, path).Close()
			if err := os.Chmod(path, 0o444); err != nil {
				t.Fatal(err)
			}
			if os.Geteuid() == 0 {
				t.Skip("root may write everything")
			}
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
