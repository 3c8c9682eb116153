package postgres_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/fsck"
	"github.com/outlast-go/outlast/store/postgres"
)

var watchers sync.WaitGroup

// goWatch watches the queue q until ctx ends; ended is closed then.
func goWatch(ctx context.Context, s store.Store, notices chan<- store.Notice, ended chan<- struct{}) {
	watchers.Go(func() {
		defer close(ended)
		_ = s.Watch(ctx, "", []string{"q"}, func(n store.Notice) { notices <- n }) // it ends with ctx
	})
}

// load is processes that work while something befalls the server, and what they saw.
type load struct {
	t       *testing.T
	kernels []*kernel.Kernel
	stores  []*postgres.Store

	mu       sync.Mutex
	runs     map[store.ID]int
	now      map[store.ID]int // runs of a task under way
	twice    int              // tasks that ran twice at once
	events   map[kernel.EventKind]int
	accepted []store.ID
}

// startLoad starts n processes, each with a store of its own, that run tasks of so long.
func startLoad(t *testing.T, url string, n int, cfg kernel.Config, takes time.Duration) *load {
	t.Helper()
	l := &load{t: t, runs: map[store.ID]int{}, now: map[store.ID]int{}, events: map[kernel.EventKind]int{}}
	cfg.Slots = map[string]int{"q": 8}
	cfg.Observe = func(e kernel.Event) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.events[e.Kind]++
	}
	for i := range n {
		s, err := postgres.Open(t.Context(), url, postgres.Config{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		cfg.Name = fmt.Sprintf("load%d", i)
		k, _ := kerneltest.StartOn(t, s, cfg, map[string]kernel.Handler{"k": l.handler(takes)})
		l.kernels, l.stores = append(l.kernels, k), append(l.stores, s)
	}
	return l
}

func (l *load) handler(takes time.Duration) kernel.Handler {
	return func(ctx context.Context, run *kernel.Run) (kernel.Outcome, error) {
		id := run.Task().ID
		l.mu.Lock()
		l.runs[id]++
		l.now[id]++
		if l.now[id] > 1 {
			l.twice++
		}
		l.mu.Unlock()
		defer func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.now[id]--
		}()
		timer := time.NewTimer(takes)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return kernel.Outcome{}, ctx.Err()
		case <-timer.C:
			return kernel.Done([]byte("ok")), nil
		}
	}
}

// submit submits n tasks through the processes in turn, and notes those that were accepted.
func (l *load) submit(ctx context.Context, n int, pause time.Duration) {
	for i := range n {
		k := l.kernels[i%len(l.kernels)]
		spec := store.Spec{ID: benchID(), Kind: "k", Queue: "q"}
		if _, err := k.Submit(ctx, spec); err != nil {
			l.t.Errorf("Submit = %v, want it to be repeated until it is answered", err)
			return
		}
		l.mu.Lock()
		l.accepted = append(l.accepted, spec.ID)
		l.mu.Unlock()
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// seen counts events.
func (l *load) seen(kinds ...kernel.EventKind) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range kinds {
		n += l.events[k]
	}
	return n
}

// finish waits until all that was accepted has ended well, and checks that nobody was robbed and the store is sound.
func (l *load) finish() {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), 90*time.Second)
	defer cancel()
	l.mu.Lock()
	accepted := l.accepted
	l.mu.Unlock()
	for _, id := range accepted {
		task, err := l.kernels[0].Wait(ctx, id)
		if err != nil || task.State != store.Done || task.Crashes != 0 || task.Attempts != 0 {
			l.t.Fatalf("Wait for %s = %s, %d crashes, %d attempts, %v; want done, and none", id, task.State, task.Crashes, task.Attempts, err)
		}
	}
	if n := l.seen(kernel.WorkerDead, kernel.WorkerLost, kernel.TaskRecovered); n != 0 {
		l.t.Errorf("events = %v, want nobody declared dead", l.events)
	}
	if l.twice != 0 {
		l.t.Errorf("%d tasks ran twice at once", l.twice)
	}
	findings, err := fsck.Check(ctx, l.stores[0])
	if err != nil || len(findings) > 0 {
		l.t.Errorf("fsck = %v, %v; want nothing", findings, err)
	}
}

// once checks that no task ran more than once.
func (l *load) once() {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, n := range l.runs {
		if n != 1 {
			l.t.Errorf("task %s ran %d times, want once", id, n)
		}
	}
}
