//go:build unix

package batches_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/outlast-go/outlast/cmd/outlast/engine"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/memory"
	"github.com/outlast-go/outlast/test/servers"
)

// TestMain runs the tests, or, in a process that they started, a worker.
func TestMain(m *testing.M) {
	if os.Getenv(envStore) != "" {
		if err := work(); err != nil {
			fmt.Fprintln(os.Stderr, "worker:", err)
			os.Exit(1)
		}
		return
	}
	code := m.Run()
	servers.EndShared()
	os.Exit(code)
}

// engines are those that the scenarios run on.
var engines = []string{"memory", "sqlite", "postgres", "redis"}

// place is an empty store. open gives a handle on it, as one process has it.
type place struct {
	engine string
	url    string // empty: memory
	open   func(t testing.TB) store.Store
}

// newPlace makes an empty store of an engine.
func newPlace(t testing.TB, name string) place {
	t.Helper()
	p := place{engine: name}
	switch name {
	case "memory":
		st := memory.New(memory.Config{})
		p.open = func(testing.TB) store.Store { return st.Process() }
		return p
	case "sqlite":
		p.url = "sqlite:" + filepath.Join(t.TempDir(), "batches.db")
	case "postgres":
		p.url = servers.PostgresSpace(t)
	case "redis":
		p.url = servers.RedisSpace(t)
	default:
		t.Fatalf("no engine %q", name)
	}
	p.open = func(t testing.TB) store.Store {
		t.Helper()
		st, err := engine.Open(context.Background(), p.url)
		if err != nil {
			t.Fatalf("open the store: %v", err)
		}
		t.Cleanup(func() { _ = st.Close() }) // a second Close has no effect
		return st
	}
	return p
}

// on runs a test on each engine.
func on(t *testing.T, test func(t *testing.T, p place)) {
	t.Helper()
	for _, name := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newPlace(t, name))
		})
	}
}

type served interface{ Serve(k *kernel.Kernel) }

// worker runs a process that serves operations, on a handle of its own. stop ends it as SIGTERM would.
func (p place) worker(t testing.TB, cfg kernel.Config, ops ...served) (k *kernel.Kernel, stop func() error) {
	t.Helper()
	cfg.Logger = quiet(t)
	k = kerneltest.New(t, p.open(t), cfg)
	for _, o := range ops {
		o.Serve(k)
	}
	return k, kerneltest.Run(t, k)
}

// client is a process that only submits and reads.
func (p place) client(t testing.TB) *kernel.Kernel {
	t.Helper()
	return kerneltest.New(t, p.open(t), kernel.Config{Logger: quiet(t)})
}

// quiet is a log of what matters to a test that fails.
func quiet(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError}))
}
