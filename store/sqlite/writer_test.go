package sqlite_test

import (
	"context"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/outlast-go/outlast/store"
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
