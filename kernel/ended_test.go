package kernel_test

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/memory"
)

// seesEnded hands on what the run that follows an ending finds of the task that ended.
func seesEnded(found chan<- kernel.Task, errs chan<- error) kernel.Handler {
	return func(ctx context.Context, r *kernel.Run) (kernel.Outcome, error) {
		task, err := r.Ended(ctx)
		found <- *task
		errs <- err
		return kernel.Outcome{}, nil
	}
}

func TestARunThatFollowsAnEndingReadsTheTaskThatEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		found, errs := make(chan kernel.Task, 9), make(chan error, 9)
		k := kerneltest.Start(t, kernel.Config{}, handlers{
			"fails": func(context.Context, *kernel.Run) (kernel.Outcome, error) {
				out := kernel.Failed("", errors.New("no"), []byte("result"))
				out.Entries = map[string][]byte{"body": []byte("entry")}
				return out, nil
			},
			"after": seesEnded(found, errs),
		})
		id := submit(t, k, kernel.Spec{Kind: "fails", OnEnd: &kernel.Spec{Kind: "after"}})
		task := <-found
		if err := <-errs; err != nil || task.ID != id || task.State != store.Failed || task.Reason != "permanent" {
			t.Errorf("Ended = %s %s (%s), %v; want %s failed (permanent)", task.ID, task.State, task.Reason, err, id)
		}
		if string(task.Result) != "result" || task.Error.Message != "no" {
			t.Errorf("Result %q, Error %+v; want both that Failed was given", task.Result, task.Error)
		}
		entries, err := k.Load(t.Context(), task)
		if err != nil || string(entries["body"]) != "entry" {
			t.Errorf("Load = %q, %v; want the entry of the outcome", entries, err)
		}
		kerneltest.Wait(t, k, kernel.OnEndID(task), store.Done)
		submit(t, k, kernel.Spec{Kind: "after"})
		if <-found; !errors.Is(<-errs, kernel.ErrNotFound) {
			t.Error("Ended of a task that follows no ending is not ErrNotFound")
		}
	})
}

// readless is a store that counts how often tasks are read from it.
type readless struct {
	store.Store
	reads atomic.Int64
}

func (s *readless) Get(ctx context.Context, id store.ID) (store.Task, error) {
	s.reads.Add(1)
	return s.Store.Get(ctx, id)
}

// Stage is the store's own.
func (s *readless) Stage(ctx context.Context, c store.Completion) error {
	return s.Store.(store.Stager).Stage(ctx, c)
}

// What this process has just ended well is not read again by what follows here; what it staged, or may have forgotten, is.
func TestWhatHasJustEndedHereNeedNotBeRead(t *testing.T) {
	t.Parallel()
	st := &readless{Store: memory.New(memory.Config{})}
	found, errs := make(chan kernel.Task, 9), make(chan error, 9)
	large := bytes.Repeat([]byte("x"), 100<<10)
	k, _ := kerneltest.StartOn(t, st, kernel.Config{}, handlers{
		"done": func(_ context.Context, r *kernel.Run) (kernel.Outcome, error) { return kernel.Done(r.Task().Args), nil },
		"staged": func(ctx context.Context, r *kernel.Run) (kernel.Outcome, error) {
			done, err := r.Completion(kernel.Done(r.Task().Args))
			return kernel.Done([]byte("what does not count")), errors.Join(err, st.Stage(ctx, done))
		},
		"after": seesEnded(found, errs),
	})
	for _, c := range []struct {
		kind  string
		args  []byte
		reads int64
	}{{"done", []byte("a"), 0}, {"done", nil, 0}, {"done", large, 1}, {"staged", []byte("b"), 1}} {
		before := st.reads.Load()
		id := submit(t, k, kernel.Spec{Kind: c.kind, Args: c.args, OnEnd: &kernel.Spec{Kind: "after"}})
		task := <-found
		if err := <-errs; err != nil || task.ID != id || task.State != store.Done || !bytes.Equal(task.Result, c.args) {
			t.Errorf("Ended = %s %s with %d bytes, %v; want %s done with %d", task.ID, task.State, len(task.Result), err, id, len(c.args))
		}
		if reads := st.reads.Load() - before; reads != c.reads {
			t.Errorf("%s: %d reads, want %d", c.kind, reads, c.reads)
		}
	}
}

// beside is a store that holds back the answer to the first Complete, which it lets claim nothing.
type beside struct {
	*readless
	calls atomic.Int64
}

func (s *beside) Complete(ctx context.Context, req store.CompleteRequest) (store.CompleteResult, error) {
	if s.calls.Add(1) > 1 {
		return s.readless.Complete(ctx, req)
	}
	req.Claim = nil
	res, err := s.readless.Complete(ctx, req)
	<-time.After(100 * time.Millisecond)
	return res, err
}

