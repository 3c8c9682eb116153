package postgres_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/postgres"
	"github.com/outlast-go/outlast/store/storetest"
	"github.com/outlast-go/outlast/test/servers"
)

func TestConformance(t *testing.T) { storetest.Run(t, engine(t)) }

// main is the cluster that the tests of this package share: each has namespaces of its own in it.
var cluster struct {
	once sync.Once
	url  string
	pool *pgxpool.Pool

	mu   sync.Mutex
	free []string // namespaces that are made and empty
	made int
}

// process is a T whose ends come when the tests are over.
type process struct{ ends []func() }

func (*process) Helper()                           {}
func (*process) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (p *process) Cleanup(end func())              { p.ends = append(p.ends, end) }

var main process

func TestMain(m *testing.M) {
	code := m.Run()
	if cluster.pool != nil {
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

// namespace lends an empty namespace to a test.
func namespace(t testing.TB) string {
	t.Helper()
	url, pool := shared(t)
	cluster.mu.Lock()
	var name string
	if n := len(cluster.free); n > 0 {
		name, cluster.free = cluster.free[n-1], cluster.free[:n-1]
	}
	cluster.made++
	number := cluster.made
	cluster.mu.Unlock()
	if name == "" {
		name = fmt.Sprintf("test_%d_%d", os.Getpid(), number)
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
	shared(t)
	return storetest.Engine{
		Name:    "postgres",
		Unit:    time.Second,
		Virtual: true,
		Quick:   quick,
		New: func(t testing.TB, timing store.Timing) storetest.World {
			w := &world{t: t, namespace: namespace(t), timing: timing, now: time.Date(2024, 2, 29, 23, 59, 30, 0, time.UTC)}
			if err := postgres.StopClock(t.Context(), cluster.pool, w.namespace, w.now); err != nil {
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
		Cut: func(of storetest.World, worker string) { of.(*world).cut(worker) },
	}
}

type world struct {
	t         testing.TB
	namespace string
	timing    store.Timing
	first     *postgres.Store

	mu      sync.Mutex
	now     time.Time
	handles []*postgres.Store
}

func (w *world) open(t testing.TB) *postgres.Store {
	t.Helper()
	s, err := postgres.OpenOn(t.Context(), cluster.pool, cluster.url, postgres.Config{Namespace: w.namespace, Timing: w.timing})
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
	if err := postgres.SetClock(context.Background(), cluster.pool, w.namespace, w.now); err != nil {
		w.t.Errorf("set the clock: %v", err)
	}
}
