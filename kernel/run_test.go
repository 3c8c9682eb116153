package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/memory"
)

type handlers = map[string]kernel.Handler

// submit submits a task and fails the test if that fails.
func submit(t *testing.T, k *kernel.Kernel, spec kernel.Spec) kernel.ID {
	t.Helper()
	s, err := k.Submit(t.Context(), spec)
	if err != nil {
		t.Fatalf("Submit = %v", err)
	}
	return s.ID
}

func TestATaskRunsAndItsResultIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := kerneltest.Start(t, kernel.Config{}, handlers{"double": func(_ context.Context, r *kernel.Run) (kernel.Outcome, error) {
			return kernel.Done(append(r.Task().Args, r.Task().Args...)), nil
		}})
		id := submit(t, k, kernel.Spec{Kind: "double", Args: []byte("ab")})
		if task := kerneltest.Wait(t, k, id, store.Done); string(task.Result) != "abab" || task.Attempts != 0 {
			t.Errorf("Result = %q after %d attempts, want abab after 0", task.Result, task.Attempts)
		}
	})
}

func TestAFailedAttemptIsTriedAgainUntilNoneIsLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var runs []time.Time
		k := kerneltest.Start(t, kernel.Config{}, handlers{"fail": func(context.Context, *kernel.Run) (kernel.Outcome, error) {
			runs = append(runs, time.Now())
			return kernel.Outcome{}, errors.New("no luck")
		}})
		id := submit(t, k, kernel.Spec{Kind: "fail", Retry: kernel.Retry{Max: 4, Base: time.Second, Factor: 3, Cap: 5 * time.Second, Exact: true}})
		task := kerneltest.Wait(t, k, id, store.Failed)
		if task.Attempts != 4 || task.Reason != store.ReasonAttempts || task.Error.Message != "no luck" {
			t.Errorf("ended with %d attempts, reason %q, error %+v", task.Attempts, task.Reason, task.Error)
		}
		for i, want := range []time.Duration{time.Second, 3 * time.Second, 5 * time.Second} {
			if got := runs[i+1].Sub(runs[i]); got < want || got > want+50*time.Millisecond {
				t.Errorf("wait %d = %v, want %v", i+1, got, want)
			}
		}
	})
}

func TestWaitsAreSpreadByFullJitter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := kerneltest.Start(t, kernel.Config{}, handlers{"fail": func(_ context.Context, r *kernel.Run) (kernel.Outcome, error) {
			if r.Attempt() == 1 {
				return kernel.Outcome{}, errors.New("no luck")
			}
			return kernel.Outcome{}, nil
		}})
		var waits []time.Duration
		for range 50 {
			begin := time.Now()
			id := submit(t, k, kernel.Spec{Kind: "fail", Retry: kernel.Retry{Max: 2, Base: 100 * time.Second}})
			kerneltest.Wait(t, k, id, store.Done)
			waits = append(waits, time.Since(begin))
		}
		short, long := 0, 0
		for _, w := range waits {
			if w < 50*time.Second {
				short++
			}
			if w > 50*time.Second {
				long++
			}
			if w > 101*time.Second {
				t.Errorf("waited %v, want at most 100 s", w)
			}
		}
		if short < 5 || long < 5 {
			t.Errorf("%d short and %d long waits of 50: that is no jitter", short, long)
		}
	})
}

func TestErrorsSayHowToGoOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var snoozes atomic.Int32
		k := kerneltest.Start(t, kernel.Config{}, handlers{
			"permanent": func(context.Context, *kernel.Run) (kernel.Outcome, error) {
				return kernel.Outcome{}, fmt.Errorf("wrapped: %w", kernel.Permanent(kernel.Typed("gone", errors.New("no such user"))))
			},
			"after": func(_ context.Context, r *kernel.Run) (kernel.Outcome, error) {
				if r.Attempt() == 1 {
					return kernel.Outcome{}, kernel.RetryAfter(time.Hour, errors.New("busy"))
				}
				return kernel.Outcome{}, nil
			},
			"panic": func(context.Context, *kernel.Run) (kernel.Outcome, error) { panic("oh no") },
			"snooze": func(_ context.Context, r *kernel.Run) (kernel.Outcome, error) {
				if snoozes.Add(1) < 4 {
					return kernel.Snooze(time.Minute), nil
				}
				return kernel.Outcome{}, nil
			},
			"cancel": func(context.Context, *kernel.Run) (kernel.Outcome, error) { return kernel.Cancelled("not needed"), nil },
			"large": func(context.Context, *kernel.Run) (kernel.Outcome, error) {
				return kernel.Done(make([]byte, 2<<20)), nil
			},
		})
		one := kernel.Retry{Max: 1}
		if task := kerneltest.Wait(t, k, submit(t, k, kernel.Spec{Kind: "permanent"}), store.Failed); task.Attempts != 1 || task.Error.Type != "gone" {
			t.Errorf("permanent: %d attempts, error %+v", task.Attempts, task.Error)
		}
		begin := time.Now()
		if task := kerneltest.Wait(t, k, submit(t, k, kernel.Spec{Kind: "after"}), store.Done); time.Since(begin) < time.Hour || task.Attempts != 1 {
			t.Errorf("after: %v, %d attempts; want an hour and 1", time.Since(begin), task.Attempts)
		}
		task := kerneltest.Wait(t, k, submit(t, k, kernel.Spec{Kind: "panic", Retry: one}), store.Failed)
		if task.Error.Type != "panic" || !strings.Contains(task.Error.Message, "oh no") || !strings.Contains(string(task.Error.Detail), "run_test.go") {
			t.Errorf("panic: error %+v", task.Error)
		}
		if task := kerneltest.Wait(t, k, submit(t, k, kernel.Spec{Kind: "snooze", Retry: one}), store.Done); task.Attempts != 0 {
			t.Errorf("snooze: %d attempts, want 0", task.Attempts)
		}
		if task := kerneltest.Wait(t, k, submit(t, k, kernel.Spec{Kind: "cancel"}), store.Cancelled); task.Reason != "not needed" {
			t.Errorf("cancel: reason %q", task.Reason)
		}
		if task := kerneltest.Wait(t, k, submit(t, k, kernel.Spec{Kind: "large"}), store.Failed); task.Error.Type != "invalid" {
			t.Errorf("large: error %+v", task.Error)
		}
	})
}

func TestAnAttemptThatTakesTooLongFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := kerneltest.Start(t, kernel.Config{}, handlers{"slow": func(ctx context.Context, _ *kernel.Run) (kernel.Outcome, error) {
			<-ctx.Done()
			return kernel.Outcome{}, ctx.Err()
		}})
		id := submit(t, k, kernel.Spec{Kind: "slow", Timeout: time.Minute, Retry: kernel.Retry{Max: 2, Base: time.Second}})
		task := kerneltest.Wait(t, k, id, store.Failed)
		if task.Error.Type != "timeout" || task.Attempts != 2 {
			t.Errorf("error %+v after %d attempts, want a timeout after 2", task.Error, task.Attempts)
		}
	})
}

// FT-14: a handler that hangs for good loses its task; another process goes on with it.
func TestAHandlerThatIgnoresItsDeadlineLosesItsTask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(memory.Config{})
		hang := make(chan struct{})
		var runs atomic.Int32
		handle := handlers{"hang": func(context.Context, *kernel.Run) (kernel.Outcome, error) {
			if runs.Add(1) == 1 {
				<-hang
			}
			return kernel.Outcome{}, nil
		}}
		k, _ := kerneltest.StartOn(t, st, kernel.Config{Slots: map[string]int{"default": 1}}, handle)
		id := submit(t, k, kernel.Spec{Kind: "hang", Timeout: time.Minute, Retry: kernel.Retry{Max: 3, Base: time.Second}})
		wait(t.Context(), 2*time.Second) // a notice may be lost; a beat tells
		kerneltest.StartOn(t, st.Process(), kernel.Config{}, handle)
		task := kerneltest.Wait(t, k, id, store.Done)
		if task.Attempts != 1 {
			t.Errorf("%d attempts, want 1: a stuck run counts", task.Attempts)
		}
		if h := k.Health(); h.Stuck != 1 || h.Problem == "" {
			t.Errorf("Health = %+v, want one stuck handler as a problem", h)
		}
		close(hang)
	})
}

