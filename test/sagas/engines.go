// Package sagas shows what sagas do, on each engine: the stories of the seed, what it misses, and how they behave when processes die.
// The events of a saga are asserted as a whole, and are the same on every engine, whether it was started by Start or by Run.
package sagas

import (
	"log/slog"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	enginebyurl "github.com/outlast-go/outlast/cmd/outlast/engine"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/saga/sagatest"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/memory"
	"github.com/outlast-go/outlast/store/sqlite"
	"github.com/outlast-go/outlast/test/servers"
)

// engine makes an empty store. Where bubble is set it can be used in virtual time.
type engine struct {
	name   string
	bubble bool
	// open makes a namespace of its own, and returns what opens it: each call is as one process has it.
	open func(t testing.TB) func() store.Store
}

// engines is where a new engine is added.
var engines = []engine{
	{"memory", true, func(testing.TB) func() store.Store {
		st := memory.New(memory.Config{})
		return func() store.Store { return st }
	}},
	{"sqlite", true, openSQLite},
	{"postgres", false, func(t testing.TB) func() store.Store { return openURL(t, servers.PostgresSpace(t)) }},
	{"redis", false, func(t testing.TB) func() store.Store { return openURL(t, servers.RedisSpace(t)) }},
}

func openSQLite(t testing.TB) func() store.Store {
	t.Helper()
	st, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "saga.db"), Local: true})
	if err != nil {
		t.Fatalf("sqlite.Open = %v", err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return func() store.Store { return st }
}

func openURL(t testing.TB, url string) func() store.Store {
	return func() store.Store {
		st, err := enginebyurl.Open(t.Context(), url)
		if err != nil {
			t.Fatalf("open a store: %v", err)
		}
		t.Cleanup(func() { _ = st.Close() })
		return st
	}
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
				bubbled(t, e, func(t *testing.T) { test(t, &World{engine: e, Here: here}) })
			})
		}
	}
}

// bubbled runs a test in virtual time, if the engine allows.
func bubbled(t *testing.T, e engine, test func(t *testing.T)) {
	if e.bubble {
		synctest.Test(t, test)
		return
	}
	test(t)
}

// Of is a time of a test: as it stands where time is virtual, a hundredth of it where it is not.
func (w *World) Of(d time.Duration) time.Duration {
	if w.engine.bubble {
		return d
	}
	return d / 100
}

// Pass lets such a time go by.
func (w *World) Pass(t testing.TB, d time.Duration) {
	t.Helper()
	sagatest.Pass(t, w.Of(d))
}

// fresh makes an empty store.
func (w *World) fresh(t *testing.T) {
	t.Helper()
	w.store = w.engine.open(t)
}

// fleet runs a worker that serves the sagas, on an empty store if there is none yet. It returns the kernel of another process.
func (w *World) fleet(t *testing.T, defs ...sagatest.Def) *kernel.Kernel {
	t.Helper()
	if w.store == nil {
		w.fresh(t)
	}
	w.worker(t, defs...)
	return w.client(t)
}

// client is a process that runs no worker.
func (w *World) client(t *testing.T) *kernel.Kernel {
	t.Helper()
	return kerneltest.New(t, w.store(), kernel.Config{Logger: quiet(t)})
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
	k = kerneltest.New(t, w.store(), kernel.Config{Slots: slots, Logger: quiet(t)})
	for _, d := range defs {
		d.Serve(k)
	}
	return k, kerneltest.Run(t, k)
}

// quiet is a log of what matters to a test that fails.
func quiet(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError}))
}
