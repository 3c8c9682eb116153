package redis_test

import (
	"context"
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
func TestConformance(t *testing.T) { storetest.Run(t, engine(t, true)) }

var worlds atomic.Int64

func engine(t *testing.T, virtual bool) storetest.Engine {
	url := servers.SharedRedis(t)
	e := storetest.Engine{
		Name: "redis", Unit: time.Second, Virtual: virtual, Quick: quick,
		New: func(t testing.TB, timing store.Timing) storetest.World {
			w := &world{t: t, url: fmt.Sprintf("%snamespace=test-%d-%d", withOptions(url), os.Getpid(), worlds.Add(1)), timing: timing}
			w.now = time.Date(2024, 2, 29, 23, 59, 30, 0, time.UTC)
			w.virtual = virtual
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
		Cut: func(of storetest.World, worker string) { of.(*world).cut(worker) },
	}
	if !virtual {
		e.Unit = realUnit
	}
	return e
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
	t       testing.TB
	url     string
	timing  store.Timing
	virtual bool
	first   *redis.Store

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
	clock := w.clock
	if !w.virtual {
		clock = nil
	}
	s, err := redis.OpenClock(context.Background(), w.url, redis.Config{Timing: w.timing, Log: quiet()}, clock)
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
	if !w.virtual {
		<-time.After(d)
		return
	}
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

// The same contract on the server's own clock, with smaller big cases. It takes minutes, for it waits where a virtual clock jumps.
func TestConformanceOnTheServersClock(t *testing.T) {
	if os.Getenv("OUTLAST_LONG") == "" {
		t.Skip("it waits for minutes; set OUTLAST_LONG=1 to run it. The tests of faults run on the server's clock, too")
	}
	e := engine(t, false)
	e.Quick = 25
	storetest.Run(t, e)
}
