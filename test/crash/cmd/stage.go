package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/outlast-go/outlast/test/servers"
)

// engines are what a trial can be played on.
const engines = "sqlite, postgres, pgbouncer (PostgreSQL behind it), redis (appendfsync always), redis-everysec"

// stage is where a trial is played: the URL of the store, and what can be done to its server.
type stage struct {
	url             string
	killServer, cut func(ctx context.Context) error
	end             func()
}

// setStage starts a private server for the engine, or names a file for one that needs none.
func setStage(engine, dir string, chance *rand.Rand) (st stage, err error) {
	t := &starter{}
	defer func() {
		if err != nil {
			t.end()
		}
	}()
	defer t.rescue(&err)
	st.end = t.end
	switch engine {
	case "sqlite":
		st.url = "sqlite:" + filepath.Join(dir, "crash.db")
	case "postgres", "pgbouncer":
		s := servers.StartPostgres(t)
		st.url = s.URL()
		if engine == "pgbouncer" {
			st.url = servers.StartBouncer(t, s.URL())
		}
		st.killServer = t.try(func() { s.Kill(); s.Start(t) })
		st.cut = func(ctx context.Context) error { return cutPostgres(ctx, s.URL()) }
	case "redis", "redis-everysec":
		cfg := servers.RedisConfig{Fsync: "always"}
		if engine != "redis" {
			cfg.Fsync = "everysec"
		}
		s := servers.NewRedis(t, cfg)
		st.url = s.URL()
		st.killServer = t.try(func() { s.Kill(); s.Start() })
		st.cut = t.try(func() { cutRedis(s, chance) })
	default:
		return st, fmt.Errorf("engine %q is not known; there are %s", engine, engines)
	}
	return st, nil
}

// cutPostgres ends about half of the sessions.
func cutPostgres(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		return fmt.Errorf("cut sessions: %w", err)
	}
	_, err = c.Exec(ctx, `select pg_terminate_backend(pid) from pg_stat_activity
		where backend_type = 'client backend' and pid <> pg_backend_pid() and random() < 0.5`)
	_ = c.Close(ctx) // it has done what it was for
	if err != nil {
		return fmt.Errorf("cut sessions: %w", err)
	}
	return nil
}

// cutRedis ends about half of the connections.
func cutRedis(s *servers.Redis, chance *rand.Rand) {
	for line := range strings.Lines(s.Do("CLIENT", "LIST")) {
		id, found := strings.CutPrefix(strings.Fields(line)[0], "id=")
		if found && chance.IntN(2) == 0 {
			s.Do("CLIENT", "KILL", "ID", id)
		}
	}
}

// starter starts servers for a command as a test does for itself: what goes wrong ends what was being done.
type starter struct {
	mu   sync.Mutex
	ends []func()
}

// failure is what ended it.
type failure struct{ error }

func (*starter) Helper() {}

func (*starter) Fatalf(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

func (t *starter) Cleanup(end func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ends = append(t.ends, end)
}

// rescue makes an error of a failure.
func (*starter) rescue(err *error) {
	switch p := recover().(type) {
	case nil:
	case failure:
		*err = p.error
	default:
		panic(p)
	}
}

// try makes a function of one that may fail.
func (t *starter) try(fn func()) func(context.Context) error {
	return func(context.Context) (err error) {
		defer t.rescue(&err)
		fn()
		return nil
	}
}

// end stops all servers, the last one first.
func (t *starter) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.ends) > 0 {
		last := len(t.ends) - 1
		t.ends[last]()
		t.ends = t.ends[:last]
	}
}

// folder is where the logs go: the one to keep them in, or a temporary one.
func folder(keep string) (string, error) {
	if keep == "" {
		return os.MkdirTemp("", "outlast-crash-")
	}
	return keep, os.MkdirAll(keep, 0o700)
}
