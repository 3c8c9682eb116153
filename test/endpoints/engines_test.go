package endpoints_test

import (
	"path/filepath"
	"testing"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/memory"
	"github.com/outlast-go/outlast/store/postgres"
	"github.com/outlast-go/outlast/store/redis"
	"github.com/outlast-go/outlast/store/sqlite"
	"github.com/outlast-go/outlast/test/servers"
)

// kind is an engine that the scenarios run on.
type kind struct {
	name string
	// open makes an empty store, and returns what opens further handles on it: each is as one process has it. Timing is the store's.
	open func(t testing.TB, timing store.Timing) func() store.Store
	// url names an empty store for other processes; nil: it has none to share.
	url func(t testing.TB) string
}

// engines is every engine.
var engines = []kind{
	{"memory", openMemory, nil},
	{"sqlite", openSQLite, func(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "tasks.db") }},
	{"postgres", openPostgres, func(t testing.TB) string { return servers.PostgresSpace(t) }},
	{"redis", openRedis, func(t testing.TB) string { return servers.RedisSpace(t) }},
}

func openMemory(_ testing.TB, timing store.Timing) func() store.Store {
	st := memory.New(memory.Config{Timing: timing})
	return func() store.Store { return st.Process() }
}

func openSQLite(t testing.TB, timing store.Timing) func() store.Store {
	path := filepath.Join(t.TempDir(), "tasks.db")
	return func() store.Store {
		st, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, Timing: timing})
		return opened(t, st, err)
	}
}

func openPostgres(t testing.TB, timing store.Timing) func() store.Store {
	url := servers.PostgresSpace(t)
	return func() store.Store {
		st, err := postgres.Open(t.Context(), url, postgres.Config{Timing: timing, Conns: 4})
		return opened(t, st, err)
	}
}

func openRedis(t testing.TB, timing store.Timing) func() store.Store {
	url := servers.RedisSpace(t)
	return func() store.Store {
		st, err := redis.Open(t.Context(), url, redis.Config{Timing: timing})
		return opened(t, st, err)
	}
}

// opened closes a handle with its test. A second Close has no effect.
func opened(t testing.TB, st store.Store, err error) store.Store {
	t.Helper()
	if err != nil {
		t.Fatalf("Open = %v, want no error", err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return st
}
