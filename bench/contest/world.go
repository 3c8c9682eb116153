package contest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"

	"github.com/outlast-go/outlast/bench/part"
	"github.com/outlast-go/outlast/test/servers"
)

// durability is what each engine is asked for, the same on both sides of each comparison.
var durability = map[string]string{
	"sqlite":   "WAL, synchronous=FULL: each commit is synced",
	"postgres": "synchronous_commit=on, fsync=on: each commit is synced",
	"redis":    "appendonly, appendfsync=everysec: synced once a second",
	"http":     "none on the bare side: nothing is stored",
}

// World is what the benches run on: a folder, private servers, the programs of the contestants.
type World struct {
	cfg      Config
	dir      string
	postgres *servers.Postgres
	redis    *servers.Redis
	machine  Machine
	flush    func() // empties Redis
	building sync.Mutex
	programs map[string]string // guarded by building
	numbers  atomic.Int64
	cleanups []func()
}

// newWorld starts the servers that the benches need.
func newWorld(cfg Config, list []*Bench) (w *World, err error) {
	w = &World{cfg: cfg, programs: map[string]string{}}
	if w.dir, err = os.MkdirTemp("", "outlast-bench-"); err != nil {
		return nil, err
	}
	w.Cleanup(func() { _ = os.RemoveAll(w.dir) })
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	defer rescue(&err)
	needs := func(engine string) bool {
		return slices.ContainsFunc(list, func(b *Bench) bool { return b.Engine == engine })
	}
	w.launch(needs("postgres"), needs("redis"))
	return w, nil
}

// launch starts servers, and looks at the machine while they are there.
func (w *World) launch(postgres, redis bool) {
	if postgres {
		w.postgres = servers.StartPostgres(w)
	}
	if redis {
		w.redis = servers.NewRedis(w, servers.RedisConfig{Fsync: "everysec"})
		w.flush = func() { w.redis.Do("FLUSHALL", "ASYNC") }
	}
	w.machine = w.look()
}

// failure is how a server that does not start is told: package servers is made for tests, which end by panic or by Goexit.
type failure struct{ error }

func rescue(err *error) {
	switch e := recover().(type) {
	case nil:
	case failure:
		*err = errors.Join(*err, e.error)
	default:
		panic(e)
	}
}

// Helper is for servers.T.
func (*World) Helper() {}

// Fatalf ends the start of a server.
func (*World) Fatalf(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

// Cleanup is called when the world ends.
func (w *World) Cleanup(end func()) { w.cleanups = append(w.cleanups, end) }

func (w *World) close() {
	for _, end := range slices.Backward(w.cleanups) {
		end()
	}
}

func (w *World) next() int64 { return w.numbers.Add(1) }

// place is an empty store.
type place struct {
	url    string
	server int // process id
	remove func()
}

// fresh makes an empty store of an engine.
func (w *World) fresh(ctx context.Context, engine string) (p place, err error) {
	defer rescue(&err)
	switch engine {
	case "sqlite":
		dir := filepath.Join(w.dir, fmt.Sprint(w.next()))
		return place{url: "sqlite:" + filepath.Join(dir, "bench.db"), remove: func() { _ = os.RemoveAll(dir) }}, os.Mkdir(dir, 0o700)
	case "postgres":
		return w.database(ctx)
	case "redis":
		w.flush()
		return place{url: w.redis.URL(), server: w.redis.Pid(), remove: func() {}}, nil
	}
	return place{remove: func() {}}, nil
}

// database makes an empty database and has the server write out what is left of others.
func (w *World) database(ctx context.Context) (place, error) {
	name := fmt.Sprintf("bench%d", w.next())
	if err := w.exec(ctx, "checkpoint", "create database "+name); err != nil {
		return place{}, err
	}
	drop := func() {
		_ = w.exec(context.WithoutCancel(ctx), "drop database if exists "+name+" with (force)") // the server goes anyway
	}
	url := fmt.Sprintf("postgres://%s:%s@%s/%s?sslmode=disable", servers.PostgresUser, "s3cret%20word", w.postgres.Address(), name)
	return place{url: url, server: w.postgres.Pid(), remove: drop}, nil
}

func (w *World) exec(ctx context.Context, statements ...string) error {
	conn, err := pgx.Connect(ctx, w.postgres.URL())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	for _, s := range statements {
		if _, err := conn.Exec(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// order is that of a bench for one side.
func (w *World) order(b *Bench, s Side, p place) part.Order {
	o := b.Order
	o.Side, o.Setting, o.URL, o.Server = s.Name, s.Setting, p.url, p.server
	if s.Tasks > 0 && o.Tasks > s.Tasks {
		o.Tasks = s.Tasks
	}
	if s.Slots > 0 {
		o.Slots = s.Slots
	}
	if s.Bench != "" {
		o.Bench = s.Bench
	}
	return o
}

// program is the path of a contestant's program; one with a module of its own is built when it is first asked for, and one in Ruby needs no
// building, but a package of the system.
func (w *World) program(ctx context.Context, folder string) (string, error) {
	if folder == "" {
		return os.Executable()
	}
	w.building.Lock()
	defer w.building.Unlock()
	if path, ok := w.programs[folder]; ok && path != "" {
		return path, nil
	}
	if path, err := script(filepath.Join(w.cfg.Source, folder)); path != "" || err != nil {
		w.programs[folder] = path
		return path, err
	}
	path := filepath.Join(w.dir, folder)
	cmd := exec.CommandContext(ctx, "go", "build", "-o", path, ".")
	cmd.Dir = filepath.Join(w.cfg.Source, folder)
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", folder, err, text)
	}
	w.programs[folder] = path
	return path, nil
}

// script is the path of a contestant in Ruby; empty if the folder has none.
func script(folder string) (string, error) {
	path, err := filepath.Abs(filepath.Join(folder, "part.rb"))
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err != nil {
		return "", nil //nolint:nilerr // it is in Go
	}
	name := filepath.Base(folder)
	if _, err := exec.LookPath(name); err != nil {
		return "", fmt.Errorf("%s is not installed: on Debian and Ubuntu apt-get install ruby-%s", name, name)
	}
	return path, nil
}
