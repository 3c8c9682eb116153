package web_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/postgres"
	"github.com/outlast-go/outlast/store/redis"
	"github.com/outlast-go/outlast/store/sqlite"
	"github.com/outlast-go/outlast/test/servers"
)

func TestMain(m *testing.M) {
	code := m.Run()
	servers.EndShared()
	os.Exit(code)
}

// engine opens an empty store, which is closed with the test. Its clock may be behind; only SQLite's can be.
type engine struct {
	name string
	open func(t testing.TB, behind *shift) store.Store
	// copies, if it is set, makes so many of each task that has ended: quicker than to work through them.
	copies func(t testing.TB, st store.Store, times int)
}

var spaces atomic.Int64

// space is a namespace that no other test has; or OUTLAST_WEB_SPACE, which a benchmark does not fill again.
func space() string {
	if name := os.Getenv("OUTLAST_WEB_SPACE"); name != "" {
		return name
	}
	return fmt.Sprintf("shop%d_%d", os.Getpid(), spaces.Add(1))
}

func closing[S store.Store](t testing.TB) func(st S, err error) store.Store {
	return func(st S, err error) store.Store {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() })
		return st
	}
}

// engines are those that pages are shown on, SQLite first.
var engines = []engine{
	{name: "sqlite", open: func(t testing.TB, behind *shift) store.Store {
		path := filepath.Join(t.TempDir(), "shop.db")
		return closing[*sqlite.Store](t)(sqlite.Open(t.Context(), sqlite.Config{Path: path, Namespace: "shop", Clock: behind.now}))
	}},
	{name: "postgres", copies: copyPostgres, open: func(t testing.TB, _ *shift) store.Store {
		return closing[*postgres.Store](t)(postgres.Open(t.Context(), servers.SharedPostgres(t), postgres.Config{Namespace: space()}))
	}},
	{name: "redis", open: func(t testing.TB, _ *shift) store.Store {
		url := strings.TrimSuffix(servers.SharedRedis(t), "/")
		return closing[*redis.Store](t)(redis.Open(t.Context(), url, redis.Config{Namespace: space()}))
	}},
}

// copyPostgres copies tasks by two statements. Ids keep their time; the rest of them is made anew. The server then cleans up, as it would by itself in time.
func copyPostgres(t testing.TB, st store.Store, times int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), servers.SharedPostgres(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	for _, text := range []string{
		"set search_path to " + pgx.Identifier{st.Info().Namespace}.Sanitize(),
		"create temp table made as select id as old, overlay(gen_random_uuid()::text placing left(id::text, 13) || '-7' from 1)::uuid as id " +
			"from ended, generate_series(1, " + strconv.Itoa(times) + ")",
		"create temp table bodies as select b.*, m.id as made from body b join made m on m.old = b.id",
		"create temp table tasks as select e.*, m.id as made from ended e join made m on m.old = e.id",
		"update bodies set id = made", "update tasks set id = made",
		"alter table bodies drop made", "alter table tasks drop made",
		"insert into body select * from bodies", "insert into ended select * from tasks",
		"drop table made, bodies, tasks", "vacuum (analyze) body", "vacuum (analyze) ended", "vacuum (analyze) task",
	} {
		if _, err := conn.Exec(t.Context(), text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
}
