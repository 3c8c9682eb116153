package redis_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/redis"
	"github.com/outlast-go/outlast/store/storetest"
	"github.com/outlast-go/outlast/test/servers"
)

func TestMain(m *testing.M) {
	code := m.Run()
	servers.EndShared()
	os.Exit(code)
}

// The whole contract on a virtual clock, which the scripts are handed instead of the server's: times are compared exactly.
func TestConformance(t *testing.T) { storetest.Run(t, engine(servers.SharedRedis(t))) }

var worlds atomic.Int64

func engine(url string) storetest.Engine {
	return storetest.Engine{
		Name: "redis", Unit: time.Second, Virtual: true, Quick: quick,
		New: func(t testing.TB, timing store.Timing) storetest.World {
			w := &world{t: t, url: fmt.Sprintf("%snamespace=test-%d-%d", withOptions(url), os.Getpid(), worlds.Add(1)), timing: timing}
			w.now = time.Date(2024, 2, 29, 23, 59, 30, 0, time.UTC)
			w.first = w.open(t)
			t.Cleanup(w.clean)
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
		Cut: func(of storetest.World, worker string) { of.(*world).cut(worker) },
	}
}

// withOptions ends a URL so that an option can follow.
func withOptions(url string) string {
	switch {
	case !strings.Contains(url, "?"):
		return url + "?"
	case strings.HasSuffix(url, "?") || strings.HasSuffix(url, "&"):
		return url
	}
	return url + "&"
}

type world struct {
	t      testing.TB
	url    string
	timing store.Timing
	first  *redis.Store

	mu  sync.Mutex
	now time.Time
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) open(t testing.TB) *redis.Store {
	t.Helper()
	s, err := redis.OpenClock(context.Background(), w.url, redis.Config{Timing: w.timing, Log: quiet()}, w.clock)
	if err != nil {
		t.Fatalf("Open = %v, want no error", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close = %v, want no error", err)
		}
	})
	return s
}

func (w *world) Open(t testing.TB) store.Store { return w.open(t) }

// Crash ends a handle without Leave: its session goes as that of a process that died.
func (w *world) Crash(s store.Store) {
	h := s.(*redis.Store)
	id := h.OwnSession()
	_ = h.Close()
	w.gone(id)
}

// cut ends the session of a worker whose process lives.
func (w *world) cut(worker string) {
	id, err := w.first.SessionID(w.t.Context(), worker)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.first.Do(w.t.Context(), "CLIENT", "KILL", "ID", fmt.Sprint(id)); err != nil {
		w.t.Fatal(err)
	}
	w.gone(id)
}

// gone waits until the server has noticed that a connection ended.
func (w *world) gone(id int64) {
	for id != 0 {
		here, err := w.first.Connected(context.Background(), id)
		if err != nil {
			w.t.Fatal(err)
		}
		if !here {
			return
		}
		<-time.After(time.Millisecond)
	}
}

func (w *world) Pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func (w *world) clean() {
	w.first.Close()
	s, err := redis.OpenClock(context.Background(), w.url, redis.Config{Log: quiet()}, nil)
	if err != nil {
		w.t.Errorf("clean: %v", err)
		return
	}
	if err := s.Clean(context.Background()); err != nil {
		w.t.Errorf("clean: %v", err)
	}
	s.Close()
}

// A user who may not list connections has no evidence; all else holds.
func TestConformanceWithoutEvidence(t *testing.T) {
	server := servers.NewRedis(t, servers.RedisConfig{})
	server.Do("ACL", "SETUSER", "blind", "on", ">secret", "~*", "&*", "+@all", "-client|list")
	e := engine(strings.Replace(server.URL(), "redis://", "redis://blind:secret@", 1))
	e.Name, e.Quick = "redis/none", 50
	before := flag.Lookup("rapid.checks").Value.String()
	if err := flag.Set("rapid.checks", "20"); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = flag.Set("rapid.checks", before) }()
	storetest.Run(t, e)
}

// Without a clock of its own a store goes by the server's.
func TestTheServersClockCounts(t *testing.T) {
	t.Parallel()
	s := mustOpen(t)
	mustJoin(t, s, "w")
	before := time.Now()
	now, err := s.Now(t.Context())
	if err != nil || now.Before(before.Add(-time.Second)) || now.After(time.Now().Add(time.Second)) {
		t.Fatalf("Now = %v, %v, want about %v", now, err, before)
	}
	spec := newSpec()
	spec.Delay = 300 * time.Millisecond
	mustSubmit(t, s, []store.Spec{spec})
	res, err := s.Claim(t.Context(), claimOf("w", 1))
	if err != nil || len(res.Tasks) != 0 || res.Next <= 0 || res.Next > spec.Delay {
		t.Fatalf("Claim = %d tasks, next in %v, %v, want none yet", len(res.Tasks), res.Next, err)
	}
	<-time.After(res.Next)
	if res, err = s.Claim(t.Context(), claimOf("w", 1)); err != nil || len(res.Tasks) != 1 {
		t.Fatalf("Claim after Next = %d tasks, %v, want one", len(res.Tasks), err)
	}
	if got := res.Tasks[0]; got.StartedAt.Sub(got.CreatedAt) < spec.Delay || got.StartedAt.Before(now) {
		t.Errorf("created at %v, started at %v, want %v between them", got.CreatedAt, got.StartedAt, spec.Delay)
	}
}