func TestARunSeesWhatItSaved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := kerneltest.Start(t, kernel.Config{}, handlers{"steps": func(ctx context.Context, r *kernel.Run) (kernel.Outcome, error) {
			seen, err := r.Load(ctx, "a", "b", "c")
			if err != nil {
				return kernel.Outcome{}, err
			}
			switch r.Attempt() {
			case 1:
				err = r.Save(ctx, map[string][]byte{"a": []byte("1"), "b": []byte("2")})
			case 2:
				err = r.Save(ctx, map[string][]byte{"b": nil, "c": []byte("3")})
			case 3:
				return kernel.Done(fmt.Appendf(nil, "%s%s%s", seen["a"], seen["b"], seen["c"])), nil
			}
			return kernel.Outcome{}, errors.Join(errors.New("again"), err)
		}})
		id := submit(t, k, kernel.Spec{Kind: "steps", Retry: kernel.Retry{Max: 3, Base: time.Second}})
		if task := kerneltest.Wait(t, k, id, store.Done); string(task.Result) != "13" {
			t.Errorf("Result = %q, want 13", task.Result)
		}
	})
}

func TestProgressIsShownWhileTheRunGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := kerneltest.Start(t, kernel.Config{}, handlers{"long": func(ctx context.Context, r *kernel.Run) (kernel.Outcome, error) {
			r.Progress(3, 10, "third")
			wait(ctx, 10*time.Second)
			r.Progress(10, 10, "all")
			return kernel.Outcome{}, nil
		}})
		id := submit(t, k, kernel.Spec{Kind: "long"})
		wait(t.Context(), 2*time.Second)
		if task, err := k.Get(t.Context(), id); err != nil || task.Progress.Done != 3 || task.Progress.Note != "third" {
			t.Errorf("Progress = %+v, %v; want 3 of 10", task.Progress, err)
		}
		if task := kerneltest.Wait(t, k, id, store.Done); task.Progress.Done != 10 {
			t.Errorf("Progress = %+v, want 10 of 10", task.Progress)
		}
	})
}

// lostSaves is a store that does not answer its first Saves.
type lostSaves struct {
	store.Store
	left *atomic.Int64
}

func (s lostSaves) Save(ctx context.Context, req store.SaveRequest) (string, error) {
	if s.left.Add(-1) >= 0 {
		return "", context.DeadlineExceeded
	}
	return s.Store.Save(ctx, req)
}

// What a run tells once is shown, also if the store was away when it was told.
func TestProgressIsToldUntilItIsAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := lostSaves{memory.New(memory.Config{Clock: time.Now}), &atomic.Int64{}}
		st.left.Store(3)
		k, _ := kerneltest.StartOn(t, st, kernel.Config{}, handlers{"long": func(ctx context.Context, r *kernel.Run) (kernel.Outcome, error) {
			r.Progress(3, 10, "third")
			wait(ctx, 20*time.Second)
			return kernel.Outcome{}, nil
		}})
		id := submit(t, k, kernel.Spec{Kind: "long"})
		wait(t.Context(), 10*time.Second)
		if task, err := k.Get(t.Context(), id); err != nil || task.Progress.Done != 3 {
			t.Errorf("Progress = %+v, %v; want 3 of 10", task.Progress, err)
		}
	})
}

// wait lets virtual time pass.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func TestAroundWrapsEachRunAndObserveHearsOfIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var order []string
		around := func(name string) func(kernel.Handler) kernel.Handler {
			return func(next kernel.Handler) kernel.Handler {
				return func(ctx context.Context, r *kernel.Run) (kernel.Outcome, error) {
					order = append(order, name)
					return next(ctx, r)
				}
			}
		}
		events := make(chan kernel.Event, 100)
		k := kerneltest.Start(t, kernel.Config{
			Around: []func(kernel.Handler) kernel.Handler{around("outer"), around("inner")},
			Observe: func(e kernel.Event) {
				events <- e
				panic("an observer's own mistake")
			},
		}, handlers{"x": func(context.Context, *kernel.Run) (kernel.Outcome, error) { return kernel.Outcome{}, nil }})
		kerneltest.Wait(t, k, submit(t, k, kernel.Spec{Kind: "x"}), store.Done)
		synctest.Wait()
		if got := strings.Join(order, " "); got != "outer inner" {
			t.Errorf("order = %q, want outer inner", got)
		}
		seen := map[kernel.EventKind]int{}
		for len(events) > 0 {
			seen[(<-events).Kind]++
		}
		for _, kind := range []kernel.EventKind{kernel.WorkerJoined, kernel.TaskSubmitted, kernel.TaskStarted, kernel.TaskSettled} {
			if seen[kind] != 1 {
				t.Errorf("%d events %q, want 1 (all: %v)", seen[kind], kind, seen)
			}
		}
	})
}
