package history_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/memory"
	"github.com/outlast-go/outlast/store/postgres"
	"github.com/outlast-go/outlast/store/redis"
	"github.com/outlast-go/outlast/store/sqlite"
	"github.com/outlast-go/outlast/test/history"
	"github.com/outlast-go/outlast/test/servers"
)

func TestMain(m *testing.M) {
	code := m.Run()
	servers.EndShared()
	os.Exit(code)
}

// opener returns handles on one empty namespace.
type opener func(ctx context.Context) (store.Store, error)

func onMemory(*testing.T) opener {
	first := memory.New(memory.Config{Timing: history.Timing()})
	return func(context.Context) (store.Store, error) { return first.Process(), nil }
}

func onSQLite(t *testing.T) opener {
	path := filepath.Join(t.TempDir(), "history.db")
	return func(ctx context.Context) (store.Store, error) {
		return sqlite.Open(ctx, sqlite.Config{Path: path, Timing: history.Timing()})
	}
}

func onPostgres(t *testing.T) opener {
	url := servers.PostgresSpace(t)
	return func(ctx context.Context) (store.Store, error) {
		return postgres.Open(ctx, url, postgres.Config{Timing: history.Timing()})
	}
}

func onRedis(t *testing.T) opener {
	url := servers.RedisSpace(t)
	return func(ctx context.Context) (store.Store, error) {
		return redis.Open(ctx, url, redis.Config{Timing: history.Timing()})
	}
}

// FT-07, FT-08, FT-19, FT-22, FT-25

func TestHistoriesOnMemoryAreLinearizable(t *testing.T)   { linearizable(t, "memory", onMemory) }
func TestHistoriesOnSQLiteAreLinearizable(t *testing.T)   { linearizable(t, "sqlite", onSQLite) }
func TestHistoriesOnPostgresAreLinearizable(t *testing.T) { linearizable(t, "postgres", onPostgres) }
func TestHistoriesOnRedisAreLinearizable(t *testing.T)    { linearizable(t, "redis", onRedis) }

// linearizable runs histories on an engine: three seconds, or as long as OUTLAST_HISTORY_SECONDS says.
func linearizable(t *testing.T, engine string, on func(*testing.T) opener) {
	t.Parallel()
	cfg := history.Config{Engine: engine, Seed: 1, Seconds: 3, Open: on(t), Loose: engine == "postgres"}
	if text := os.Getenv("OUTLAST_HISTORY_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("OUTLAST_HISTORY_SEED: %v", err)
		}
		cfg.Seed = seed
	}
	if text := os.Getenv("OUTLAST_HISTORY_SECONDS"); text != "" {
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatalf("OUTLAST_HISTORY_SECONDS: %v", err)
		}
		cfg.Seconds = seconds
	}
	report, err := history.Run(t.Context(), cfg)
	if err != nil {
		t.Fatalf("seed %d: %v", cfg.Seed, err)
	}
	line, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(string(line))
	if !report.Good() {
		t.Errorf("seed %d: %d histories cannot be, %d were not decided; see %v", cfg.Seed, report.Violations, report.Unknown, report.Pictures)
	}
	if !report.Telling() {
		t.Errorf("the histories have nothing to tell: %+v", report)
	}
}