// A call beside the one that has ended a task may bring what follows before that one is answered: it waits for the answer, and need not read.
func TestWhatEndsBesideAnotherCallNeedNotBeRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := &beside{readless: &readless{Store: memory.New(memory.Config{})}}
		found, errs := make(chan kernel.Task, 9), make(chan error, 9)
		var asked time.Time
		sees := seesEnded(found, errs)
		k, _ := kerneltest.StartOn(t, st, kernel.Config{SplitFrom: 2}, handlers{
			"done": func(_ context.Context, r *kernel.Run) (kernel.Outcome, error) {
				<-time.After(time.Duration(len(r.Task().Args)) * time.Millisecond)
				return kernel.Done(r.Task().Args), nil
			},
			"after": func(ctx context.Context, r *kernel.Run) (kernel.Outcome, error) {
				asked = time.Now()
				return sees(ctx, r)
			},
		})
		begun := time.Now()
		id := submit(t, k, kernel.Spec{Kind: "done", Args: []byte("1"), OnEnd: &kernel.Spec{Kind: "after"}})
		submit(t, k, kernel.Spec{Kind: "done", Args: []byte("22")}) // these two go in a call beside it
		submit(t, k, kernel.Spec{Kind: "done", Args: []byte("22")})
		task := <-found
		if err := <-errs; err != nil || task.ID != id || task.State != store.Done || string(task.Result) != "1" {
			t.Errorf("Ended = %s %s %q, %v; want %s done", task.ID, task.State, task.Result, err, id)
		}
		if asked.Sub(begun) > 50*time.Millisecond || time.Since(begun) < 100*time.Millisecond || st.reads.Load() > 0 {
			t.Errorf("asked after %v, told after %v with %d reads; want before and after the answer of 100ms, and none", asked.Sub(begun), time.Since(begun), st.reads.Load())
		}
	})
}

// Where more end than are followed, those that are followed next are not forgotten for the others.
func TestEndingsThatAreFollowedNextAreNotForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const tasks, ahead = 900, 300 // of those ahead not all can be remembered
		st := &readless{Store: memory.New(memory.Config{})}
		large := bytes.Repeat([]byte("x"), 64<<10)
		var ended, followed atomic.Int64
		k, _ := kerneltest.StartOn(t, st, kernel.Config{Slots: map[string]int{"default": 1, "after": 1}}, handlers{
			"done": func(context.Context, *kernel.Run) (kernel.Outcome, error) {
				for ended.Load()-followed.Load() >= ahead && followed.Load() < tasks-ahead {
					<-time.After(time.Millisecond)
				}
				ended.Add(1)
				return kernel.Done(large), nil
			},
			"after": func(ctx context.Context, r *kernel.Run) (kernel.Outcome, error) {
				for ended.Load()-followed.Load() < ahead && ended.Load() < tasks {
					<-time.After(time.Millisecond)
				}
				_, err := r.Ended(ctx)
				followed.Add(1)
				return kernel.Outcome{}, err
			},
		})
		submitAll(t, k, tasks, kernel.Spec{Kind: "done", OnEnd: &kernel.Spec{Kind: "after", Queue: "after"}})
		for followed.Load() < tasks {
			<-time.After(time.Second)
		}
		if n := st.reads.Load(); n == 0 || n > tasks/3 {
			t.Errorf("%d of %d tasks were read from the store, want some, and less than a third", n, tasks)
		}
	})
}

func TestTheFollowerOfAnEarlierRoundIsToldSo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		found, errs := make(chan kernel.Task, 9), make(chan error, 9)
		k := kerneltest.Start(t, kernel.Config{}, handlers{
			"fails": func(context.Context, *kernel.Run) (kernel.Outcome, error) {
				return kernel.Failed("x", errors.New("no"), nil), nil
			},
			"after": seesEnded(found, errs),
		})
		id := submit(t, k, kernel.Spec{Kind: "fails", OnEnd: &kernel.Spec{Kind: "after", Delay: time.Hour}})
		kerneltest.Wait(t, k, id, store.Failed)
		if err := k.Retry(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		kerneltest.Drain(t, k)
		told := 0
		for range 2 {
			<-found
			if err := <-errs; errors.Is(err, kernel.ErrState) {
				told++
			} else if err != nil {
				t.Errorf("Ended = %v", err)
			}
		}
		if told != 1 {
			t.Errorf("%d of two followers were told that theirs is an earlier round, want 1", told)
		}
	})
}

func TestAKernelTellsItsSlotsItsBoundAndThePauses(t *testing.T) {
	t.Parallel()
	k := kerneltest.New(t, memory.New(memory.Config{}), kernel.Config{Slots: map[string]int{"q": 3}, MaxPayload: 77})
	if k.Slots("q") != 3 || k.Slots("other") != 0 || k.MaxPayload() != 77 {
		t.Errorf("Slots = %d, %d, MaxPayload = %d; want 3, 0, 77", k.Slots("q"), k.Slots("other"), k.MaxPayload())
	}
	scope := kernel.Scope{Queue: "q", Lane: "l"}
	if err := k.Pause(t.Context(), scope, time.Hour, "why"); err != nil {
		t.Fatal(err)
	}
	ps, err := k.Pauses(t.Context())
	if err != nil || len(ps) != 1 || ps[0].Scope != scope || ps[0].Reason != "why" {
		t.Errorf("Pauses = %+v, %v; want the one", ps, err)
	}
}

// submitAll submits n tasks of a spec, and returns the id of the last.
func submitAll(t *testing.T, k *kernel.Kernel, n int, spec kernel.Spec) kernel.ID {
	t.Helper()
	specs := make([]kernel.Spec, n)
	for i := range specs {
		specs[i] = spec
	}
	list, err := k.SubmitMany(t.Context(), specs)
	if err != nil {
		t.Fatal(err)
	}
	return list[n-1].ID
}
