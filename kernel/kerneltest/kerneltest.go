// Package kerneltest helps to test code that submits and handles tasks: a kernel on an empty store in one line, virtual time, and
// everything run to its end at once. The store is store/memory: the same contract as the real engines, and nothing survives
// the test.
//
//	func TestWelcomeIsSentOnce(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) {
//			k := kerneltest.Start(t, kernel.Config{}, map[string]kernel.Handler{"welcome": sendWelcome})
//			signUp(k)                                       // the code under test submits
//			task := kerneltest.Submitted(t, k, "welcome")[0] // it did
//			kerneltest.Drain(t, k)                          // run it, retries and delays and all, in no time
//			…
//		})
//	}
//
// Inside testing/synctest time is virtual: a delay of a day passes when nothing else is left to do. Outside, Drain waits for
// real.
package kerneltest

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/memory"
)

// Start makes a kernel on an empty memory store, and runs it until the test ends. Its log goes to the test's output.
func Start(t testing.TB, cfg kernel.Config, handlers map[string]kernel.Handler) *kernel.Kernel {
	t.Helper()
	k, _ := StartOn(t, memory.New(memory.Config{}), cfg, handlers)
	return k
}

// StartOn is Start on a given store. stop ends the kernel before the test does, as a signal would, and returns what Run did.
func StartOn(t testing.TB, st store.Store, cfg kernel.Config, handlers map[string]kernel.Handler) (k *kernel.Kernel, stop func() error) {
	t.Helper()
	k = New(t, st, cfg)
	for kind, h := range handlers {
		k.Handle(kind, h)
	}
	return k, Run(t, k)
}

// Run runs a kernel until the test ends: one of New, on which faces have served their handlers. stop ends it before, as a signal
// would, and returns what Run did.
func Run(t testing.TB, k *kernel.Kernel) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	var err error
	group.Go(func() { err = k.Run(ctx) })
	stop = func() error {
		cancel()
		group.Wait()
		return err
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("Run = %v, want nil", err)
		}
		k.Close()
	})
	return stop
}

// New makes a kernel that is not run: it submits, reads and waits. It is closed when the test ends.
func New(t testing.TB, st store.Store, cfg kernel.Config) *kernel.Kernel {
	t.Helper()
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	k, err := kernel.New(st, cfg)
	if err != nil {
		t.Fatalf("kernel.New = %v", err)
	}
	t.Cleanup(k.Close)
	return k
}

// drainFor bounds Drain: a year in virtual time passes at once, and a test that waits for real gives up before its own limit.
const (
	drainVirtual = 366 * 24 * time.Hour
	drainLooks   = 1 << 16
)

// Drain waits until nothing is left that runs, is ready or is scheduled: everything that was submitted has ended, or is parked or
// held. It fails the test if that takes more than a year of virtual time.
func Drain(t testing.TB, k *kernel.Kernel) {
	t.Helper()
	wait := 10 * time.Millisecond
	begin := time.Now()
	for range drainLooks {
		page, err := k.List(t.Context(), store.Filter{States: []store.State{store.Ready, store.Running, store.Scheduled}}, store.PageRequest{Limit: 1})
		if err != nil {
			t.Fatalf("Drain: %v", err)
		}
		if len(page.Items) == 0 {
			return
		}
		if time.Since(begin) > drainVirtual {
			break
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-t.Context().Done():
			t.Fatalf("Drain: %v", context.Cause(t.Context()))
		}
		wait = min(2*wait, time.Minute)
	}
	t.Fatalf("Drain: tasks are still left; is every kind handled, and every queue served?")
}

// Submitted returns the tasks of a kind, oldest first, and fails the test if there is none.
func Submitted(t testing.TB, k *kernel.Kernel, kind string) []kernel.Task {
	t.Helper()
	tasks := Tasks(t, k, kind)
	if len(tasks) == 0 {
		t.Fatalf("no task of kind %q was submitted", kind)
	}
	return tasks
}

// NotSubmitted fails the test if there is a task of the kind.
func NotSubmitted(t testing.TB, k *kernel.Kernel, kind string) {
	t.Helper()
	if n := len(Tasks(t, k, kind)); n > 0 {
		t.Fatalf("%d tasks of kind %q were submitted, want none", n, kind)
	}
}

// Tasks returns the tasks of a kind, whatever their state, oldest first.
func Tasks(t testing.TB, k *kernel.Kernel, kind string) []kernel.Task {
	t.Helper()
	var tasks []kernel.Task
	page := store.PageRequest{Oldest: true, Payload: true, Limit: 1000}
	for {
		p, err := k.List(t.Context(), store.Filter{Kinds: []string{kind}}, page)
		if err != nil {
			t.Fatalf("list tasks of kind %q: %v", kind, err)
		}
		tasks = append(tasks, p.Items...)
		if p.Cursor == "" {
			return tasks
		}
		page.Cursor = p.Cursor
	}
}

// Wait returns a task once it has ended, and fails the test if it does not end in the given state.
func Wait(t testing.TB, k *kernel.Kernel, id kernel.ID, want store.State) kernel.Task {
	t.Helper()
	task, err := k.Wait(t.Context(), id)
	if err != nil {
		t.Fatalf("wait for task %s: %v", id, err)
	}
	if task.State != want {
		t.Fatalf("task %s ended as %s (%s %+v), want %s", id, task.State, task.Reason, task.Error, want)
	}
	return task
}
