package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/outlast-go/outlast/cmd/outlast/engine"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/test/crash"
	"github.com/outlast-go/outlast/test/servers"
)

// engines are what a trial can be played on.
const engines = "sqlite, postgres, pgbouncer (PostgreSQL behind it), redis (appendfsync always), redis-everysec"

// stage is where a trial is played: the URL of the store, and what can be done to its server.
type stage struct {
	crash.Stage
	url string
	end func()
}

// setStage starts a private server for the engine on a disk, or names a file for one that needs none.
func setStage(engineName string, d *disk, chance *rand.Rand) (st stage, err error) {
	t := &starter{}
	defer func() {
		if err != nil {
			t.end()
		}
	}()
	defer t.rescue(&err)
	st.end = t.end
	st.Reopen = func(ctx context.Context, url string) (store.Store, error) { return engine.Open(ctx, url) }
	alive := func() {}
	switch engineName {
	case "sqlite":
		st.url = "sqlite:" + filepath.Join(d.dir, "crash.db")
	case "postgres", "pgbouncer":
		alive = setPostgres(t, &st, engineName == "pgbouncer")
	case "redis", "redis-everysec":
		cfg := servers.RedisConfig{Fsync: "always"}
		if engineName != "redis" {
			cfg.Fsync = "everysec"
		}
		s := servers.NewRedis(t, cfg)
		st.url = s.URL()
		st.KillServer = t.try(func() { s.Kill(); s.Start() })
		st.Cut = t.try(func() { cutRedis(s, func([]string) bool { return chance.IntN(2) == 0 }) })
		st.CutIdle = t.try(func() { cutRedis(s, idleRedis) })
		alive = func() { s.Revive() }
	default:
		return st, fmt.Errorf("engine %q is not known; there are %s", engineName, engines)
	}
	if st.KillServer != nil {
		u, err := url.Parse(st.url)
		if err != nil {
			return st, err
		}
		st.Server = u.Host
		st.Via = func(addr string) string { v := *u; v.Host = addr; return v.String() }
	}
	if d.image {
		st.Fill = func(context.Context) error { return d.fill() }
		st.Free = func(ctx context.Context) error { return errors.Join(d.free(), t.try(alive)(ctx)) }
	}
	return st, nil
}

func setPostgres(t *starter, st *stage, bounced bool) (alive func()) {
	s := servers.StartPostgres(t)
	st.url = s.URL()
	if bounced {
		st.url = servers.StartBouncer(t, s.URL())
	}
	st.KillServer = t.try(func() { s.Kill(); s.Start(t) })
	st.Cut = func(ctx context.Context) error { return cutPostgres(ctx, s.URL(), "random() < 0.5") }
	st.CutIdle = func(ctx context.Context) error { return cutPostgres(ctx, s.URL(), "state = 'idle'") }
	return func() { s.Revive(t) }
}

// cutPostgres ends the sessions of clients for which a condition holds.
func cutPostgres(ctx context.Context, url, which string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		return fmt.Errorf("cut sessions: %w", err)
	}
	_, err = c.Exec(ctx, `select pg_terminate_backend(pid) from pg_stat_activity
		where backend_type = 'client backend' and pid <> pg_backend_pid() and `+which)
	_ = c.Close(ctx) // it has done what it was for
	if err != nil {
		return fmt.Errorf("cut sessions: %w", err)
	}
	return nil
}

// cutRedis ends the connections that are chosen by what the server tells of them.
func cutRedis(s *servers.Redis, which func(fields []string) bool) {
	for line := range strings.Lines(s.Do("CLIENT", "LIST")) {
		fields := strings.Fields(line)
		id, found := strings.CutPrefix(fields[0], "id=")
		if found && which(fields) {
			s.Do("CLIENT", "KILL", "ID", id)
		}
	}
}

// idleRedis chooses connections that have said nothing for a second.
func idleRedis(fields []string) bool {
	return !slices.Contains(fields, "idle=0")
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

// folder is where the logs go: the one to keep them in, or a temporary one. Servers of other users live in it.
func folder(keep string) (dir string, err error) {
	if dir = keep; keep == "" {
		dir, err = os.MkdirTemp("", "outlast-crash-")
	} else {
		err = os.MkdirAll(keep, 0o700)
	}
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o711) //nolint:gosec // they pass through it to their own folders
}
