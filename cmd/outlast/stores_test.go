package main

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/outlast-go/outlast/cmd/outlast/engine"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/test/servers"
)

// shared are the servers of all tests of this program. They are started by the first test that needs one, and end with the program.
var shared = &host{}

type host struct {
	postgres, redis sync.Once
	postgresURL     string
	redisURL        string
	spaces          atomic.Int64
	mu              sync.Mutex
	ends            []func()
}

func (h *host) Helper() {}

func (h *host) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

func (h *host) Cleanup(end func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ends = append(h.ends, end)
}

// stop ends the servers.
func (h *host) stop() {
	for i := len(h.ends) - 1; i >= 0; i-- {
		h.ends[i]()
	}
}

// stores are URLs of the engines, each with a fresh store.
func stores(t *testing.T) map[string]string {
	t.Helper()
	shared.postgres.Do(func() {
		if shared.postgresURL = os.Getenv("OUTLAST_TEST_POSTGRES"); shared.postgresURL == "" {
			shared.postgresURL = servers.StartPostgres(shared).URL()
		}
	})
	shared.redis.Do(func() {
		if shared.redisURL = os.Getenv("OUTLAST_TEST_REDIS"); shared.redisURL == "" {
			shared.redisURL = "redis://" + servers.NewRedis(shared, servers.RedisConfig{}).Addr
		}
	})
	space := fmt.Sprintf("cli%d_%d", os.Getpid(), shared.spaces.Add(1))
	return map[string]string{
		"sqlite":   "sqlite:" + filepath.Join(t.TempDir(), "a.db"),
		"postgres": option(shared.postgresURL, "namespace="+space),
		"redis":    option(shared.redisURL, "namespace="+space),
	}
}

// option adds one to a URL.
func option(url, text string) string {
	if strings.Contains(url, "?") {
		return url + "&" + text
	}
	return url + "?" + text
}

// fresh is the URL of a new SQLite store.
func fresh(t *testing.T) string {
	t.Helper()
	return "sqlite:" + filepath.Join(t.TempDir(), "a.db")
}

// planted opens a store, with a kernel on it that is not run.
func planted(t *testing.T, url string, cfg kernel.Config) (*kernel.Kernel, store.Store) {
	t.Helper()
	st, err := engine.Open(t.Context(), url, engine.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return kerneltest.New(t, st, cfg), st
}
