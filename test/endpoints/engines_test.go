package endpoints_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

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
	{"postgres", openPostgres, postgresURL},
	{"redis", openRedis, redisURL},
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
	url := postgresURL(t)
	return func() store.Store {
		st, err := postgres.Open(t.Context(), url, postgres.Config{Timing: timing, Conns: 4})
		return opened(t, st, err)
	}
}

func openRedis(t testing.TB, timing store.Timing) func() store.Store {
	url := redisURL(t)
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

var namespaces atomic.Int64

// namespace is a name that nobody else on the server has.
func namespace() string {
	return fmt.Sprintf("endpoints_%d_%d_%d", os.Getpid(), time.Now().Unix(), namespaces.Add(1))
}

// inNamespace adds one to the URL of a server.
func inNamespace(url, name string) string {
	url = strings.TrimRight(url, "?&")
	if strings.Contains(url, "?") {
		return url + "&namespace=" + name
	}
	return url + "?namespace=" + name
}

// postgresURL is an empty namespace of the shared server, which goes with the test.
func postgresURL(t testing.TB) string {
	t.Helper()
	url, name := servers.SharedPostgres(t), namespace()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second) // the test's own is over
		defer cancel()
		conn, err := pgx.Connect(ctx, url)
		if err == nil {
			_, err = conn.Exec(ctx, "drop schema if exists "+name+" cascade")
			_ = conn.Close(ctx)
		}
		if err != nil {
			t.Errorf("drop %s: %v", name, err)
		}
	})
	return inNamespace(url, name)
}

// redisURL is an empty namespace of the shared server.
func redisURL(t testing.TB) string {
	t.Helper()
	return inNamespace(servers.SharedRedis(t), namespace())
}
