package sqlite_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/sqlite"
	"github.com/outlast-go/outlast/store/storetest"
)

func TestConformance(t *testing.T) { storetest.Run(t, engine()) }

// engine is SQLite on a virtual clock.
func engine() storetest.Engine {
	return storetest.Engine{
		Name:    "sqlite",
		Unit:    time.Second,
		Virtual: true,
		Quick:   quick,
		New: func(t testing.TB, timing store.Timing) storetest.World {
			w := &world{t: t, path: filepath.Join(t.TempDir(), "test.db"), timing: timing}
			w.now = time.Date(2024, 2, 29, 23, 59, 30, 0, time.UTC)
			w.first = w.open(t)
			t.Cleanup(w.judge)
			return w
		},
		Corrupt: func(of storetest.World, id store.ID) {
			w := of.(*world)
			if err := w.first.Corrupt(w.t.Context(), id); err != nil {
				w.t.Fatal(err)
			}
		},
		Damage: func(of storetest.World, r store.Repair, n int) {
			w := of.(*world)
			if err := w.first.Damage(w.t.Context(), r, n); err != nil {
				w.t.Fatal(err)
			}
		},
	}
}

type world struct {
	t      testing.TB
	path   string
	timing store.Timing
	first  *sqlite.Store

	mu  sync.Mutex
	now time.Time
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) open(t testing.TB) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Config{Path: w.path, Clock: w.clock, Timing: w.timing})
	if err != nil {
		t.Fatalf("Open = %v, want no error", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close = %v, want no error", err)
		}
	})
	return s
}

// judge holds, at the end, the places of tasks against their records.
func (w *world) judge() {
	if list, err := w.first.Misplaced(context.Background()); len(list) > 0 || err != nil {
		w.t.Errorf("tasks that do not stand where their records say = %v, %v, want none", list, err)
	}
}

func (w *world) Open(t testing.TB) store.Store { return w.open(t) }

// Crash ends a handle without Leave: its locks go as those of a process that died.
func (w *world) Crash(s store.Store) { _ = s.Close() }

func (w *world) Pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}
