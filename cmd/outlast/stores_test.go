package main

import (
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/outlast-go/outlast/cmd/outlast/engine"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/test/servers"
)

// stores are URLs of the engines, each with a fresh store.
func stores(t *testing.T) map[string]string {
	t.Helper()
	return map[string]string{
		"sqlite":   fresh(t),
		"postgres": servers.PostgresSpace(t),
		"redis":    servers.RedisSpace(t),
	}
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
