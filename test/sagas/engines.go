// Package sagas shows what sagas do, on each engine: the stories of the seed, what it misses, and how they behave when processes die.
// The events of a saga are asserted as a whole, and are the same on every engine, whether it was started by Start or by Run.
package sagas

import (
	"log/slog"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/saga/sagatest"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/memory"
	"github.com/outlast-go/outlast/store/sqlite"
)

// engine opens an empty store. Where bubble is set it can be used in virtual time.
type engine struct {
	name   string
	bubble bool
	open   func(t testing.TB) store.Store
}

// engines is where a new engine is added.
var engines = []engine{
	{"memory", true, func(testing.TB) store.Store { return memory.New(memory.Config{}) }},
	{"sqlite", true, openSQLite},
}

func openSQLite(t testing.TB) store.Store {
	t.Helper()
	st, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "saga.db"), Local: true})
	if err != nil {
		t.Fatalf("sqlite.Open = %v", err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return st
}

// On runs a test on each engine, with sagas started by Start and by Run, in virtual time where the engine allows.
func On(t *testing.T, test func(t *testing.T, w *World)) {
	t.Helper()
	for _, e := range engines {
		for _, here := range []bool{false, true} {
			name := e.name + "/workers"
			if here {
				name = e.name + "/caller"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				run := func(t *testing.T) { test(t, &World{engine: e, Here: here}) }
				if e.bubble {
					synctest.Test(t, run)
					return
				}
				run(t)
			})
		}
	}
}

// fleet opens a store and runs a worker that serves the sagas on it. It returns the kernel of another process.
func (w *World) fleet(t *testing.T, defs ...sagatest.Def) *kernel.Kernel {
	t.Helper()
	if w.store == nil {
		w.store = w.engine.open(t)
	}
	w.worker(t, defs...)
	return kerneltest.New(t, w.store, kernel.Config{Logger: quiet(t)})
}

// worker runs a worker on the store.
func (w *World) worker(t *testing.T, defs ...sagatest.Def) (k *kernel.Kernel, stop func() error) {
	t.Helper()
	slots := map[string]int{}
	for _, d := range defs {
		for _, q := range d.Queues() {
			slots[q] = 8
		}
	}
	k = kerneltest.New(t, w.store, kernel.Config{Slots: slots, Logger: quiet(t)})
	for _, d := range defs {
		d.Serve(k)
	}
	return k, kerneltest.Run(t, k)
}

// quiet is a log of what matters to a test that fails.
func quiet(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError}))
}
