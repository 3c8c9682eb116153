package postgres_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/postgres"
	"github.com/outlast-go/outlast/store/storetest"
	"github.com/outlast-go/outlast/test/servers"
)

func TestConformance(t *testing.T) { storetest.Run(t, engine(t)) }

// Behind a pooler in transaction mode there is no evidence and no listening; all else holds.
func TestConformanceBehindAPooler(t *testing.T) {
	url := bouncer(t)
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	cfg.MaxConns = 8
	cfg.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	cfg.ConnConfig.StatementCacheCapacity, cfg.ConnConfig.DescriptionCacheCapacity = 0, 0
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	e := engineOn(url, pool, postgres.Config{Pooler: true})
	e.Name, e.Quick = "postgres/pooler", 50
	checks("5")
	defer checks("15")
	storetest.Run(t, e)
}

// That there is a pooler is found out at Open, and told.
func TestAPoolerIsFoundOut(t *testing.T) {
	s, err := postgres.Open(t.Context(), bouncer(t), postgres.Config{Namespace: namespace(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if got := s.Info().Evidence; got != store.EvidenceNone {
		t.Errorf("Info = evidence %q, want none: a pooler hands sessions around", got)
	}
	if _, err := s.Submit(t.Context(), store.SubmitRequest{Specs: benchSpecs(3)}); err != nil {
		t.Errorf("Submit = %v, want no error", err)
	}
}

// main is the cluster that the tests of this package share: each has namespaces of its own in it.
var cluster struct {
	once sync.Once
	url  string
	pool *pgxpool.Pool
	pass string // URL through a pooler

	mu    sync.Mutex
	free  []string // namespaces that are made and empty
	names []string // all that were made
}

// checks sets how many random sequences are compared. What the command line says goes before it.
func checks(n string) {
	if err := flag.Set("rapid.checks", n); err != nil {
		panic(err)
	}
}

// process is a T whose ends come when the tests are over.
type process struct{ ends []func() }

func (*process) Helper()                           {}
func (*process) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (p *process) Cleanup(end func())              { p.ends = append(p.ends, end) }

var main process

func TestMain(m *testing.M) {
	if os.Getenv("OUTLAST_LONG") == "" {
		checks("15")
	}
	code := m.Run()
	if cluster.pool != nil {
		for _, name := range cluster.names { // the server may be another's
			if _, err := cluster.pool.Exec(context.Background(), "drop schema if exists "+name+" cascade"); err != nil {
				fmt.Println(err)
			}
		}
		cluster.pool.Close()
	}
	for i := range main.ends {
		main.ends[len(main.ends)-1-i]()
	}
	os.Exit(code)
}

// shared starts the cluster, or takes the one that OUTLAST_TEST_POSTGRES names.
func shared(t testing.TB) (url string, pool *pgxpool.Pool) {
	t.Helper()
	cluster.once.Do(func() {
		cluster.url = os.Getenv("OUTLAST_TEST_POSTGRES")
		if cluster.url == "" {
			cluster.url = servers.StartPostgres(&main).URL()
		}
		cfg, err := pgxpool.ParseConfig(cluster.url)
		if err != nil {
			panic(err)
		}
		cfg.MaxConns = 8
		cfg.ConnConfig.RuntimeParams["synchronous_commit"] = "on"
		if cluster.pool, err = pgxpool.NewWithConfig(context.Background(), cfg); err != nil {
			panic(err)
		}
	})
	if cluster.pool == nil {
		t.Fatal("the server did not start; see the first test that needed it")
	}
	return cluster.url, cluster.pool
}

// bouncer is the URL of the shared server through a pooler in transaction mode.
func bouncer(t testing.TB) string {
	t.Helper()
	shared(t)
	cluster.mu.Lock()
	defer cluster.mu.Unlock()
	if cluster.pass == "" {
		cluster.pass = servers.StartBouncer(&main, cluster.url)
	}
	return cluster.pass
}

// namespace lends an empty namespace to a test.
func namespace(t testing.TB) string {
	t.Helper()
	url, pool := shared(t)
	cluster.mu.Lock()
	var name string
	if n := len(cluster.free); n > 0 {
		name, cluster.free = cluster.free[n-1], cluster.free[:n-1]
	}
	fresh := name == ""
	if fresh {
		name = fmt.Sprintf("test_%d_%d", os.Getpid(), len(cluster.names)+1)
		cluster.names = append(cluster.names, name)
	}
	cluster.mu.Unlock()
	if fresh {
		s, err := postgres.Open(t.Context(), url, postgres.Config{Namespace: name})
		if err != nil {
			t.Fatalf("Open = %v, want no error", err)
		}
		if err := s.Close(); err != nil {
			t.Fatalf("Close = %v, want no error", err)
		}
	} else if err := postgres.Empty(t.Context(), pool, name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cluster.mu.Lock()
		defer cluster.mu.Unlock()
		cluster.free = append(cluster.free, name)
	})
	return name
}

// engine is PostgreSQL on a clock that stands still.
func engine(t *testing.T) storetest.Engine {
	url, pool := shared(t)
	e := engineOn(url, pool, postgres.Config{})
	e.Cut = func(of storetest.World, worker string) { of.(*world).cut(worker) }
	if os.Getenv("OUTLAST_LONG") != "" {
		e.Quick = 1
	}
	return e
}

// engineOn is the same through a pool of connections of its own.
func engineOn(url string, pool *pgxpool.Pool, cfg postgres.Config) storetest.Engine {
	return storetest.Engine{
		Name:    "postgres",
		Unit:    time.Second,
		Virtual: true,
		Quick:   quick,
		New: func(t testing.TB, timing store.Timing) storetest.World {
			w := &world{t: t, url: url, pool: pool, cfg: cfg, now: time.Date(2024, 2, 29, 23, 59, 30, 0, time.UTC)}
			w.cfg.Namespace, w.cfg.Timing = namespace(t), timing
			if err := postgres.StopClock(t.Context(), cluster.pool, w.cfg.Namespace, w.now); err != nil {
				t.Fatal(err)
			}
			w.first = w.open(t)
			return w
		},
		Corrupt: func(of storetest.World, id store.ID) {
			w := of.(*world)
			if err := w.first.Corrupt(w.t.Context(), id); err != nil {
				w.t.Fatal(err)
			}
		},
		Damage: func(of storetest.World, r store.Repair, n int) {
			w := of.(*world)
			if err := w.first.Damage(w.t.Context(), r, n); err != nil {
				w.t.Fatal(err)
			}
		},
	}
}

type world struct {
	t     testing.TB
	url   string
	pool  *pgxpool.Pool
	cfg   postgres.Config
	first *postgres.Store

	mu      sync.Mutex
	now     time.Time
	handles []*postgres.Store
}

func (w *world) open(t testing.TB) *postgres.Store {
	t.Helper()
	s, err := postgres.OpenOn(t.Context(), w.pool, w.url, w.cfg)
	if err != nil {
		t.Fatalf("Open = %v, want no error", err)
	}
	w.mu.Lock()
	w.handles = append(w.handles, s)
	w.mu.Unlock()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close = %v, want no error", err)
		}
	})
	return s
}

func (w *world) Open(t testing.TB) store.Store { return w.open(t) }

// Crash ends a handle without Leave, and waits until the server has seen it.
func (w *world) Crash(s store.Store) {
	pid := s.(*postgres.Store).SessionPID()
	_ = s.Close()
	w.terminate(pid)
}

func (w *world) terminate(pid uint32) {
	if pid == 0 {
		return
	}
	if _, err := cluster.pool.Exec(context.Background(), "select pg_terminate_backend($1, 10000)", int32(pid)); err != nil {
		w.t.Errorf("end session %d: %v", pid, err)
	}
}

// cut ends the session that vouches for a worker.
func (w *world) cut(worker string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.handles {
		if s.KeyOf(worker) != 0 {
			w.terminate(s.SessionPID())
			return
		}
	}
	w.t.Errorf("nobody vouches for %s", worker)
}

func (w *world) Pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
	if err := postgres.SetClock(context.Background(), cluster.pool, w.cfg.Namespace, w.now); err != nil {
		w.t.Errorf("set the clock: %v", err)
	}
}
